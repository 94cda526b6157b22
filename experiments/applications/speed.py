"""The search of an archive measured: seconds for so many windows, beside reading memory alone and beside faiss-flat."""

import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.applications.signs import film, make_words
from signspot.applications.archive import Archive, open_archive, scan_archive
from signspot.embedding.tracks import write_track
from signspot.spotting.spotter import Spotter
from signspot.types import Grid, Track
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng

_EACH = 100_000  # windows of one track
_SIGNED = 300  # signs in the footage that everything is mixed of
_FAISS = 500_000  # windows that faiss holds, in 32 bits; its time grows with their number
_TOP = 160  # groups of windows per query: what 20 places of a word take


@dataclass(frozen=True, slots=True)
class Taken:
    """Time that some work took at least."""

    seconds: float = np.inf  # by the clock
    processor: float = np.inf  # of all threads; hardly depends on what else runs

    def least(self, other: "Taken") -> "Taken":
        """The least of both."""
        return Taken(min(self.seconds, other.seconds), min(self.processor, other.processor))


@dataclass(frozen=True, slots=True)
class ScanTimes:
    """Measurements of the search of one archive."""

    archive: Archive
    gigabytes: float  # of windows
    sketched: float  # gigabytes of sketches
    first: float  # processor seconds of the first search, which makes them
    taken: Mapping[str, Taken]  # reading all windows, every window compared, by sketches
    faiss: str


def _best(works: Mapping[str, Callable[[], object]], times: int = 5) -> dict[str, Taken]:
    """The time of the quickest of some runs of each, in turns."""
    found = dict.fromkeys(works, Taken())
    for _ in range(times):
        for name, work in works.items():
            began = time.perf_counter(), time.process_time()
            work()
            found[name] = found[name].least(Taken(time.perf_counter() - began[0], time.process_time() - began[1]))
    return found


def _windows(spotter: Spotter, seed: int, signed: int) -> torch.Tensor:
    """(T, D) windows of signing of a synthetic corpus by three signers."""
    lexicon, random = make_words(100, seed), named_rng(seed, "archive")
    tracks = []
    for number in range(3):
        signer = make_signer(f"archive {number}", seed, Role.TEST)
        chosen = random.choice(list(lexicon), signed // 3)
        motion, _ = continuous([lexicon[str(word)].variants[0] for word in chosen], signer, random)
        tracks.append(spotter.embed(observe(project(motion, signer.camera), random)).embeddings)
    return torch.from_numpy(np.concatenate(tracks)).float()


def _write_archive(spotter: Spotter, folder: Path, windows: int, seed: int, signed: int) -> None:
    """Tracks of so many windows, each a mixture of two windows of synthetic signing, in the order of time."""
    seen, random = _windows(spotter, seed, signed), np.random.default_rng(seed)
    for start in range(0, windows, _EACH):
        count = min(_EACH, windows - start)
        parts: list[NDArray[np.float16]] = []
        while sum(map(len, parts)) < count:
            mixed = seen + float(random.uniform(0.3, 0.8)) * seen.roll(int(random.integers(len(seen))), 0)
            parts.append(torch.nn.functional.normalize(mixed, dim=1).half().numpy())
        contract = spotter.encoder.contract
        grid = Grid(contract.fps, contract.frames, 1, count + contract.frames - 1)
        rows = np.concatenate(parts)[:count]
        write_track(Track(rows, grid, spotter.encoder.hash, f"{start}"), folder / f"{start:09d}.safetensors")


def _read(archive: Archive, threads: int) -> None:
    parts = [torch.from_numpy(np.asarray(track.embeddings)).view(torch.int64) for track in archive.tracks]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda number: [each.sum() for each in parts[number::threads]], range(threads)))


def _asked(spotter: Spotter, queries: int, seed: int) -> NDArray[np.float32]:
    lexicon = make_words(100, seed)
    clips = [film(lexicon[word].variants[0], seed, word, "asked") for word in list(lexicon)[:queries]]
    return np.stack([spotter.embed_exemplar(clip) for clip in clips])


def time_scan(
    spotter: Spotter, windows: int, seed: int = 52, queries: int = 8, threads: int = 2, signed: int = _SIGNED
) -> ScanTimes:
    """Time the search of an archive on disk, and faiss where it is installed.

    Args:
        spotter: whose encoder makes windows and queries.
        windows: in the archive.
        seed: of all that is random.
        queries: at once.
        threads: of searching and of reading.
        signed: signs in the footage that everything is mixed of.
    """
    torch.set_num_threads(1)  # threads are those of the search, and of reading
    with tempfile.TemporaryDirectory() as place:
        folder, cache = Path(place, "archive"), Path(place, "cache")
        folder.mkdir()
        _write_archive(spotter, folder, windows, seed, signed)
        archive, asked = open_archive(folder), _asked(spotter, queries, seed)
        gigabytes = sum(track.embeddings.nbytes for track in archive.tracks) / 1e9
        began = time.process_time()
        scan_archive(archive, asked, _TOP, threads, cache)  # makes the sketches
        first = time.process_time() - began
        works = {
            "reading all windows": lambda: _read(archive, threads),
            "by sketches": lambda: scan_archive(archive, asked, _TOP, threads, cache),
        }
        taken = _best(works)
        taken |= _best({"every window compared": lambda: scan_archive(archive, asked, _TOP, threads)}, 2)
        kept = sum(path.stat().st_size for path in cache.rglob("*.safetensors")) / 1e9
        return ScanTimes(archive, gigabytes, kept, first, taken, _faiss(archive, asked, windows, threads))


def measure_scan(
    spotter: Spotter, windows: int, seed: int = 52, queries: int = 8, threads: int = 2, signed: int = _SIGNED
) -> list[tuple[str, str]]:
    """Rows of a table of what `time_scan` measures."""
    times = time_scan(spotter, windows, seed, queries, threads, signed)
    tracks, dimension = len(times.archive.tracks), spotter.encoder.contract.dimension
    size = f"{times.archive.windows:,} of {dimension} numbers in {tracks} tracks, {times.gigabytes:.2f} GB"
    found = [
        ("windows", size),
        ("queries at once, threads", f"{queries}, {threads}"),
        ("sketches, made by the first search", f"{times.sketched:.2f} GB, {times.first:.1f} processor seconds"),
    ]
    for unit in ("seconds", "processor seconds"):
        took_of = {name: each.seconds if unit == "seconds" else each.processor for name, each in times.taken.items()}
        for what in ("reading all windows", "every window compared", "by sketches"):
            took, reading = took_of[what], took_of["reading all windows"]
            share = f"{reading / took:.0%} of the pace of reading all windows"
            pace = f"{times.gigabytes / took:.1f} GB/s" if what == "reading all windows" else share
            found.append((f"{what}, {unit}", f"{took:.3f}, {pace}"))
    return [*found, ("faiss-flat", times.faiss)]


def _faiss(archive: Archive, asked: NDArray[np.float32], windows: int, threads: int) -> str:
    try:
        import faiss
    except ImportError:
        return "not installed"
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(asked.shape[1])
    for track in archive.tracks:
        if index.ntotal < _FAISS:
            index.add(np.asarray(track.embeddings, np.float32))
    taken, more = _best({"faiss": lambda: index.search(asked, _TOP)}, 3)["faiss"], windows / index.ntotal
    return (
        f"{taken.seconds * more:.3f} seconds, {taken.processor * more:.3f} processor seconds, by {index.ntotal:,} "
        "windows in 32 bits"
    )
