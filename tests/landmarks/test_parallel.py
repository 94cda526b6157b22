import math

import pytest

from signspot.errors import LandmarksError
from signspot.landmarks.parallel import run_each

DIES = "__import__('os')._exit(3)"


def test_every_item_comes_back_once():
    results = dict(run_each(math.sqrt, [1, 4, 9, 16, 25], 2))
    assert results == {1: 1, 4: 2, 9: 3, 16: 4, 25: 5}


def test_an_item_that_kills_its_worker_does_not_stop_the_rest():
    results = dict(run_each(eval, ["1 + 1", DIES, "2 + 2", "3 + 3"], 2))
    assert isinstance(results.pop(DIES), LandmarksError)
    assert results == {"1 + 1": 2, "2 + 2": 4, "3 + 3": 6}


def test_a_mistake_of_ours_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(run_each(eval, ["1 / 0", "1"], 2))


def test_leaving_early_ends_the_workers():
    results = run_each(eval, [str(number) for number in range(50)], 2)
    assert next(results)[1] in (0, 1)
    results.close()
