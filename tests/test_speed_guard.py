"""A guard against slower code: what is quick stays within a multiple of the matrix products that it cannot do without.

Ratios of processor times in one process, the least of several rounds: other work on the machine slows both alike.
Each limit is about 1.6 times the ratio that was measured when it was set, on a machine with eight times as much to do
as it has cores, and a test sees it fail for work that is done three times. The ratio still differs with the processor
and with the threads of its matrix products, so these tests are among the long ones.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from signspot.embedding.exemplars import Gallery
from signspot.embedding.refine import Windows
from signspot.spotting.matching import EmbeddingMatcher, path_costs, warping_costs
from signspot.spotting.peaks import curve_blocks
from signspot.types import Exemplar

pytestmark = pytest.mark.long

_ROUNDS = 5
_FRAMES, _SIZE, _SIGN = 20_000, 128, 16

Work = Callable[[], Any]


@dataclass(frozen=True)
class Guarded:
    """Work, the products in it, and how many times as long as these it may take."""

    work: Work
    products: Work
    most: float


def seconds(*works: Work) -> list[float]:
    """The least processor time of each, measured in turns."""
    least = [float("inf")] * len(works)
    for _ in range(_ROUNDS):
        for number, work in enumerate(works):
            began = time.process_time()
            work()
            least[number] = min(least[number], time.process_time() - began)
    return least


def codes(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def products(rows: np.ndarray, columns: np.ndarray) -> Work:
    """All products of (N, C) and (T, C), in parts that stay near the processor, as the work has them."""

    def run() -> None:
        for start in range(0, len(columns), 2048):
            _ = rows @ columns[start : start + 2048].T

    return run


def alignment() -> Guarded:
    track, exemplars = codes(_FRAMES, _SIZE), codes(40, _SIGN, _SIZE)
    rows = exemplars.reshape(-1, _SIZE)
    return Guarded(lambda: path_costs(track, exemplars), products(rows, track), 3.5)


def warping() -> Guarded:
    signs, exemplars = codes(100, _SIGN, _SIZE), codes(200, _SIGN, _SIZE)
    some, others = signs.reshape(-1, _SIZE), exemplars.reshape(-1, _SIZE)
    return Guarded(lambda: warping_costs(signs, exemplars), products(some, others), 3.5)


def embeddings() -> Guarded:
    windows, rows = codes(_FRAMES, 256), codes(600, 256)
    windows /= np.linalg.norm(windows, axis=1, keepdims=True)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    gallery = Gallery.of([Exemplar(f"word {number // 2}", str(number)) for number in range(600)], rows)
    times = np.arange(_FRAMES) / 25

    def search() -> None:
        matcher = EmbeddingMatcher(Windows(times, windows), rows)
        for block in curve_blocks(matcher, gallery, lasting=False):
            block.peaks([0.9] * len(block.words), 0.3)

    return Guarded(search, products(rows, windows), 2.2)


GUARDED = {"alignment": alignment, "warping": warping, "embeddings": embeddings}


@pytest.mark.parametrize("name", GUARDED)
def test_work_stays_within_a_multiple_of_its_matrix_products(name: str) -> None:
    guarded = GUARDED[name]()
    work, products = seconds(guarded.work, guarded.products)
    print(f"{name}: {work / products:.2f} times its products")
    assert work <= guarded.most * products, f"{name} takes {work / products:.2f} times its matrix products"


@pytest.mark.parametrize("name", GUARDED)
def test_the_guard_sees_work_that_is_done_three_times(name: str) -> None:
    guarded = GUARDED[name]()

    def thrice() -> None:
        for _ in range(3):
            guarded.work()

    work, alone = seconds(thrice, guarded.products)
    print(f"{name}, done three times: {work / alone:.2f} times its products")
    assert work > guarded.most * alone
