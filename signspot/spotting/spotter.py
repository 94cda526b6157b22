"""The whole road in one object: sources and exemplars in, spottings out."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.refine import Windows, refine
from signspot.embedding.tracks import SUFFIX, read_track, track_entry, write_track
from signspot.embedding.windows import Source, embed
from signspot.errors import EncoderMismatchError, OptionsError, OutputError, SignspotError
from signspot.files import cache_folder, content_digest
from signspot.landmarks.landmarks import Landmarks
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.records import Exemplar, Spotting
from signspot.spotting.peaks import Peak, find_peaks
from signspot.spotting.similarity import exemplar_curves
from signspot.timeline import Track


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """How to spot."""

    threshold: float | None = None  # least score of a spotting, in [0, 1]; None: the encoder's calibrated one
    stride: int = 1  # frames between two windows
    refine: bool = False  # with a stride above 1: embed again at stride 1 around candidate peaks
    margin: float = 0.1  # with refine: how far below the threshold a coarse peak still is a candidate
    gap: float = 0.4  # seconds between two spottings of one word, at least
    top: int | None = None  # at most so many spottings of a word, the best; None: all
    mirror: bool = True  # also compare with exemplars mirrored left to right
    seed: int = 0  # of the clips drawn from exemplars

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise OptionsError(f"threshold is a score in [0, 1]; got {self.threshold}")
        if self.stride < 1:
            raise OptionsError(f"stride must be at least 1 frame; got {self.stride}")
        if not (math.isfinite(self.gap) and self.gap >= 0):
            raise OptionsError(f"gap must be 0 s or more; got {self.gap}")
        if not 0 <= self.margin <= 1:
            raise OptionsError(f"margin is a difference of scores in [0, 1]; got {self.margin}")
        if self.top is not None and self.top < 1:
            raise OptionsError(f"top must be at least 1; got {self.top}")


logger = logging.getLogger(__name__)

What = Exemplar | Iterable[Exemplar] | Mapping[str, Sequence[Exemplar]]

_CELLS = 2_000_000  # windows × exemplars that are compared at once: 8 MB
_FEWEST = 16  # exemplars at once, however long the track


def load(name_or_path: str | PathLike[str] | None = None, *, cache: bool = True) -> "Spotter":
    """Load an encoder and give a spotter.

    Args:
        name_or_path: None for the shipped landmark encoder, the name of a shipped one, or a file: ours, or one of
            the public I3D checkpoints.
        cache: remember tracks and exemplar embeddings in the cache folder ($SIGNSPOT_CACHE).
    """
    return Spotter(load_encoder(name_or_path), cache_folder() if cache else None)


@dataclass(frozen=True)
class Spotter:
    """Says whether and where signs occur."""

    encoder: Encoder
    cache: Path | None = None  # folder of what can be made again; None: remember nothing

    def embed(self, source: Source, stride: int = 1, progress: Progress | None = None) -> Track:
        """Embed every window of a video path, a `.pose` path or landmarks."""
        if self.cache is None or isinstance(source, Landmarks) or not Path(source).is_file():
            return embed(self.encoder, source, stride, progress)
        path = Path(source)
        entry = track_entry(self.cache, self.encoder.hash, content_digest(path), stride)
        try:
            if entry.is_file():
                return replace(read_track(entry), video=path.name)  # it may be known by another name
        except SignspotError as error:
            logger.info("made a cached track again: %s", error)
        track = embed(self.encoder, path, stride, progress, self.cache / "landmarks")
        try:
            write_track(track, entry)
        except OutputError as error:
            logger.warning("the cache cannot be used: %s", error)
        return track

    def embed_exemplar(self, source: Source | Exemplar, *, mirror: bool = False, seed: int = 0) -> NDArray[np.float32]:
        """(D,) unit-norm embedding of one isolated sign, averaged over clips of it (Sec. 3.3)."""
        embedder = ExemplarEmbedder(self.encoder, self.cache, seed)
        if mirror and self.encoder.contract.kind != "landmarks":
            raise OptionsError(f"the encoder '{self.encoder.name}' cannot mirror; only landmark encoders can")
        if isinstance(source, Exemplar):
            embedding: NDArray[np.float32] = embedder.embed(source, mirror=mirror)[-1]
        else:
            embedding = embedder.embed_source(source, mirror=mirror)[-1]
        return embedding

    def gallery(self, what: What, options: SpotOptions = SpotOptions(), progress: Progress = silent) -> Gallery:
        """Embed exemplars, words of a dictionary, or a dictionary."""
        embedder = ExemplarEmbedder(self.encoder, self.cache, options.seed)
        return embedder.gallery(exemplars_of(what), mirror=options.mirror, progress=progress)

    def spot(
        self,
        source: Source | Track,
        what: What | Gallery,
        options: SpotOptions = SpotOptions(),
        progress: Progress | None = None,
    ) -> list[Spotting]:
        """Find signs.

        Args:
            source: a video path, a `.pose` path, a track's path, landmarks, or a track.
            what: exemplars, words of a dictionary (`dictionary["apple"]`), a dictionary, or a gallery made before.
            options: threshold, stride and so on.
            progress: called with frames done and frames in all while the source is embedded.

        Returns:
            Spottings by time.
        """
        gallery = what if isinstance(what, Gallery) else self.gallery(what, options)
        track, windows = self.windows(source, gallery, options, progress)
        if isinstance(source, str | PathLike) and Path(source).suffix != SUFFIX:
            track = replace(track, video=fspath(source))  # as the user names it, so that other tools find it
        found = [
            _spotting(track, gallery, word, peak, columns[peak.index])
            for word, scores, columns in best_scores(windows, gallery)
            for peak in self._peaks(windows, scores, options)
        ]
        return sorted(found, key=lambda spotting: (spotting.time, spotting.word))

    def windows(
        self, source: Source | Track, gallery: Gallery, options: SpotOptions, progress: Progress | None = None
    ) -> tuple[Track, Windows]:
        """The track of a source, and its windows: refined around candidates where the options say so."""
        needs_refining = options.refine and options.stride > 1 and self.encoder.contract.kind == "rgb"
        track = self.track(source, options, progress)
        if not needs_refining or track.grid.stride == 1:
            return track, Windows.of(track)
        if not isinstance(source, str | PathLike) or Path(source).suffix == SUFFIX:
            raise OptionsError("refine needs the video itself, not a track. Give the video, or a track with stride 1.")
        coarse = Windows.of(track)
        candidates: set[int] = set()
        for _, scores, _ in best_scores(coarse, gallery):
            least = self.threshold(options) - options.margin
            peaks = find_peaks(coarse.times, scores, threshold=least, gap=0.0, longest=1.0)
            candidates.update(peak.index for peak in peaks)
        return track, refine(self.encoder, source, track, sorted(candidates))

    def threshold(self, options: SpotOptions) -> float:
        """The least score of a spotting."""
        return self.encoder.contract.threshold if options.threshold is None else options.threshold

    def _peaks(self, windows: Windows, scores: NDArray[np.float32], options: SpotOptions) -> list[Peak]:
        longest = 2 * self.encoder.contract.frames / self.encoder.contract.fps
        return find_peaks(
            windows.times,
            scores,
            threshold=self.threshold(options),
            gap=options.gap,
            longest=longest,
            top=options.top,
        )

    def track(
        self, source: Source | Track, options: SpotOptions = SpotOptions(), progress: Progress | None = None
    ) -> Track:
        """The track of a source: embedded, read from a track's path, or the track itself if this encoder made it."""
        if isinstance(source, str | PathLike) and Path(source).suffix == SUFFIX:
            source = read_track(source)
        if not isinstance(source, Track):
            dense_is_free = options.refine and self.encoder.contract.kind == "landmarks"
            return self.embed(source, 1 if dense_is_free else options.stride, progress)
        if source.encoder != self.encoder.hash:
            raise EncoderMismatchError(
                f"the track of '{source.video}' was made by the encoder {source.encoder}, not by "
                f"'{self.encoder.name}' ({self.encoder.hash}). Make it again with: signspot embed"
            )
        return source


def exemplars_of(what: What) -> list[Exemplar]:
    """All exemplars in an exemplar, a list of them, or a dictionary."""
    if isinstance(what, Exemplar):
        return [what]
    if isinstance(what, Mapping):
        return [exemplar for exemplars in what.values() for exemplar in exemplars]
    found = list(what)
    strangers = [item for item in found if not isinstance(item, Exemplar)]
    if strangers:
        raise OptionsError(
            f"spot exemplars, not {type(strangers[0]).__name__} ({strangers[0]!r}). "
            "Take them from a dictionary: signspot.open_dictionary(folder)['word']"
        )
    return found


def best_scores(windows: Windows, gallery: Gallery) -> Iterator[tuple[str, NDArray[np.float32], NDArray[np.int64]]]:
    """For each word: (T,) the best score over its exemplars, and (T,) which row of the gallery gave it."""
    rows_of: dict[str, list[int]] = {}
    for row in range(len(gallery.embeddings)):
        rows_of.setdefault(gallery.exemplar(row)[0].word, []).append(row)
    for block in _blocks(rows_of, max(_FEWEST, _CELLS // max(1, len(windows.times)))):
        rows = [row for word in block for row in rows_of[word]]
        scores = exemplar_curves(windows.embeddings, gallery.embeddings[rows])
        done = 0
        for word in block:
            own = scores[done : done + len(rows_of[word])]
            done += len(rows_of[word])
            best = own.argmax(axis=0)
            curve = own[0] if len(own) == 1 else np.take_along_axis(own, best[None], axis=0)[0]
            yield word, curve, np.asarray(rows_of[word])[best]


def _blocks(rows_of: Mapping[str, Sequence[int]], most: int) -> Iterator[list[str]]:
    """Words in groups that together have about `most` rows."""
    block: list[str] = []
    for word in rows_of:
        block.append(word)
        if sum(len(rows_of[each]) for each in block) >= most:
            yield block
            block = []
    if block:
        yield block


def _spotting(track: Track, gallery: Gallery, word: str, peak: Peak, row: int) -> Spotting:
    exemplar, mirrored = gallery.exemplar(int(row))
    end = track.grid.origin + track.grid.frames / track.grid.fps
    return Spotting(
        word=word,
        video=track.video,
        time=round(peak.time, 3),
        start=round(min(peak.start, end), 3),
        end=round(min(peak.end, end), 3),
        score=round(peak.score, 6),
        exemplar=exemplar.id,
        variant=exemplar.variant,
        mirrored=mirrored,
    )
