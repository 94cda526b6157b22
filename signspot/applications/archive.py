"""An archive: a folder of tracks that is searched as one, for a word or for a clip, without loading it.

Embeddings stay on disk in 16 bits and are read through once: a blocked matrix product gives every window's similarity
to every query, the best windows are kept, neighbours in time suppressed, and the best places are aligned.
A new video is one more file; no other is touched.
"""

import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.checked_values import checked_list, checked_text, checked_whole, parse_json
from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.embedding.tracks import SUFFIX, checked_grid, write_track
from signspot.errors import EncoderMismatchError, FormatError, OptionsError, TrackError
from signspot.files import text_digest
from signspot.progress import Progress, silent
from signspot.records import Spotting
from signspot.spotting.identification import alignment_scale
from signspot.spotting.matching import AlignmentMatcher, EmbeddingMatcher
from signspot.spotting.peaks import suppress
from signspot.spotting.spotter import Spotter
from signspot.timeline import Grid

GROUP = 16  # windows of which only the best is a candidate: no two signs of a word are nearer than that
_ROWS = 100 * GROUP  # windows at once: their 32-bit copy stays in the cache of a core
_SPARE = 8  # candidates for each place that is wanted: suppression and alignment take some away
_APART = 0.5  # seconds between two places of one word, at least
_AROUND = 1.5  # seconds around a candidate that are aligned
Half = NDArray[np.float16]


@dataclass(frozen=True)
class ArchivedTrack:
    """One video of an archive; its numbers are read from disk when they are looked at."""

    path: Path
    video: str
    encoder: str
    grid: Grid
    embeddings: Half = field(repr=False)  # (T, D) on disk
    codes: Half | None = field(repr=False)  # (frames, C) on disk


@dataclass(frozen=True)
class Archive:
    """Tracks of many videos by one encoder."""

    folder: Path
    tracks: tuple[ArchivedTrack, ...]

    @property
    def windows(self) -> int:
        """How many windows there are to compare."""
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
            f"{other.encoder}): their numbers cannot be compared. Make one of them again with: signspot embed"
        )
    return Archive(home, tracks)


def add_video(spotter: Spotter, folder: str | Path, video: str | Path, progress: Progress | None = None) -> Path:
    """Embed a video into an archive; a file of its own, named by the video and its whole path."""
    name = f"{Path(video).stem}-{text_digest(str(Path(video).resolve()))}{SUFFIX}"
    return write_track(spotter.track(str(video), progress=progress), Path(folder) / name)


def _open(path: Path) -> ArchivedTrack:
    try:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > 1 << 20:
                raise FormatError(f"its header has {size} bytes")
            header = parse_json(file.read(size).decode(), str(path))
        facts = header["__metadata__"]
        if not str(facts.get("kind", "")).startswith("signspot track"):
            raise FormatError("it is no track")
        grid = checked_grid(parse_json(facts["grid"], "grid"))
        video, encoder = (checked_text(facts[name], name) for name in ("video", "encoder"))
        arrays = {name: _mapped(path, 8 + size, header[name]) for name in ("embeddings", "codes") if name in header}
        if len(arrays["embeddings"]) != grid.count:
            raise FormatError(f"{grid.count} windows, but {len(arrays['embeddings'])} embeddings")
        codes = arrays.get("codes")
        if codes is not None and len(codes) != grid.frames:
            raise FormatError(f"{grid.frames} frames, but {len(codes)} codes")
        return ArchivedTrack(path, video, encoder, grid, arrays["embeddings"], codes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error, FormatError) as error:
        raise FormatError(f"{path} cannot be searched: {error}. Make it again with: signspot embed") from error


def _mapped(path: Path, begin: int, entry: Any) -> Half:
    """An array of a safetensors file, on disk until it is read."""
    if entry["dtype"] != "F16":
        raise FormatError(f"its numbers are {entry['dtype']}, not 16-bit")
    rows, columns = (checked_whole(each, "shape") for each in checked_list(entry["shape"], "shape"))
    first, last = (checked_whole(each, "offset", most=2**62) for each in checked_list(entry["data_offsets"], "offsets"))
    if columns < 1 or last - first != 2 * rows * columns or begin + last > path.stat().st_size:
        raise FormatError("its shape does not fit its size")
    return np.memmap(path, np.float16, "c", begin + first, (rows, columns))  # "c": torch takes no read-only arrays


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best windows for each of Q queries: similarity, matrix and row, the best first."""

    similarity: list[NDArray[np.float32]]  # Q of (n,)
    matrix: list[NDArray[np.int64]]
    row: list[NDArray[np.int64]]


def scan(matrices: Sequence[Half], queries: NDArray[np.float32], top: int, threads: int = 2) -> Candidates:
    """Compare every row of many matrices with every query, exactly, and keep the best of each group of rows.

    Args:
        matrices: (T, D) unit-norm rows in 16 bits, in memory or on disk.
        queries: (Q, D) unit norm.
        top: how many groups of `GROUP` neighbouring rows are kept for each query.
        threads: that share the work.
    """
    jobs = [(number, start) for number, each in enumerate(matrices) for start in range(0, len(each), _ROWS)]
    shares = [jobs[part::threads] for part in range(threads)]
    asked = torch.from_numpy(np.ascontiguousarray(queries, np.float32))
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda share: _scan(matrices, share, asked, top), shares))
    merged = Candidates([], [], [])
    for query in range(len(queries)):
        similarity = np.concatenate([part.similarity[query] for part in found])
        best = np.argsort(-similarity, kind="stable")[:top]
        merged.similarity.append(similarity[best])
        merged.matrix.append(np.concatenate([part.matrix[query] for part in found])[best])
        merged.row.append(np.concatenate([part.row[query] for part in found])[best])
    return merged


@torch.inference_mode()
def _scan(matrices: Sequence[Half], jobs: Sequence[tuple[int, int]], queries: torch.Tensor, top: int) -> Candidates:
    count = len(queries)
    kept: list[list[tuple[NDArray[np.float32], int, NDArray[np.int64]]]] = [[] for _ in range(count)]
    least, held = np.full(count, -np.inf, np.float32), np.zeros(count, np.int64)
    buffer = torch.empty(_ROWS, queries.shape[1])
    for number, start in jobs:
        part = torch.from_numpy(np.asarray(matrices[number][start : start + _ROWS]))
        block = buffer[: len(part)].copy_(part)
        similar = torch.mm(queries, block.T)
        whole = len(part) // GROUP * GROUP
        values = similar[:, :whole].view(count, -1, GROUP).amax(dim=2)
        if whole < len(part):
            values = torch.cat([values, similar[:, whole:].amax(dim=1, keepdim=True)], dim=1)
        for query in np.flatnonzero(values.amax(dim=1).numpy() > least):
            own, curve = values[query].numpy(), similar[query].numpy()
            high = own > least[query]
            firsts = GROUP * np.flatnonzero(high)
            rows = np.array([first + int(curve[first : first + GROUP].argmax()) for first in firsts], np.int64)
            kept[query].append((own[high], number, rows + start))
            held[query] += int(high.sum())
            if held[query] > 4 * top:
                kept[query], least[query] = _trim(kept[query], top)
                held[query] = top
    return _joined(kept, top)


def _trim(
    kept: list[tuple[NDArray[np.float32], int, NDArray[np.int64]]], top: int
) -> tuple[list[tuple[NDArray[np.float32], int, NDArray[np.int64]]], np.float32]:
    values = np.concatenate([each[0] for each in kept])
    least = np.partition(values, len(values) - top)[len(values) - top]
    high = [(value >= least, value, number, row) for value, number, row in kept]
    return [(value[keep], number, row[keep]) for keep, value, number, row in high if keep.any()], least


def _joined(kept: list[list[tuple[NDArray[np.float32], int, NDArray[np.int64]]]], top: int) -> Candidates:
    found = Candidates([], [], [])
    for own in kept:
        values = np.concatenate([np.empty(0, np.float32), *(each[0] for each in own)])
        best = np.argsort(-values, kind="stable")[:top]
        numbers = [np.full(len(each[0]), each[1], np.int64) for each in own]
        found.similarity.append(values[best])
        found.matrix.append(np.concatenate([np.empty(0, np.int64), *numbers])[best])
        found.row.append(np.concatenate([np.empty(0, np.int64), *(each[2] for each in own)])[best])
    return found


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
    if archive.encoder != spotter.encoder.hash:
        raise EncoderMismatchError(
            f"the archive {archive.folder} was made by the encoder {archive.encoder}, not by '{spotter.encoder.name}' "
            f"({spotter.encoder.hash}). Name that encoder with --encoder"
        )
    found = scan([track.embeddings for track in archive.tracks], gallery.embeddings, _SPARE * top, threads)
    spottings: list[Spotting] = []
    for done, rows in enumerate(gallery.words.values()):
        progress(done, len(gallery.words))
        places = [each for row in rows.tolist() for each in _placed(spotter, archive, gallery, row, found)]
        places.sort(key=lambda each: -each.score)
        spottings += _suppressed(places)[:top]
    progress(len(gallery.words), len(gallery.words))
    return sorted(spottings, key=lambda each: -each.score)


def _placed(spotter: Spotter, archive: Archive, gallery: Gallery, row: int, found: Candidates) -> Iterator[Spotting]:
    """The candidates of one query, aligned where there are frame codes."""
    exemplar, mirrored = gallery.exemplar(row)
    columns = found.matrix[row].tolist(), found.row[row].tolist()
    for number, window in zip(*columns, strict=True):
        track = archive.tracks[number]
        time, start, end, score = _aligned(spotter, track, gallery, row, window)
        yield Spotting(
            word=exemplar.word,
            video=track.video,
            time=round(time, 3),
            start=round(start, 3),
            end=round(end, 3),
            score=round(score, 6),
            exemplar=exemplar.id,
            variant=exemplar.variant,
            mirrored=mirrored,
            licence=exemplar.licence,
            consent=exemplar.consent,
        )


def _aligned(
    spotter: Spotter, track: ArchivedTrack, gallery: Gallery, row: int, window: int
) -> tuple[float, float, float, float]:
    """Time, start, end and score of the best place around a window."""
    grid = track.grid
    if gallery.codes is not None and track.codes is not None:
        centre, reach = int(grid.starts[window]) + grid.window // 2, round(_AROUND * grid.fps)
        first, last = max(0, centre - reach), min(len(track.codes), centre + reach)
        times = grid.origin + np.arange(first, last) / grid.fps
        codes = np.asarray(track.codes[first:last], np.float32)
        aligning = AlignmentMatcher(codes, times, gallery.codes[[row]], alignment_scale(spotter.encoder))
        curve = aligning.scores([0])[0]
        best = int(curve.argmax())
        starts, ends = aligning.spans(curve, np.array([0]), np.array([best]))
        return float(times[best]), float(starts[0]), float(ends[0]), float(curve[best])
    first, last = max(0, window - 2 * GROUP), min(grid.count, window + 2 * GROUP)
    windows = Windows(grid.times[first:last], np.asarray(track.embeddings[first:last], np.float32))
    comparing = EmbeddingMatcher(windows, gallery.embeddings[[row]])
    curve = comparing.scores([0])[0]
    best = int(curve.argmax())
    starts, ends = comparing.spans(curve, np.array([0]), np.array([best]))
    return float(windows.times[best]), float(starts[0]), float(ends[0]), float(curve[best])


def _suppressed(places: Sequence[Spotting]) -> list[Spotting]:
    """Places, the best first, without those that are nearer than `_APART` to a better one of the same video."""
    kept: list[Spotting] = []
    for video in dict.fromkeys(each.video for each in places):
        own = [each for each in places if each.video == video]
        times = np.array([each.time for each in own])
        kept += [own[place] for place in suppress(times - _APART / 2, times + _APART / 2, 0.0)]
    return sorted(kept, key=lambda each: -each.score)
