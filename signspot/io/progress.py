"""Progress of long work: the library calls, the command line draws."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Progress(Protocol):
    """Called with how much is done and, where it is known, how much there is."""

    def __call__(self, done: int, total: int | None) -> None:
        """Report progress; raising here stops the work."""


def silent(done: int, total: int | None) -> None:
    """Ignore progress."""


Stage = Callable[[str], AbstractContextManager[Progress]]  # a title → the progress callback of that stage


def quiet(title: str) -> AbstractContextManager[Progress]:
    """A stage without a progress bar."""
    return nullcontext(silent)
