"""Time of searching an archive on disk, beside reading its windows once and comparing every one of them.

    python -m experiments.applications.archive_search --windows 10000000

Windows are mixtures of windows of synthetic signing, in the order of time. Times are the least of some runs.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.applications.synthetic_signs import make_words, parser_of, perform
from experiments.markdown import print_table
from signspot.applications.archive_search import Archive, coarse_search, open_archive
from signspot.embedding.tracks import write_track
from signspot.spotting.spotter import Spotter, load
from signspot.types import Grid, Track
from signspot_synthetic.body.motion import continuous
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.observation import observe, project
from signspot_synthetic.random_streams import named_rng

_TRACK = 100_000  # windows of one track
_TOP = 160  # groups of windows per query: as a search asks for


def signing_windows(spotter: Spotter, seed: int, signs: int) -> torch.Tensor:
    """(T, D) windows of synthetic signing by three signers."""
    lexicon, random, tracks = make_words(100, seed), named_rng(seed, "archive"), []
    for number in range(3):
        signer = make_signer(f"archive {number}", seed, Role.TEST)
        words = random.choice(list(lexicon), signs // 3)
        motion, _ = continuous([lexicon[str(word)].variants[0] for word in words], signer, random)
        tracks.append(spotter.embed(observe(project(motion, signer.camera), random)).embeddings)
    return torch.from_numpy(np.concatenate(tracks)).float()


def write_archive(spotter: Spotter, folder: Path, windows: int, seed: int, signs: int = 300) -> Archive:
    """Write tracks of so many windows, each a mixture of two windows of signing."""
    signing, random = signing_windows(spotter, seed, signs), np.random.default_rng(seed)
    contract = spotter.encoder.contract
    folder.mkdir(parents=True)
    for start in range(0, windows, _TRACK):
        count, parts = min(_TRACK, windows - start), list[NDArray[np.float16]]()
        while sum(map(len, parts)) < count:
            mixed = signing + float(random.uniform(0.3, 0.8)) * signing.roll(int(random.integers(len(signing))), 0)
            parts.append(torch.nn.functional.normalize(mixed, dim=1).half().numpy())
        grid = Grid(contract.fps, contract.frames, 1, count + contract.frames - 1)
        track = Track(np.concatenate(parts)[:count], grid, spotter.encoder.hash, f"{start}")
        write_track(track, folder / f"{start:09d}.safetensors")
    return open_archive(folder)


def least_time(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Least seconds by the clock, and of all threads on the processor."""
    times = []
    for _ in range(runs):
        began = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return min(clock for clock, _ in times), min(processor for _, processor in times)


def search_times(
    spotter: Spotter, archive: Archive, cache: Path, seed: int, queries: int = 8, threads: int = 2
) -> dict[str, tuple[float, float]]:
    """Least seconds, by the clock and of the processor, of each way to search, and of reading all windows."""
    torch.set_num_threads(1)  # threads are those of the search, and of reading
    lexicon = make_words(100, seed)
    clips = [perform(lexicon[word].variants[0], seed, word, "query") for word in list(lexicon)[:queries]]
    embeddings = np.stack([spotter.embed_exemplar(clip) for clip in clips])
    parts = [torch.from_numpy(np.asarray(track.embeddings)).view(torch.int64) for track in archive.tracks]

    def read() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda number: [part.sum() for part in parts[number::threads]], range(threads)))

    works: dict[str, tuple[Callable[[], object], int]] = {
        "first search, which makes the index": (lambda: coarse_search(archive, embeddings, _TOP, threads, cache), 1),
        "reading all windows": (read, 5),
        "by the index": (lambda: coarse_search(archive, embeddings, _TOP, threads, cache), 5),
        "every window compared": (lambda: coarse_search(archive, embeddings, _TOP, threads), 2),
    }
    return {name: least_time(work, runs) for name, (work, runs) in works.items()}


def time_rows(times: dict[str, tuple[float, float]]) -> Iterator[tuple[str, ...]]:
    """Rows: what, seconds, processor seconds, pace relative to reading all windows."""
    for name, (clock, processor) in times.items():
        yield name, f"{clock:.3f}", f"{processor:.3f}", f"{times['reading all windows'][0] / clock:.0%}"


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, words=100)
    parser.add_argument("--windows", type=int, default=2_000_000)
    args = parser.parse_args()
    spotter = load(args.encoder, cache=False)
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(spotter, Path(folder, "archive"), args.windows, args.seed)
        heads = (f"{archive.windows:,} windows", "seconds", "processor seconds", "pace of reading")
        print_table(heads, time_rows(search_times(spotter, archive, Path(folder, "cache"), args.seed)))


if __name__ == "__main__":
    main()
