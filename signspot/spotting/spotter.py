"""The whole pipeline in one object: sources and exemplars in, spottings out."""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.inputs import EstimateOptions
from signspot.embedding.tracks import SUFFIX, keep_track, read_kept, read_track, track_entry
from signspot.errors import EncoderMismatchError, OptionsError, OutputError, SignspotError
from signspot.io.files import cache_folder, content_digest
from signspot.io.progress import Progress, silent
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.video_estimation import Source
from signspot.models.encoder import Encoder, open_encoder
from signspot.spotting.decoys import DecoySet, PoorExemplar, ScoreCalibration, score_calibration
from signspot.spotting.false_alarms import FEWEST_WORDS, SHORTEST_VIDEO, LastTrack, TrackCache, threshold_by_card
from signspot.spotting.matching import cost_to_score, exemplar_scores, fitted, strength, warping_costs
from signspot.spotting.recurrence import recurrences, recurring_score
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.track_search import SearchResult, TrackSearch, WordScores
from signspot.types import Exemplar, Segment, Spotting, Track, Windows

logger = logging.getLogger(__name__)

_UNKNOWN: float = fitted("identification")["unknown"]  # chance from which on a sign is taken for one of no word

Signs = Exemplar | Iterable[Exemplar] | Mapping[str, Sequence[Exemplar]]


def load(
    name_or_path: str | PathLike[str] | None = None, *, cache: bool = True, device: str = "cpu", workers: int = 1
) -> "Spotter":
    """Load an encoder and give a spotter.

    Args:
        name_or_path: None for the shipped landmark encoder, the name of a shipped one, or a file: ours, or one of
            the public I3D checkpoints.
        cache: remember tracks and exemplar embeddings in the cache folder ($SIGNSPOT_CACHE).
        device: where it embeds: "cpu", "cuda", "mps", or "auto" for the fastest that is there.
        workers: processes that share a long video; with more than one, a script needs `if __name__ == "__main__":`.
    """
    if workers < 1:
        raise OptionsError(f"workers must be at least 1; got {workers}")
    folder = cache_folder() if cache else None
    return Spotter(open_encoder(name_or_path, folder, device=device), folder, workers)


@dataclass(frozen=True, slots=True)
class Match:
    """A word that an isolated sign may be."""

    word: str
    score: float  # in [0, 1]
    exemplar: str  # id of the best exemplar
    variant: str = ""
    mirrored: bool = False  # the exemplar matched left-right mirrored
    chance: float | None = None  # probability that some word scores so high for a sign of none of them; None: no decoys

    @property
    def is_known(self) -> bool:
        """Whether a sign whose best match this is may be in the dictionary: chance alone seldom scores so high."""
        return self.chance is None or self.chance <= _UNKNOWN


@dataclass(frozen=True)
class Spotter:
    """Says whether and where signs occur."""

    encoder: Encoder
    cache: Path | None = None  # folder of what can be made again; None: remember nothing
    workers: int = 1  # processes that share the estimation of a long video's landmarks

    def spot(
        self,
        source: Source | Track,
        signs: Signs | Gallery,
        options: SpotOptions | None = None,
        progress: Progress | None = None,
        **changes: Any,
    ) -> list[Spotting]:
        """Find signs; the spottings of `search`, by time.

        Example: spotter.spot("news.mp4", dictionary["apple"], threshold=0.8)

        Args:
            source: a video path, a `.pose` path, a track's path, landmarks, or a track.
            signs: exemplars, words of a dictionary (`dictionary["apple"]`), a dictionary, or a gallery made before.
            options: threshold, stride and so on.
            progress: called with frames done and frames in all while the source is embedded.
            changes: fields of `SpotOptions`, as keywords.
        """
        return list(self.search(source, signs, replace(options or SpotOptions(), **changes), progress).spottings)

    def search(
        self,
        source: Source | Track,
        signs: Signs | Gallery,
        options: SpotOptions | None = None,
        progress: Progress | None = None,
        *,
        within: Segment | None = None,
    ) -> SearchResult:
        """Find signs, and keep all that the result follows from: the one pipeline that every user of the spotter takes.

        Args:
            source: as in `spot`.
            signs: as in `spot`.
            options: as in `spot`.
            progress: as in `spot`.
            within: only spottings whose time lies in this segment.
        """
        chosen = options or SpotOptions()
        gallery = signs if isinstance(signs, Gallery) else self.gallery(signs, chosen)
        track = self.track(source, chosen, progress)
        windows = Windows.of(track)
        if chosen.refine and track.grid.stride > 1:
            windows = self._refined(source, track, gallery, chosen)
        search = self._search(track, windows, gallery, chosen)
        if chosen.false_alarms_per_hour is not None and search.seconds < SHORTEST_VIDEO:
            logger.warning(
                "'%s' lasts only %.0f s, so its false alarms per hour are rough", track.video, search.seconds
            )
        return search.run(gallery, within)

    def best_locations(self, track: Track, gallery: Gallery, within: Sequence[Segment]) -> list[dict[str, Spotting]]:
        """The best location of every word in some segments of a track, as `search` finds it, without rates."""
        options = SpotOptions(threshold=0.0)
        search = TrackSearch(track, Windows.of(track), options, 0.0, self._decoys, self._calibration.scale)
        return [search.best_locations(gallery, segment) for segment in within]

    def with_recurrence(
        self, track: Track, spottings: Sequence[Spotting], windows: Sequence[Segment], gallery: Gallery
    ) -> list[float]:
        """Scores of one word's spottings that rise where the sign is found again near subtitles with the word.

        Args:
            track: of the video.
            spottings: of the word.
            windows: segments in which the word is expected.
            gallery: that the spottings were found with; without frame codes, scores stay as they are.
        """
        if gallery.codes is None or track.codes is None:
            return [spotting.score for spotting in spottings]
        recurrence = recurrences(track, spottings, windows, self._calibration.scale, gallery.codes.shape[1])
        return [recurring_score(spotting.score, value) for spotting, value in zip(spottings, recurrence, strict=True)]

    def word_scores(self, track: Track, gallery: Gallery, options: SpotOptions) -> WordScores:
        """The best score of each word at every time step of a track, as `search` compares them."""
        return self._search(track, Windows.of(track), gallery, options).word_scores(gallery)

    def _search(self, track: Track, windows: Windows, gallery: Gallery, options: SpotOptions) -> TrackSearch:
        fallback = self.threshold(replace(options, threshold=None), len(gallery.words))
        by_codes = gallery.codes is not None
        cache = TrackCache()
        if len(windows.times) == len(track):
            by_codes = by_codes and options.match != "embedding"
            cache = self._last_track.cache(track, by_codes=by_codes, mirror=options.mirror)
        return TrackSearch(track, windows, options, fallback, self._decoys, self._calibration.scale, cache)

    @cached_property
    def _last_track(self) -> LastTrack:
        return LastTrack()

    @cached_property
    def _calibration(self) -> ScoreCalibration:
        return score_calibration(self.encoder, self.cache)

    @property
    def _decoys(self) -> DecoySet | None:
        return self._calibration.decoys

    def identify(
        self,
        source: Source,
        signs: Signs | Gallery,
        top: int | None = None,
        options: SpotOptions | None = None,
        segment: Segment | None = None,
    ) -> list[Match]:
        """Say which word an isolated sign is.

        Args:
            source: a video path, a `.pose` path or landmarks that show one sign.
            signs: as in `spot`.
            top: how many words; all, if None.
            options: whether to mirror, and how to match.
            segment: where the sign is in the source; None: where the wrists move.

        Returns:
            Words, the best first; each with its best exemplar.
        """
        chosen = options or SpotOptions()
        gallery = signs if isinstance(signs, Gallery) else self.gallery(signs, chosen)
        sign = ExemplarEmbedder(self.encoder, self.cache, chosen.seed).embed_source(source, segment)
        return self.identify_views(sign, gallery, chosen)[:top]

    def identify_views(self, sign: SignViews, gallery: Gallery, options: SpotOptions) -> list[Match]:
        """As `identify`, of a sign that was embedded before; all words."""
        by_codes = options.match != "embedding" and gallery.codes is not None
        scores = sign_scores(sign, gallery, self._calibration.scale if by_codes else None, self._decoys)
        matches = rank_words(scores, gallery)
        if not by_codes or self._decoys is None:
            return matches
        mirror = bool(gallery.mirrored.any())
        others = partial(decoy_strengths, sign, self._calibration.scale, self._decoys, mirror=mirror)
        return with_chances(matches, gallery, others)

    def gallery(self, signs: Signs, options: SpotOptions | None = None, progress: Progress = silent) -> Gallery:
        """Embed exemplars, words of a dictionary, or a dictionary."""
        chosen = options or SpotOptions()
        embedder = ExemplarEmbedder(self.encoder, self.cache, chosen.seed)
        gallery = embedder.gallery(exemplars_of(signs), mirror=chosen.mirror, progress=progress)
        for poor in self.poor_exemplars(gallery):
            names = poor.exemplar.id, poor.exemplar.word, poor.matches
            remedy = "Leave it out, or give the segment of the sign"
            logger.warning("exemplar '%s' of '%s' matches %s: it gets a penalty. %s", *names, remedy)
        return gallery

    def poor_exemplars(self, gallery: Gallery) -> list[PoorExemplar]:
        """Exemplars that match rest, or everything, and therefore count less."""
        return [] if self._decoys is None else self._decoys.poor_exemplars(gallery)

    def track(
        self, source: Source | Track, options: SpotOptions | None = None, progress: Progress | None = None
    ) -> Track:
        """The track of a source: embedded, read from a track's path, or the track itself if this encoder made it."""
        chosen = options or SpotOptions()
        if isinstance(source, str | PathLike) and Path(source).suffix == SUFFIX:
            source = read_track(source)
        if not isinstance(source, Track):
            dense_is_free = chosen.refine and self.encoder.contract.dense_is_free
            return self.embed(source, 1 if dense_is_free else chosen.stride, progress)
        if source.encoder != self.encoder.hash:
            raise EncoderMismatchError(
                f"the track of '{source.video}' was made by the encoder {source.encoder}, not by "
                f"'{self.encoder.name}' ({self.encoder.hash}). Make it again with: signspot embed"
            )
        return source

    def embed(self, source: Source, stride: int = 1, progress: Progress | None = None) -> Track:
        """Embed every window of a video path, a `.pose` path or landmarks; a track names its video as it was given."""
        kept_track = None if isinstance(source, Landmarks) else self._kept_track(source, stride)
        if kept_track is not None:
            return kept_track
        from signspot.embedding.windows import embed  # PyTorch: a track that is kept needs none

        if isinstance(source, Landmarks):
            return embed(self.encoder, source, stride, progress)
        path = Path(source)
        alone = EstimateOptions(workers=self.workers)
        if self.cache is None or not path.is_file():
            return replace(embed(self.encoder, path, stride, progress, alone), video=fspath(source))
        entry = track_entry(self.cache, self.encoder.hash, content_digest(path), stride)
        with_cache = replace(alone, cache=self.cache / "landmarks")
        track = embed(self.encoder, path, stride, progress, with_cache)
        try:
            keep_track(track, entry)
        except OutputError as error:
            logger.warning("the cache cannot be used: %s", error)
        return replace(track, video=fspath(source))

    def _kept_track(self, source: str | PathLike[str], stride: int) -> Track | None:
        """The track of a file out of the cache; None where it is not there."""
        if self.cache is None or not Path(source).is_file():
            return None
        entry = track_entry(self.cache, self.encoder.hash, content_digest(source), stride)
        try:
            return replace(read_kept(entry), video=fspath(source)) if entry.is_file() else None
        except SignspotError as error:
            logger.info("a cached track is made again: %s", error)
            return None

    def embed_exemplar(self, source: Source | Exemplar, *, mirror: bool = False, seed: int = 0) -> NDArray[np.float32]:
        """(D,) unit-norm embedding of one isolated sign, averaged over clips of it (Sec. 3.3)."""
        embedder = ExemplarEmbedder(self.encoder, self.cache, seed)
        if mirror and not self.encoder.contract.can_mirror:
            raise OptionsError(f"the encoder '{self.encoder.name}' cannot mirror; only landmark encoders can")
        if isinstance(source, Exemplar):
            embedding: NDArray[np.float32] = embedder.embed(source, mirror=mirror).embeddings[-1]
        else:
            embedding = embedder.embed_source(source, mirror=mirror).embeddings[-1]
        return embedding

    def threshold(self, options: SpotOptions, words: int = 0) -> float:
        """The least score of a spotting where decoys do not decide: as given, by the card's rates, or the default.

        Args:
            options: how to spot.
            words: looked for; enough of them are decoys for each other where the encoder brings none.
        """
        if options.threshold is not None:
            return options.threshold
        if options.false_alarms_per_hour is not None and self._decoys is None and words < FEWEST_WORDS:
            return threshold_by_card(self.encoder, options.false_alarms_per_hour)
        return self.encoder.contract.threshold

    def _refined(self, source: Source | Track, track: Track, gallery: Gallery, options: SpotOptions) -> Windows:
        """The windows of a coarse track, and all windows around its candidates."""
        if not isinstance(source, str | PathLike) or Path(source).suffix == SUFFIX:
            raise OptionsError("refine needs the video itself, not a track. Give the video, or a track with stride 1.")
        from signspot.embedding.windows import refine  # PyTorch

        least = max(0.0, self.threshold(options, len(gallery.words)) - options.margin)
        coarse = replace(options, threshold=least, false_alarms_per_hour=None, match="embedding", top=None, overlap=1.0)
        candidates = self._search(track, Windows.of(track), gallery, coarse).run(gallery).spottings
        indices = {track.grid.nearest(spotting.time) for spotting in candidates}
        return refine(self.encoder, source, track, sorted(indices))


def exemplars_of(signs: Signs) -> list[Exemplar]:
    """All exemplars in an exemplar, a list of them, or a dictionary."""
    if isinstance(signs, Exemplar):
        return [signs]
    if isinstance(signs, Mapping):
        return [exemplar for exemplars in signs.values() for exemplar in exemplars]
    exemplars = list(signs)
    for item in exemplars:
        if not isinstance(item, Exemplar):
            raise OptionsError(
                f"spot exemplars, not {type(item).__name__} ({item!r}). "
                "Take them from a dictionary: signspot.open_dictionary(folder)['word']"
            )
    return exemplars


def sign_scores(sign: SignViews, gallery: Gallery, scale: float | None, decoys: DecoySet | None) -> NDArray[np.float32]:
    """Compare an isolated sign with every row of a gallery.

    Args:
        sign: as an encoder sees it.
        gallery: by the same encoder.
        scale: the cost of a path whose score is a half; None: compare embeddings, not frame codes.
        decoys: that show which exemplars are near to everything; None: no exemplar is corrected.

    Returns:
        (V,) scores in [0, 1].
    """
    if scale is None or sign.codes is None or gallery.codes is None:
        scores: NDArray[np.float32] = exemplar_scores(sign.embeddings[:1], gallery.embeddings)[:, 0]
        return scores
    corrections = 0.0 if decoys is None else decoys.corrections_in(gallery)
    return cost_to_score(warping_costs(sign.codes[:1], gallery.codes)[0] + corrections, scale)


def decoy_strengths(
    sign: SignViews, scale: float, decoys: DecoySet, exemplars: int, *, mirror: bool
) -> NDArray[np.float64]:
    """(D,) how near an isolated sign comes to each decoy word of so many exemplars, as strengths of scores."""
    gallery = decoys.gallery(exemplars, mirror=mirror)
    assert sign.codes is not None, "identified by codes"
    assert gallery.codes is not None, "decoys have codes"
    costs = warping_costs(sign.codes[:1], gallery.codes)[0] + decoys.corrections_of(gallery.codes)
    scores = cost_to_score(costs, scale)
    return strength(np.array([scores[rows].max() for rows in gallery.words.values()]))


def with_chances(
    matches: Sequence[Match], gallery: Gallery, others: Callable[[int], NDArray[np.float64]]
) -> list[Match]:
    """Matches with the probability that a sign of none of the words scores as high with one of them.

    The strengths of decoy words, of as many exemplars, are taken as normally distributed for this sign, and the words
    of the gallery as independent.

    Args:
        matches: of one sign.
        gallery: all words.
        others: strengths of decoy words, by their number of exemplars.
    """
    cached = cache(others)
    chances = []
    for match in matches:
        by_chance = cached(len(set(gallery.rows[gallery.words[match.word]].tolist())))
        height = (float(strength(match.score)) - by_chance.mean()) / max(float(by_chance.std()), 1e-6)
        tail = min(0.5 * math.erfc(height / math.sqrt(2)), 1 - 1e-12)
        chances.append(replace(match, chance=float(f"{-math.expm1(len(gallery.words) * math.log1p(-tail)):.3g}")))
    return chances


def rank_words(scores: NDArray[np.float32], gallery: Gallery) -> list[Match]:
    """The words of a gallery by their best row, the best first; equal ones in order of the gallery."""
    matches = []
    for word, rows in gallery.words.items():
        row = int(rows[scores[rows].argmax()])
        exemplar, mirrored = gallery.exemplar(row)
        matches.append(Match(word, round(float(scores[row]), 6), exemplar.id, exemplar.variant, mirrored))
    return sorted(matches, key=lambda match: -match.score)
