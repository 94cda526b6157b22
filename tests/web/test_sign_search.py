"""Matrix products of an answer that is waited for stay on one thread; afterwards they have all of them again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from signspot.embedding.exemplars import Gallery
from signspot.errors import FormatError
from signspot.types import Exemplar, Grid, Track
from signspot.web import sign_search
from signspot.web.sign_search import _worker, on_one_thread


def threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture
def shared_out() -> Iterator[None]:
    """Matrix products on two threads, as they are on most machines; set by a thread that is no more."""
    before = threads()
    with ThreadPoolExecutor(1) as once:
        once.submit(threadpool_limits, 2, "blas").result()
    yield
    with ThreadPoolExecutor(1) as once:
        once.submit(threadpool_limits, max(before), "blas").result()


def test_matrix_products_are_not_shared_out(shared_out: None) -> None:
    assert threads() == {2}
    assert on_one_thread(threads) == {1}
    assert threads() == {2}, "afterwards they are again"


def test_nor_does_pytorch_share_out() -> None:
    before = _worker.submit(torch.get_num_threads).result()
    _worker.submit(torch.set_num_threads, 2).result()
    try:
        assert on_one_thread(torch.get_num_threads) == 1
        assert _worker.submit(torch.get_num_threads).result() == 2, "afterwards it does again"
    finally:
        _worker.submit(torch.set_num_threads, before).result()


def test_many_answers_at_once(shared_out: None) -> None:
    with ThreadPoolExecutor(8) as people:
        found = list(people.map(lambda number: on_one_thread(lambda: (number, threads())), range(40)))
    assert found == [(number, {1}) for number in range(40)]
    assert threads() == {2}


def test_mistakes_are_told_and_threads_come_back(shared_out: None) -> None:
    def fail() -> None:
        raise FormatError("x")

    with pytest.raises(FormatError, match="x"):
        on_one_thread(fail)
    assert threads() == {2}


def test_proposed_places_are_the_nearest_windows() -> None:
    chance = np.random.default_rng(5)
    grid = Grid(25.0, 16, 1, 1515)
    windows = chance.standard_normal((grid.count, 96)).astype(np.float16)
    sign = chance.standard_normal((2, 96)).astype(np.float32)
    gallery = Gallery.of([Exemplar(word="", id="x")], sign[None])
    found = sign_search.propose(Track(windows, grid, "e", "v"), gallery, "v")
    nearest = (windows[::2].astype(np.float32) @ sign.T).max(axis=1)
    assert found[0][0] == pytest.approx(nearest.max(), rel=1e-4)
    assert found[0][2] == pytest.approx(grid.times[::2][nearest.argmax()])
    times = np.sort([at for _, _, at in found])
    assert np.diff(times).min() >= 1.0 - 1e-9, "places are a second apart"
