"""Streams of random numbers, each named by what it decides."""

import hashlib

import numpy as np


def named_rng(seed: int, *names: str | int) -> np.random.Generator:
    """Give the stream of random numbers that belongs to `names` under `seed`.

    The same seed and names give the same stream in every process; other names give an independent one.
    """
    digest = hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([int(seed) & 0xFFFFFFFFFFFFFFFF, *words]))


def named_seed(seed: int, *names: str | int) -> int:
    """Give a whole number that belongs to `names` under `seed`."""
    return int(named_rng(seed, *names).integers(0, 2**62))
