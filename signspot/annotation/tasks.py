"""The work on one video, done in workers: its words, and negatives, searched around each subtitle, by signs or lips."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Generic, SupportsFloat, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.annotation.store_records import Candidate, Findings, SubtitleQuery, VideoRecord
from signspot.annotation.video_units import SubtitleMention, VideoUnit
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import EncoderMismatchError, FormatError, SignspotError, VideoError
from signspot.io.checks import parse_json
from signspot.io.files import content_digest
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder_network import find_device
from signspot.mouthing.lips import FPS, LipTrack, read_lips, remarks_on
from signspot.mouthing.mouthing_spotter import SHORTEST, LipPeak, MouthingSpotter, find_peaks
from signspot.mouthing.network import STEP, load_mouthing
from signspot.spotting.recurrence import PEAKS
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import SearchResult
from signspot.types import SIGN_SECONDS, Exemplar, LabelSource, Origin, Segment, Spotting, TimeMeaning, Track

_NEAR_FRAMES = 4  # frames before and after a peak within which exemplars and negatives may have theirs

Best = Mapping[str, float]  # word → its highest score in a segment
Options = TypeVar("Options", bound=RunOptions)
Answers = Iterator[tuple[SubtitleQuery, list[Candidate]]]


@dataclass(frozen=True, slots=True)
class WorkerContext(Generic[Options]):
    """The tools of a worker; the same for all units of a run."""

    model: str | None  # name or file of an encoder or a mouthing spotter; None: the shipped one
    hash: str  # of that model
    cache: Path  # folder of landmarks, tracks and exemplars
    options: Options
    pool: tuple[str, ...] = ()  # words from which negatives are taken
    device: str = "cpu"  # where the model runs
    gallery: Path | None = None  # file of exemplars


def _prepare_worker(name: str, digest: str, expected: str) -> None:
    """Use one core, and see that the model is that of the run.

    Raises:
        EncoderMismatchError: its hash is another one.
    """
    import torch

    torch.set_num_threads(1)  # each worker has one core; and how sums are split decides their last digits
    if digest != expected:
        raise EncoderMismatchError(
            f"this worker's '{name}' is {digest}, not {expected}. Install the same signspot on all machines, and give "
            "the same file."
        )


def _check_unchanged(unit: VideoUnit, digest: str | None) -> None:
    if digest != unit.digest:
        raise VideoError(f"{unit.media.name} was changed while it was worked on. Run again.")


def _findings(unit: VideoUnit, seconds: float, answers: Answers, remarks: str = "") -> Findings:
    pairs = list(answers)
    return Findings(
        video=VideoRecord(unit.video, unit.digest, round(seconds, 3), remarks=remarks),
        keys=dict(unit.keys),
        queries=tuple(query for query, _ in pairs),
        candidates=tuple(candidate for _, candidates in pairs for candidate in candidates),
    )


class WordSearcher:
    """Looks for words in the track of one video."""

    def __init__(self, spotter: Spotter, track: Track, gallery: Gallery, pool: Sequence[str], options: AnnotateOptions):
        assert options.negatives is not None, "settled before the run"
        self._spotter, self._track, self._gallery, self._options = spotter, track, gallery, options
        self._negatives = options.negatives
        self._pool = tuple(pool)
        by_codes = gallery.codes is not None and track.codes is not None
        self._spotting = options.spotting()
        if by_codes:  # what recurs may be a low peak
            self._spotting = replace(self._spotting, threshold=0.0, top=max(options.peaks, PEAKS))
        grid = track.grid
        self._reach = (_NEAR_FRAMES + 0.5) / grid.fps
        self.video = Segment(grid.origin, grid.origin + grid.frames / grid.fps)

    def search(self, unit: VideoUnit) -> Answers:
        """All queries of a unit, in order of subtitle and word, each with its candidates, the best first."""
        answers = list(self._search(unit))
        by_word: dict[str, list[int]] = {}
        for number, (query, _) in enumerate(answers):
            by_word.setdefault(query.word, []).append(number)
        for numbers in by_word.values():
            candidates = [candidate for number in numbers for candidate in answers[number][1]]
            windows = [Segment(answers[number][0].start, answers[number][0].end) for number in numbers]
            spottings = [candidate.as_spotting() for candidate in candidates]
            scores = iter(self._spotter.with_recurrence(self._track, spottings, windows, self._gallery))
            for number in numbers:
                query, of_query = answers[number]
                answers[number] = (
                    query,
                    self._ranked([replace(candidate, score=rounded(next(scores))) for candidate in of_query]),
                )
        yield from answers

    def _ranked(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The best candidates of a query, by their scores."""
        assert self._options.keep is not None, "settled before the run"
        keep = self._options.keep
        best = sorted(
            (candidate for candidate in candidates if candidate.score >= keep),
            key=lambda candidate: (-candidate.score, candidate.time),
        )
        return [replace(candidate, rank=rank) for rank, candidate in enumerate(best[: self._options.peaks], 1)]

    def _search(self, unit: VideoUnit) -> Answers:
        """As `search`, by exemplars alone."""
        for mentions in by_subtitle(unit):
            window = window_of(mentions[0][1], self._options.padding, self.video)
            gallery = self._gallery.of_words([word for word, _ in mentions])
            counts = {word: len(set(gallery.rows[rows].tolist())) for word, rows in gallery.words.items()}
            queries = [Query(unit.video, word, mention, window, counts[word]) for word, mention in mentions]
            if window.start >= window.end:
                yield from ((query.answered(None), []) for query in queries)
                continue
            chance = self._chance(window)
            result = self._spotter.search(self._track, gallery, self._spotting, within=window)
            for query in queries:
                negatives = negatives_of(query, unit, self._pool, self._negatives)
                yield self._answer(query, result, chance, negatives)

    @cached_property
    def _pool_scores(self) -> "ScoresOverTime | None":
        """Those of the pool over the whole video: every subtitle, and every candidate, looks at a part of them."""
        if not self._pool:
            return None
        scores = self._spotter.word_scores(self._track, self._gallery.of_words(self._pool), self._spotting)
        return ScoresOverTime(scores.times, np.stack([scores.scores[word] for word in self._pool]))

    def _chance(self, within: Segment) -> Best:
        """The highest score of each word of the pool in a segment."""
        if self._pool_scores is None:
            return {}
        highest = self._pool_scores.highest(within)
        return dict(zip(self._pool, highest, strict=True)) if highest else {}

    def _answer(
        self, query: "Query", result: SearchResult, chance: Best, negatives: Sequence[str]
    ) -> tuple[SubtitleQuery, list[Candidate]]:
        """A query with its candidates, out of a search for all words of its subtitle."""
        if query.word not in result.best:
            return query.answered(None), []
        spottings = [spotting for spotting in result.spottings if spotting.word == query.word]
        spottings.sort(key=lambda spotting: (-spotting.score, spotting.time))
        by_exemplar = ScoresOverTime(result.times, result.exemplar_curves(query.word))
        candidates = [
            self._candidate(query, rank, spotting, by_exemplar, negatives) for rank, spotting in enumerate(spottings, 1)
        ]
        (highest,) = ScoresOverTime(result.times, result.word_curve(query.word)[None]).highest(query.window)
        return query.answered(highest, [chance[word] for word in negatives if word in chance]), candidates

    def _candidate(
        self, query: "Query", rank: int, spotting: Spotting, exemplars: "ScoresOverTime", negatives: Sequence[str]
    ) -> Candidate:
        """A spotting and the evidence for it; `exemplars` has the scores of each exemplar."""
        near = Segment(spotting.time - self._reach, spotting.time + self._reach)
        scores = sorted(exemplars.highest(near), reverse=True)
        chance = self._chance(near)
        return Candidate(
            video=query.video,
            subtitle=query.mention.subtitle,
            word=query.word,
            rank=rank,
            time=spotting.time,
            start=spotting.start,
            end=spotting.end,
            score=spotting.score,
            exemplar=spotting.exemplar,
            variant=spotting.variant,
            mirrored=spotting.mirrored,
            exemplars=query.exemplars,
            agreeing=sum(score >= spotting.score - self._options.agreement for score in scores),
            exemplar_second=rounded(scores[1]) if len(scores) > 1 else None,
            exemplar_mean=rounded(np.mean(scores)),
            **against([chance[word] for word in negatives if word in chance], spotting.score),
            confidence=spotting.confidence,
            false_alarms_per_hour=spotting.false_alarms_per_hour,
            licence=spotting.licence,
            consent=spotting.consent,
        )


@dataclass(frozen=True, slots=True)
class ScoresOverTime:
    """Scores of some words, or of the exemplars of one, at every time step, in one array."""

    times: NDArray[np.float64]  # (T,) seconds
    scores: NDArray[np.float32]  # (P, T)

    def highest(self, within: Segment) -> list[float]:
        """The highest score of each in a segment, as it is stored; empty without a time step."""
        first, last = np.searchsorted(self.times, within.start), np.searchsorted(self.times, within.end, "right")
        return [] if first >= last else [rounded(score) for score in self.scores[:, first:last].max(axis=1).tolist()]


def by_subtitle(unit: VideoUnit) -> list[list[tuple[str, SubtitleMention]]]:
    """The words of a unit with their mentions, one list for each subtitle, in order of subtitle and word."""
    mentioned: dict[int, list[tuple[str, SubtitleMention]]] = {}
    for word, mentions in sorted(unit.mentions.items()):
        for mention in mentions:
            mentioned.setdefault(mention.subtitle, []).append((word, mention))
    return [mentioned[subtitle] for subtitle in sorted(mentioned)]


def window_of(mention: SubtitleMention, padding: float, video: Segment) -> Segment:
    """Search window of a word: the subtitle's time, padded, within the video; empty if all of it lies beyond."""
    padded = Segment(mention.start, mention.end).padded(padding)
    start, end = max(padded.start, video.start), min(padded.end, video.end)
    if start < end:
        return Segment(start, end)
    nearest = video.end if mention.start >= video.end else video.start
    return Segment(nearest, nearest)


@dataclass(frozen=True, slots=True)
class Query:
    """One query while it is asked."""

    video: str
    word: str
    mention: SubtitleMention
    window: Segment
    exemplars: int

    def answered(self, highest: float | None, chance: Sequence[float] = ()) -> SubtitleQuery:
        """The query with the highest score of the word in the window, None without a time step, and the negatives'."""
        mention = self.mention
        return SubtitleQuery(
            video=self.video,
            subtitle=mention.subtitle,
            word=self.word,
            form=mention.form,
            first=mention.first,
            last=mention.last,
            mentions=mention.count,
            text=mention.text,
            subtitle_start=mention.start,
            subtitle_end=mention.end,
            start=round(self.window.start, 3),
            end=round(self.window.end, 3),
            exemplars=self.exemplars,
            best=None if highest is None else rounded(highest),
            **against(chance, highest or 0.0),
        )


def negatives_of(query: Query, unit: VideoUnit, pool: Sequence[str], most: int) -> tuple[str, ...]:
    """Negatives of a query: the first words of the pool that cannot be expected in its window."""
    barred = {query.word, *query.mention.nearby, *unit.synonyms.get(query.word, ())}
    return tuple(word for word in pool if word not in barred)[:most]


class Chance(TypedDict):
    """The columns of queries and candidates on negatives."""

    negatives: int
    negative_best: float | None
    negative_mean: float | None
    negatives_above: int


def against(chance: Sequence[float], score: float) -> Chance:
    """Comparison of the negatives' highest scores with a score."""
    return {
        "negatives": len(chance),
        "negative_best": rounded(max(chance)) if chance else None,
        "negative_mean": rounded(np.mean(chance)) if chance else None,
        "negatives_above": sum(negative >= score for negative in chance),
    }


def rounded(score: SupportsFloat) -> float:
    """A score as it is stored."""
    return round(float(score), 6)


_NEAR_STEPS = 2  # steps before and after a peak within which negatives may have theirs

Curves = Mapping[str, NDArray[np.float32]]  # word → (S,) probabilities that it ends at a step of a window


def mouth_unit(context: WorkerContext[RunOptions], unit: VideoUnit) -> Findings:
    """Look for the words of a unit on the lips; landmarks are estimated unless they are in the cache.

    Raises:
        SignspotError: the video cannot be read, shows no face, or was changed meanwhile.
    """
    spotter = _lip_spotter(context.model, context.hash, context.device)
    lips = read_lips(unit.media, context.cache / "landmarks")
    _check_unchanged(unit, content_digest(unit.media))
    searcher = LipSearcher(spotter, lips, context.pool, context.options)
    return _findings(unit, lips.end, searcher.search(unit), "\n".join(remarks_on(lips)))


class LipSearcher:
    """Looks for words on the lips of one video."""

    def __init__(self, spotter: MouthingSpotter, lips: LipTrack, pool: Sequence[str], options: RunOptions):
        assert options.keep is not None, "settled before the run"
        assert options.negatives is not None, "settled before the run"
        self._spotter, self._lips, self._options = spotter, lips, options
        self._keep, self._negatives = options.keep, options.negatives
        self._pool = tuple(pool)
        self._video = Segment(lips.start, lips.end)

    def search(self, unit: VideoUnit) -> Answers:
        """All queries of a unit, in order of subtitle and word, each with its candidates, the best first."""
        for mentions in by_subtitle(unit):
            window = window_of(mentions[0][1], self._options.padding, self._video)
            part = self._lips.between(window.start, window.end)
            queries = [Query(unit.video, word, mention, window, 0) for word, mention in mentions]
            if len(part) < SHORTEST:
                yield from ((query.answered(None), []) for query in queries)
                continue
            others = {query: negatives_of(query, unit, self._pool, self._negatives) for query in queries}
            words = dict.fromkeys(
                [query.word for query in queries] + [w for negatives in others.values() for w in negatives]
            )
            probabilities = self._spotter.curves(part, list(words), self._options.language)
            curves = dict(zip(words, probabilities, strict=True))
            for query, negatives in others.items():
                yield self._answer(query, part, curves, negatives)

    def _answer(
        self, query: Query, lips: LipTrack, curves: Curves, negatives: Sequence[str]
    ) -> tuple[SubtitleQuery, list[Candidate]]:
        curve = curves[query.word]
        peaks = find_peaks(curve, lips, self._keep, self._options.peaks)
        candidates = [
            self._candidate(query, rank, peak, _around(curves, negatives, round((peak.time - lips.start) * FPS / STEP)))
            for rank, peak in enumerate(peaks, 1)
            if peak.seen
        ]
        chance = [round(float(curves[word].max()), 4) for word in negatives]
        return query.answered(round(float(curve.max()), 4), chance), candidates

    def _candidate(self, query: Query, rank: int, peak: LipPeak, chance: Sequence[float]) -> Candidate:
        return Candidate(
            video=query.video,
            subtitle=query.mention.subtitle,
            word=query.word,
            rank=rank,
            time=peak.time,
            start=round(max(0.0, peak.time - SIGN_SECONDS), 3),
            end=peak.time,
            score=peak.probability,
            exemplar="",
            variant="",
            mirrored=False,
            exemplars=0,
            agreeing=0,
            exemplar_second=None,
            exemplar_mean=peak.probability,
            **against(chance, peak.probability),
            source=LabelSource.MOUTHING,
            at=TimeMeaning.END,
        )


def _around(curves: Curves, words: Sequence[str], step: int) -> list[float]:
    """The highest probability of each word near a step."""
    near = slice(max(0, step - _NEAR_STEPS), step + _NEAR_STEPS + 1)
    return [round(float(curves[word][near].max()), 4) for word in words]


@lru_cache(maxsize=1)
def _lip_spotter(name: str | None, expected: str, device: str) -> MouthingSpotter:
    model = load_mouthing(name)
    _prepare_worker(model.name, model.hash, expected)
    model.network.to(find_device(device))
    return MouthingSpotter(model)


_KIND = "signspot gallery 4"
_SHOWN = ("word", "id", "variant", "licence", "consent")  # of an exemplar, beside its origins


@dataclass(frozen=True, slots=True)
class WordTask:
    """Exemplars of some words, to be embedded."""

    exemplars: tuple[Exemplar, ...]  # word by word

    def __str__(self) -> str:
        others = len({exemplar.word for exemplar in self.exemplars}) - 1
        return f"the exemplars of '{self.exemplars[0].word}'" + (f" and {others} more words" if others else "")


def embed_words(context: WorkerContext[AnnotateOptions], task: WordTask) -> list[tuple[Exemplar, SignViews | str]]:
    """Embed exemplars, through the cache; of those that cannot be read, give the reason.

    Raises:
        EncoderMismatchError: the dictionary has embeddings only, by another encoder.
    """
    encoder = _sign_spotter(context.model, context.hash, context.device, context.cache).encoder
    embedder = ExemplarEmbedder(encoder, context.cache, context.options.seed)
    mirror = context.options.mirror and encoder.contract.can_mirror
    embedded: list[tuple[Exemplar, SignViews | str]] = []
    for exemplar in task.exemplars:
        try:
            embedded.append((exemplar, embedder.embed(exemplar, mirror=mirror)))
        except EncoderMismatchError:
            raise
        except SignspotError as error:
            embedded.append((exemplar, str(error)))
    return embedded


def annotate_unit(context: WorkerContext[AnnotateOptions], unit: VideoUnit) -> Findings:
    """Look for the words of a unit in its video; the video is embedded unless its track is in the cache.

    Raises:
        SignspotError: the video cannot be read, shows nobody, or was changed meanwhile.
    """
    assert context.gallery is not None, "exemplars are embedded before videos"
    spotter = _sign_spotter(context.model, context.hash, context.device, context.cache)
    track = spotter.embed(unit.media, context.options.stride)
    _check_unchanged(unit, track.source)
    searcher = WordSearcher(spotter, track, _gallery(context.gallery), context.pool, context.options)
    return _findings(unit, searcher.video.end, searcher.search(unit))


def word_digests(gallery: Gallery) -> dict[str, str]:
    """Word → digest of all that its results follow from: ids, variants, licences, consents, origins, embeddings."""
    digests = {}
    for word in gallery.words:
        part = gallery.of_words([word])
        exemplars = [
            [
                exemplar.id,
                exemplar.variant,
                exemplar.licence,
                exemplar.consent,
                *_plain_origins(exemplar),
            ]
            for exemplar in part.exemplars
        ]
        digest = hashlib.sha256(json.dumps([word, exemplars, part.rows.tolist(), part.mirrored.tolist()]).encode())
        for array in (part.embeddings, part.codes):
            if array is not None:
                digest.update(np.ascontiguousarray(array, "<f4").tobytes())
        digests[word] = digest.hexdigest()[:32]
    return digests


def _plain_origins(exemplar: Exemplar) -> list[list[Any]]:
    """[contents, start, end] of the footage that an exemplar was cut out of."""
    return [[list(origin.contents), origin.span.start, origin.span.end] for origin in exemplar.origins]


def write_gallery(gallery: Gallery, folder: Path) -> Path:
    """Save a gallery under the name of its content."""
    path = folder / f"{_content_name(gallery)}.safetensors"
    arrays: dict[str, NDArray[Any]] = {
        "embeddings": gallery.embeddings,
        "rows": gallery.rows,
        "mirrored": gallery.mirrored,
    }
    arrays |= {} if gallery.codes is None else {"codes": gallery.codes}
    exemplars = json.dumps(
        [[*(getattr(exemplar, name) for name in _SHOWN), _plain_origins(exemplar)] for exemplar in gallery.exemplars]
    )
    write_arrays(path, _KIND, arrays, {"exemplars": exemplars})
    return path


def _content_name(gallery: Gallery) -> str:
    return hashlib.sha256(json.dumps(word_digests(gallery), sort_keys=True).encode()).hexdigest()[:32]


def read_gallery(path: Path) -> Gallery:
    """Open a saved gallery.

    Raises:
        FormatError: the file is none, or it is damaged.
    """
    arrays, header = read_arrays(path, _KIND)
    try:
        entries = parse_json(header["exemplars"], str(path))
        exemplars = tuple(
            Exemplar(
                **dict(zip(_SHOWN, texts, strict=True)),
                origins=tuple(Origin(tuple(contents), Segment(start, end)) for contents, start, end in origins),
            )
            for *texts, origins in entries
        )
        gallery = Gallery(exemplars, arrays["embeddings"], arrays["rows"], arrays["mirrored"], arrays.get("codes"))
        if _content_name(gallery) != path.stem:
            raise ValueError("its content is not what its name says")
    except (KeyError, ValueError, TypeError, IndexError, AssertionError, AttributeError) as error:
        raise FormatError(f"the exemplars in {path} are damaged ({error}). Run again: they are made anew") from error
    return gallery


@lru_cache(maxsize=1)
def _sign_spotter(name: str | None, expected: str, device: str, cache: Path | None) -> Spotter:
    encoder = load_encoder(name, device=device)
    _prepare_worker(encoder.name, encoder.hash, expected)
    return Spotter(encoder, cache)


@lru_cache(maxsize=1)
def _gallery(path: Path) -> Gallery:
    return read_gallery(path)
