"""The archive's scan measured: windows per second, as a share of the memory bandwidth of the same run."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from signspot.applications.archive import scan

_BLOCK = 100_000


def _best(work: Callable[[], object], times: int = 3) -> tuple[float, float]:
    """Seconds and processor seconds of the quickest of some runs; the second hardly depends on what else runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return min(each[0] for each in found), min(each[1] for each in found)


def measure_scan(windows: int, queries: int = 8, dimension: int = 256, threads: int = 2) -> list[tuple[str, str]]:
    """Rows of a table about one scan of random windows in memory, and about faiss where it is installed."""
    random = np.random.default_rng(0)
    rows = np.empty((windows, dimension), np.float16)
    for start in range(0, windows, _BLOCK):
        part = random.standard_normal((min(_BLOCK, windows - start), dimension), np.float32)
        rows[start : start + _BLOCK] = part / np.linalg.norm(part, axis=1, keepdims=True)
    asked = rows[:queries].astype(np.float32)
    whole = torch.from_numpy(rows).view(torch.int64)
    parts = np.linspace(0, windows, threads + 1).astype(int)

    def read() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: whole[parts[part] : parts[part + 1]].sum(), range(threads)))

    gigabytes = rows.nbytes / 1e9
    reading, scanning = _best(read), _best(lambda: scan([rows], asked, 160, threads))
    found = [
        ("windows", f"{windows:,} of {dimension} numbers, {gigabytes:.2f} GB"),
        ("queries at once, threads", f"{queries}, {threads}"),
    ]
    for name, plain, whole_scan in zip(("seconds", "processor seconds"), reading, scanning, strict=True):
        pace = f"{gigabytes / whole_scan:.2f} GB/s, {plain / whole_scan:.0%} of reading"
        found += [
            (f"reading alone, {name}", f"{plain:.3f}, {gigabytes / plain:.2f} GB/s"),
            (f"scan, {name}", f"{whole_scan:.3f}, {pace}"),
            (f"10 million windows at that pace, {name}", f"{whole_scan * 1e7 / windows:.2f}"),
        ]
    try:
        import faiss
    except ImportError:
        return [*found, ("faiss-flat", "not installed")]
    index = faiss.IndexFlatIP(dimension)
    index.add(rows.astype(np.float32))
    return [*found, ("faiss-flat", f"{_best(lambda: index.search(asked, 160))[1]:.3f} processor seconds")]
