"""Spotting in streams of real signs: mAP, places, boundaries, precision, recall, and promised against counted alarms.

Everything goes through `Spotter.search`, with one, three or five exemplars per word by other signers than those of the
stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus
from signspot.corpus.isolated import IsolatedClip
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import OptionsError, SignspotError
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks, concatenate
from signspot.landmarks.signing import check_signing, sign_segment
from signspot.landmarks.video_estimation import Source, landmarks_of
from signspot.metrics.detection import Detection, TrueSign, by_score, match
from signspot.metrics.localisation import Tolerance
from signspot.metrics.ranking import mean
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment, Spotting, Track

FPS = 25.0
STREAM_SIGNS = 28  # signs in a stream, by default
SPEED = (1.5, 2.5)  # times faster than the isolated sign
GAPS = (2, 6)  # frames between two signs
CUT = 0.12  # largest share of a sign that is lost at each end
_SHOULDERS = (11, 12)
_SIDE, _MIDDLE, _WIDTH = 1000, (0.5, 0.4), 0.2  # of the frame into which signers are placed alike


@dataclass(frozen=True, slots=True)
class Stream:
    """Signing in which every sign is known."""

    name: str
    landmarks: Landmarks
    truth: tuple[TrueSign, ...]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.landmarks) / FPS


def make_streams(clips: Sequence[IsolatedClip], seed: int = 0, signs: int = STREAM_SIGNS) -> list[Stream]:
    """Join signs, each played fast, into streams with exact truth.

    Args:
        clips: of one signer, or of signers who are placed alike (`placed`).
        seed: of order, speed and gaps.
        signs: in a stream, about.
    """
    random = np.random.default_rng([seed, len(clips)])
    order = random.permutation(len(clips))
    streams = []
    for number, part in enumerate(np.array_split(order, max(1, len(order) // signs))):
        chosen = [clips[index] for index in part]
        played = [_played(clip.landmarks, random) for clip in chosen]
        landmarks, segments = _joined(played, random.integers(GAPS[0], GAPS[1] + 1, len(played) - 1).tolist())
        name = f"stream-{number:02d}"
        truth = [TrueSign(clip.word, name, segment) for clip, segment in zip(chosen, segments, strict=True)]
        streams.append(Stream(name, landmarks, tuple(truth)))
    return streams


def placed(landmarks: Landmarks) -> Landmarks:
    """The same signer in the middle of a square frame at one size, so that signers can be joined."""
    width, height = landmarks.size or (1280, 720)
    scale = np.array([width, height, width], np.float64)
    shoulders = landmarks.body[:, _SHOULDERS, :2] * scale[:2]
    middle = np.nanmedian(shoulders.mean(axis=1), axis=0)
    across = float(np.nanmedian(np.linalg.norm(shoulders[:, 0] - shoulders[:, 1], axis=1)))
    zoom = _WIDTH / max(across, 1.0)

    def moved(points: np.ndarray) -> np.ndarray:
        result = points.astype(np.float32, copy=True)
        result[..., :3] = points[..., :3] * scale * zoom
        result[..., :2] += np.array(_MIDDLE) - middle * zoom
        return result

    return replace(
        landmarks,
        size=(_SIDE, _SIDE),
        body=moved(landmarks.body),
        left_hand=moved(landmarks.left_hand),
        right_hand=moved(landmarks.right_hand),
        face=moved(landmarks.face),
    )


def _played(landmarks: Landmarks, random: np.random.Generator) -> Landmarks:
    """The sign at another speed that is not quite even, a little of it lost at each end."""
    segment = sign_segment(landmarks)
    length = max(6, round(segment.duration * FPS / random.uniform(*SPEED)))
    lost = random.uniform(0, CUT, 2) * segment.duration
    even = np.linspace(0, 1, length)
    warped = even + random.normal(0, 0.05) * np.sin(np.pi * even)
    start, end = segment.start + lost[0], segment.end - 1 / landmarks.fps - lost[1]
    return landmarks.at(start + warped * (end - start))


def _joined(signs: Sequence[Landmarks], gaps: Sequence[int]) -> tuple[Landmarks, list[Segment]]:
    """One stream at 25 frames per second with movement between signs, and where each sign is in it."""
    ends = np.cumsum([len(sign) for sign in signs])
    numbered = [replace(sign, times=np.arange(end - len(sign), end)) for sign, end in zip(signs, ends, strict=True)]
    positions: list[NDArray[np.float64]] = []
    segments: list[Segment] = []
    frame = 0
    for index, end in enumerate(ends):
        length = len(signs[index])
        segments.append(Segment(frame / FPS, (frame + length) / FPS))
        positions.append(np.arange(end - length, end, dtype=np.float64))
        frame += length
        if index < len(gaps):
            positions.append(end - 1 + _eased(np.arange(1, gaps[index] + 1) / (gaps[index] + 1)))
            frame += gaps[index]
    same = [replace(sign, size=signs[0].size) for sign in numbered]
    stream = concatenate(same).at(np.concatenate(positions))
    return replace(stream, times=np.arange(len(stream)) / FPS), segments


def _eased(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimum jerk from 0 to 1."""
    return np.asarray(share**3 * (10 - 15 * share + 6 * share**2))


RATES = (1.0, 10.0, 60.0)  # false alarms per hour and word whose promise is looked at
EXEMPLARS = (1, 3, 5)  # per word
LOWEST = 0.3  # score from which spottings are looked at
_SIGNED = 3  # clips of each word looked for in the streams


class Alarms(NamedTuple):
    """Promised and counted false alarms, per hour and word."""

    promised: float
    counted: float


@dataclass(frozen=True, slots=True)
class StreamScores:
    """Scores of one encoder with one number of exemplars; nan where there is nothing to measure."""

    encoder: str
    hash: str
    exemplars: int  # per word
    words: int  # looked for
    signs: int  # of these words in the streams
    hours: float
    mean_average_precision: float
    localisation: float  # part of words and streams in which the best place of a word is where it is signed
    boundary: float  # frames: the median error of starts and ends of what was found
    precision: float  # at the default threshold, as are recall and boundary
    recall: float
    alarms: tuple[Alarms, ...]  # for each of `RATES`; empty where spottings say nothing of them
    word_hours: float  # hours times words: with few of them a rate cannot be counted


@dataclass(frozen=True)
class StreamMaterial:
    """Streams, and exemplars of the words that are looked for in them."""

    name: str
    streams: Sequence[Stream]
    exemplars: Mapping[str, Sequence[Source]]  # word → one exemplar per signer, none of whom signs it in the streams


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options of making streams from isolated clips."""

    words: int = 40  # looked for, at most; never more than half of those that have enough signers
    signs: int = 560  # joined into streams
    signs_per_stream: int = 140
    signed: bool = True  # whether the words looked for are among them; if not, every spotting is a false alarm
    seed: int = 0


def material_of_clips(name: str, clips: Sequence[IsolatedClip], options: StreamOptions | None = None) -> StreamMaterial:
    """Draw words to look for, exemplars by some signers, and streams of clips by others.

    Args:
        name: of the corpus.
        clips: of many words by several signers.
        options: how much of it.

    Raises:
        OptionsError: no two words have clips of one signer more than exemplars are needed.
    """
    chosen = options or StreamOptions()
    random = np.random.default_rng(chosen.seed)
    shuffled = [clips[int(number)] for number in random.permutation(len(clips))]
    by_word: dict[str, dict[str, IsolatedClip]] = {}
    for clip in shuffled:
        if clip.signer and _is_usable(clip):
            by_word.setdefault(clip.word, {}).setdefault(clip.signer, clip)
    most = max(EXEMPLARS)
    rich = sorted(word for word, signers in by_word.items() if len(signers) > most)
    words = random.permutation(np.array(rich))[: min(chosen.words, len(rich) // 2)].tolist() if len(rich) > 1 else []
    if not words:
        raise OptionsError(
            f"streams need at least two words by {most + 1} known signers each; '{name}' has {len(rich)}"
        )
    lent = {word: list(by_word[word].items())[:most] for word in words}
    lenders = {word: {signer for signer, _ in pairs} for word, pairs in lent.items()}
    others = [clip for clip in shuffled if clip.word not in lent and _is_usable(clip)]
    targets = [clip for word in words for clip in _by_others(shuffled, word, lenders[word])] if chosen.signed else []
    signed = [*targets, *others][: max(chosen.signs, len(targets))]
    streams = make_streams(
        [replace(clip, landmarks=placed(clip.landmarks)) for clip in signed], chosen.seed, chosen.signs_per_stream
    )
    return StreamMaterial(name, streams, {word: [clip.landmarks for _, clip in pairs] for word, pairs in lent.items()})


def material_of_corpus(
    corpus: Corpus, *, filmed: bool = False, cache: Path | None = None, progress: Progress = silent
) -> StreamMaterial:
    """The footage of a corpus whose signs are known, and its dictionary.

    Args:
        corpus: as `signspot synthetic make` writes it.
        filmed: estimate landmarks in its videos, instead of reading those beside them.
        cache: where estimated landmarks are kept, so that they are estimated once; None: nowhere.
        progress: called with the videos done.

    Raises:
        OptionsError: a video has no landmarks or no video file, or no sign is known.
    """
    dictionary = corpus.dictionary()
    streams = []
    for done, (name, video) in enumerate(corpus.videos.items()):
        progress(done, len(corpus.videos))
        path = video.video if filmed else video.landmarks
        if path is None:
            raise OptionsError(f"video '{name}' of {corpus.folder} has no {'video file' if filmed else 'landmarks'}")
        truth = tuple(TrueSign(sign.word, name, sign.segment) for sign in corpus.signs(name))
        streams.append(Stream(name, landmarks_of(path, None if cache is None else cache / "landmarks"), truth))
    progress(len(corpus.videos), len(corpus.videos))
    if not any(stream.truth for stream in streams):
        raise OptionsError(f"no sign is known in {corpus.folder}: there is no truth to measure by")
    sources = {
        word: [exemplar.path for exemplar in exemplars if exemplar.path is not None]
        for word, exemplars in dictionary.items()
    }
    return StreamMaterial(
        corpus.folder.name, streams, {word: exemplars for word, exemplars in sources.items() if exemplars}
    )


def measure_streams(
    spotter: Spotter,
    material: StreamMaterial,
    counts: Sequence[int] = EXEMPLARS,
    options: SpotOptions | None = None,
    progress: Progress = silent,
) -> list[StreamScores]:
    """Search streams for words, with so many exemplars each.

    Args:
        spotter: what is measured.
        material: streams and exemplars.
        counts: exemplars per word, one after the other; words that have fewer are left out.
        options: how to spot; the threshold decides about precision and recall.
        progress: called with the searches done.
    """
    chosen = options or SpotOptions()
    tracks = [spotter.embed(stream.landmarks) for stream in material.streams]
    views = _views(spotter, material.exemplars, max(counts), chosen)
    scores = []
    for done, count in enumerate(counts):
        progress(done, len(counts))
        gallery = _gallery(views, count)
        if gallery is not None:
            scores.append(replace(_measure(spotter, material.streams, tracks, gallery, chosen), exemplars=count))
    progress(len(counts), len(counts))
    return scores


def _measure(
    spotter: Spotter, streams: Sequence[Stream], tracks: Sequence[Track], gallery: Gallery, options: SpotOptions
) -> StreamScores:
    """Search all streams for the words of one gallery."""
    low = replace(options, threshold=LOWEST, false_alarms_per_hour=None)
    words, detection, decided = set(gallery.words), Detection(), Detection()
    promised: list[float] = []  # rates at false alarms
    has_rates = False
    errors: list[float] = []
    localised: list[bool] = []
    for stream, track in zip(streams, tracks, strict=True):
        result = spotter.search(track, gallery, low)
        spottings, accepted = (
            [replace(spotting, video=stream.name) for spotting in part]
            for part in (result.spottings, result.decided(options.threshold))
        )
        localised += _best_places(stream, result.best)
        truths = [true for true in stream.truth if true.word in words]
        detection.add(stream.name, stream.seconds, spottings, truths)
        decided.add(stream.name, stream.seconds, accepted, truths)
        for word in words:
            ranked = by_score([spotting for spotting in spottings if spotting.word == word])
            segments = match(ranked, [true.segment for true in truths if true.word == word])
            for spotting, segment in zip(ranked, segments, strict=True):
                has_rates |= spotting.false_alarms_per_hour is not None
                if segment is None and spotting.false_alarms_per_hour is not None:
                    promised.append(spotting.false_alarms_per_hour)
                elif segment is not None and spotting in accepted:
                    errors += [abs(spotting.start - segment.start), abs(spotting.end - segment.end)]
    point, hours = decided.curve().at(0.0), sum(stream.seconds for stream in streams) / 3600
    searched = hours * len(words)
    counted = [Alarms(rate, sum(value <= rate for value in promised) / searched) for rate in RATES]
    return StreamScores(
        spotter.encoder.name,
        spotter.encoder.hash,
        0,
        len(words),
        sum(true.word in words for stream in streams for true in stream.truth),
        hours,
        mean(list(detection.average_precision().values())),
        float(np.mean(localised)) if localised else float("nan"),
        float(np.median(errors)) * FPS if errors else float("nan"),
        point.precision,
        point.recall,
        tuple(counted) if has_rates else (),
        searched,
    )


def _best_places(stream: Stream, best: Mapping[str, Spotting]) -> list[bool]:
    """Of every word that is looked for and signed: whether its best place is where it is signed."""
    there: dict[str, list[TrueSign]] = {}
    for true in stream.truth:
        if true.word in best:
            there.setdefault(true.word, []).append(true)
    tolerance = Tolerance()
    return [bool(tolerance.accepts(best[word].time, [t.segment for t in signs])) for word, signs in there.items()]


def _views(
    spotter: Spotter, exemplars: Mapping[str, Sequence[Source]], most: int, options: SpotOptions
) -> dict[str, list[SignViews]]:
    """Every exemplar that can be used, embedded once."""
    embedder = ExemplarEmbedder(spotter.encoder, spotter.cache, options.seed)
    views: dict[str, list[SignViews]] = {}
    mirror = options.mirror and spotter.encoder.contract.can_mirror
    for word, sources in exemplars.items():
        for source in sources:
            try:
                if len(views.get(word, ())) < most:
                    views.setdefault(word, []).append(embedder.embed_source(source, mirror=mirror))
            except SignspotError:
                continue
    return views


def _gallery(views: Mapping[str, Sequence[SignViews]], count: int) -> Gallery | None:
    """The first so many exemplars of every word that has them."""
    chosen = [
        (word, view) for word, word_views in views.items() if len(word_views) >= count for view in word_views[:count]
    ]
    if not chosen:
        return None
    exemplars = [Exemplar(word, f"{word}-{number}") for number, (word, _) in enumerate(chosen)]
    return Gallery.of_views(exemplars, [view for _, view in chosen])


def _by_others(clips: Sequence[IsolatedClip], word: str, lenders: set[str]) -> list[IsolatedClip]:
    """Clips of a word by signers who lend no exemplar of it, different ones where there are any."""
    by_signer: dict[str, IsolatedClip] = {}
    for clip in clips:
        if clip.word == word and clip.signer and clip.signer not in lenders and _is_usable(clip):
            by_signer.setdefault(clip.signer, clip)
    return list(by_signer.values())[:_SIGNED]


def _is_usable(clip: IsolatedClip) -> bool:
    try:
        check_signing(clip.landmarks, clip.word)
    except SignspotError:
        return False
    return True
