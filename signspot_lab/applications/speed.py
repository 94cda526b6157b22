"""The search of an archive measured: seconds for so many windows, beside reading memory alone and beside faiss-flat."""

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.archive import Archive, open_archive, scan_archive
from signspot.embedding.tracks import write_track
from signspot.spotting.spotter import Spotter
from signspot.timeline import Grid, Track
from signspot_lab.applications.signs import film, make_words
from signspot_world.body.motion import continuous
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.estimator import observe
from signspot_world.camera.projection import project
from signspot_world.knobs import named_rng

_EACH = 100_000  # windows of one track
_SIGNED = 300  # signs in the footage that everything is mixed of
_FAISS = 500_000  # windows that faiss holds, in 32 bits; its time grows with their number
_TOP = 160  # groups of windows per query: what 20 places of a word take


def _best(work: Callable[[], object], times: int = 3) -> tuple[float, float]:
    """Seconds and processor seconds of the quickest of some runs; the second hardly depends on what else runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return min(each[0] for each in found), min(each[1] for each in found)


def _windows(spotter: Spotter, seed: int, signed: int) -> torch.Tensor:
    """(T, D) windows of signing of a world by three signers."""
    lexicon, random = make_words(100, seed), named_rng(seed, "archive")
    tracks = []
    for number in range(3):
        signer = make_signer(f"archive {number}", seed, Role.TEST)
        chosen = random.choice(list(lexicon), signed // 3)
        motion, _ = continuous([lexicon[str(word)].variants[0] for word in chosen], signer, random)
        tracks.append(spotter.embed(observe(project(motion, signer.camera), random)).embeddings)
    return torch.from_numpy(np.concatenate(tracks)).float()


def _write_archive(spotter: Spotter, folder: Path, windows: int, seed: int, signed: int) -> None:
    """Tracks of so many windows, each a mixture of two windows of a world's signing, in the order of time."""
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


def measure_scan(
    spotter: Spotter, windows: int, seed: int = 52, queries: int = 8, threads: int = 2, signed: int = _SIGNED
) -> list[tuple[str, str]]:
    """Rows of a table about one search of an archive on disk, and about faiss where it is installed."""
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
        reading = _best(lambda: _read(archive, threads))
        plain = _best(lambda: scan_archive(archive, asked, _TOP, threads), 2)
        sketched = _best(lambda: scan_archive(archive, asked, _TOP, threads, cache))
        kept = sum(path.stat().st_size for path in cache.rglob("*.safetensors")) / 1e9
        compared = _faiss(archive, asked, windows, threads)
    found = [
        (
            "windows",
            f"{archive.windows:,} of {asked.shape[1]} numbers in {len(archive.tracks)} tracks, {gigabytes:.2f} GB",
        ),
        ("queries at once, threads", f"{queries}, {threads}"),
        ("sketches, made by the first search", f"{kept:.2f} GB, {first:.1f} processor seconds"),
    ]
    for number, name in enumerate(("seconds", "processor seconds")):
        found.append((f"reading all windows, {name}", f"{reading[number]:.3f}, {gigabytes / reading[number]:.1f} GB/s"))
        for what, taken in (("every window compared", plain), ("by sketches", sketched)):
            share = f"{reading[number] / taken[number]:.0%} of the pace of reading all windows"
            found.append((f"{what}, {name}", f"{taken[number]:.3f}, {share}"))
    return [*found, ("faiss-flat", compared)]


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
    taken = [each * windows / index.ntotal for each in _best(lambda: index.search(asked, _TOP))]
    return f"{taken[0]:.3f} seconds, {taken[1]:.3f} processor seconds, by {index.ntotal:,} windows in 32 bits"
