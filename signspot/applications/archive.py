"""An archive: a folder of tracks that is searched as one, for a word or for a clip, without loading it.

Embeddings stay on disk in 16 bits. The best windows for every query are found exactly, neighbours in time suppressed,
and the best places are aligned.
A new video is one more file; no other is touched.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.applications.mapped_arrays import Half, open_mapped
from signspot.applications.placing import Place, aligned_places, compared_places, place_spans, told_apart
from signspot.applications.scanning import Candidates, scan
from signspot.applications.sketches import Axes, OpenSketches, Sketch, SketchCache
from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import SUFFIX, checked_grid, write_track
from signspot.errors import EncoderMismatchError, FormatError, OptionsError, TrackError
from signspot.io.checks import check_text, parse_json
from signspot.io.files import text_digest
from signspot.io.progress import Progress, silent
from signspot.spotting.identification import alignment_scale
from signspot.spotting.spotter import Spotter
from signspot.types import Grid, Spotting

_SPARE = 8  # candidates for each place that is wanted: suppression and alignment take some away


@dataclass(frozen=True)
class ArchivedTrack:
    """One video of an archive; its numbers are read from disk when they are looked at."""

    path: Path
    video: str
    encoder: str
    grid: Grid
    embeddings: Half = field(repr=False)  # (T, D) on disk
    codes: Half | None = field(repr=False)  # (frames, C) on disk
    source: str = ""  # the digest of the video
    digest: str = ""  # of all numbers of the track; empty in old ones


@dataclass(frozen=True)
class Archive:
    """Tracks of many videos by one encoder."""

    folder: Path
    tracks: tuple[ArchivedTrack, ...]
    sketches: OpenSketches = field(default_factory=dict, repr=False, compare=False)  # opened by searches before

    @property
    def windows(self) -> int:
        """The number of windows to compare."""
        return sum(len(track.embeddings) for track in self.tracks)

    @property
    def encoder(self) -> str:
        """The hash of the encoder that made all of them."""
        return self.tracks[0].encoder


def open_archive(folder: str | Path) -> Archive:
    """Open all tracks below a folder; only their headers are read.

    Raises:
        TrackError: there is no track.
        EncoderMismatchError: they are of several encoders.
        FormatError: a file is no track, or damaged.
    """
    home = Path(folder)
    tracks = tuple(_open(path) for path in sorted(home.rglob(f"*{SUFFIX}")))
    if not tracks:
        raise TrackError(f"there is no track in {home}. Add videos with: signspot search {home} --add VIDEO")
    other = next((track for track in tracks if track.encoder != tracks[0].encoder), None)
    if other is not None:
        raise EncoderMismatchError(
            f"{tracks[0].path.name} and {other.path.name} were made by two encoders ({tracks[0].encoder} and "
            f"{other.encoder}): their numbers cannot be compared. Move one of them into an archive of its own, or add "
            "its video again with the other's encoder"
        )
    return Archive(home, tracks)


def add_video(spotter: Spotter, folder: str | Path, video: str | Path, progress: Progress | None = None) -> Path:
    """Embed a video into an archive; a file of its own, named by the video and its whole path.

    Raises:
        EncoderMismatchError: another encoder made the tracks that are there.
        FormatError: the first of them is damaged.
    """
    present = min(Path(folder).rglob(f"*{SUFFIX}"), default=None)
    if present is not None:
        _check_encoder(spotter, folder, _open(present).encoder)
    name = f"{Path(video).stem}-{text_digest(str(Path(video).resolve()))}{SUFFIX}"
    return write_track(spotter.track(str(video), progress=progress), Path(folder) / name)


def _check_encoder(spotter: Spotter, folder: str | Path, encoder: str) -> None:
    """Raise EncoderMismatchError where an archive was made by another encoder than the spotter's."""
    if encoder != spotter.encoder.hash:
        raise EncoderMismatchError(
            f"the archive {folder} was made by the encoder {encoder}, not by '{spotter.encoder.name}' "
            f"({spotter.encoder.hash}). Name that encoder with --encoder: signspot models lists their hashes"
        )


def _open(path: Path) -> ArchivedTrack:
    try:
        facts, arrays = open_mapped(path, "signspot track", ("embeddings", "codes"))
        grid = checked_grid(parse_json(facts["grid"], "grid"))
        if len(arrays["embeddings"]) != grid.count:
            raise FormatError(f"{grid.count} windows, but {len(arrays['embeddings'])} embeddings")
        codes = arrays.get("codes")
        if codes is not None and len(codes) != grid.frames:
            raise FormatError(f"{grid.frames} frames, but {len(codes)} codes")
        video, encoder = (check_text(facts[name], name) for name in ("video", "encoder"))
        source, digest = (check_text(facts.get(name, ""), name) for name in ("source", "sha256"))
        return ArchivedTrack(path, video, encoder, grid, arrays["embeddings"], codes, source, digest)
    except (ValueError, KeyError, TypeError, AttributeError, FormatError) as error:
        raise FormatError(f"{path} cannot be searched: {error}. Make it again with: signspot embed") from error


def scan_archive(
    archive: Archive, queries: NDArray[np.float32], top: int, threads: int = 2, cache: Path | None = None
) -> Candidates:
    """As `scan` of all tracks, with sketches of them where there is a cache folder: made once, and kept there.

    Args:
        archive: as `open_archive` gives it.
        queries: (Q, D) unit norm.
        top: how many groups of neighbouring windows are kept for each query.
        threads: that share the work.
        cache: the folder of what can be made again; None: every window is read.
    """
    matrices = [track.embeddings for track in archive.tracks]
    kept = SketchCache(cache, archive.encoder, archive.sketches)
    axes = kept.axes(matrices)
    if axes is None:
        return scan(matrices, queries, top, threads)
    return scan(matrices, queries, top, threads, [_sketch(kept, track, axes) for track in archive.tracks])


def _sketch(kept: SketchCache, track: ArchivedTrack, axes: Axes) -> Sketch | None:
    if not track.digest:
        return None
    try:
        return kept.sketch(track.embeddings, track.source, track.digest, axes)
    except FormatError as error:
        raise FormatError(f"{track.path} cannot be searched: {error}. Make it again with: signspot embed") from error


def search_archive(
    spotter: Spotter,
    archive: Archive,
    gallery: Gallery,
    top: int = 20,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> list[Spotting]:
    """Find words in an archive, the best places first.

    Args:
        spotter: whose encoder made the archive and the gallery.
        archive: as `open_archive` gives it.
        gallery: exemplars of words, or of one clip; each row is a query of its own.
        top: places of each word.
        threads: that share the comparison.
        progress: told the words whose places are aligned.

    Raises:
        EncoderMismatchError: another encoder made the archive.
    """
    if top < 1:
        raise OptionsError(f"top must be at least 1; got {top}")
    _check_encoder(spotter, archive.folder, archive.encoder)
    found = scan_archive(archive, gallery.embeddings, _SPARE * top, threads, spotter.cache)
    scale, spottings = alignment_scale(spotter.encoder), list[Spotting]()
    for done, rows in enumerate(gallery.words.values()):
        progress(done, len(gallery.words))
        places = [each for row in rows.tolist() for each in _placed(archive, gallery, row, found, scale)]
        kept = told_apart(places, top)
        spans = place_spans(archive.tracks, kept, gallery.codes, gallery.embeddings, scale)
        spottings += [_spotting(archive, gallery, *each) for each in zip(kept, spans, strict=True)]
    progress(len(gallery.words), len(gallery.words))
    return sorted(spottings, key=lambda each: -each.score)


def _placed(archive: Archive, gallery: Gallery, row: int, found: Candidates, scale: float) -> list[Place]:
    """The candidates of one query, aligned where there are frame codes."""
    candidates = list(zip(found.matrix[row].tolist(), found.row[row].tolist(), strict=True))
    if gallery.codes is None:
        return compared_places(archive.tracks, candidates, row, gallery.embeddings[row])
    coded = [each for each in candidates if archive.tracks[each[0]].codes is not None]
    others = [each for each in candidates if archive.tracks[each[0]].codes is None]
    aligned = aligned_places(archive.tracks, coded, row, gallery.codes[row], scale)
    return aligned + compared_places(archive.tracks, others, row, gallery.embeddings[row])


def _spotting(archive: Archive, gallery: Gallery, place: Place, span: tuple[float, float]) -> Spotting:
    exemplar, mirrored = gallery.exemplar(place.row)
    return Spotting(
        word=exemplar.word,
        video=archive.tracks[place.track].video,
        time=round(min(max(place.time, span[0]), span[1]), 3),  # a sign much faster than its exemplar
        start=round(span[0], 3),
        end=round(span[1], 3),
        score=round(place.score, 6),
        exemplar=exemplar.id,
        variant=exemplar.variant,
        mirrored=mirrored,
        licence=exemplar.licence,
        consent=exemplar.consent,
    )
