"""Answers that are waited for, worked out on one thread.

Such an answer is made of hundreds of small matrix products. Shared out to all cores, each of them waits for the slowest
thread, and on a machine that is busy, with the browser and its camera to begin with, they take many times as long as on
one thread. BLAS has one setting for the whole process, which belongs to the thread that made it: so all such answers
are worked out by the same thread, one after the other.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

T = TypeVar("T")

# PyTorch chooses a number of threads when a thread first uses it: that must be over before it is limited.
_worker = ThreadPoolExecutor(1, "signspot-answers", torch.get_num_threads)


def on_one_thread(work: Callable[[], T]) -> T:
    """Work on the one thread, whose matrix products are not shared out; nor are those of others meanwhile."""
    return _worker.submit(_limited, work).result()


def _limited(work: Callable[[], T]) -> T:
    with threadpool_limits(1):  # of BLAS, and of OpenMP, by which PyTorch shares out; the latter for this thread alone
        return work()
