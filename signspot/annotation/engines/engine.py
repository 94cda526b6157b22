"""What every engine does: work on items at once, notice dead workers, try again, and name what failed."""

import logging
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar

from signspot.errors import (
    CheckpointError,
    EncoderMismatchError,
    EngineError,
    MissingExtraError,
    OutputError,
    SignspotError,
)

Item = TypeVar("Item")
Made = TypeVar("Made")

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # how often an item is tried whose worker dies
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
_FATAL = (OutputError, MissingExtraError, CheckpointError, EncoderMismatchError)  # every other item would fail, too


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item could not be worked on."""

    message: str
    fatal: bool = False  # it is no fault of the item
    full: bool = False  # nothing can be written

    def raise_if_fatal(self) -> None:
        """Stop the run where going on makes no sense."""
        if self.full:
            raise OutputError(self.message)
        if self.fatal:
            raise EngineError(self.message)


class Engine(Protocol):
    """Workers; started when it is entered, ended when it is left."""

    def run(self, work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[tuple[Item, Made | Failure]]:
        """Do `work` on every item, each with its result as it becomes ready, in any order.

        Items are taken one by one as workers become free. A worker that dies is replaced, and its item tried again.

        Args:
            work: importable by its name wherever workers run, or a `functools.partial` of such.
            items: that can be sent to another process.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def attempt(work: Callable[[Item], Made], item: Item) -> Made | Failure:
    """Do the work in a worker; what goes wrong comes back as a value."""
    try:
        return work(item)
    except SignspotError as error:
        return Failure(str(error), isinstance(error, _FATAL), isinstance(error, OutputError))
    except MemoryError:
        return Failure("there is not enough memory for it. Use fewer workers.")
    except Exception as error:  # our own mistake: one video may not end a thousand hours
        logger.debug("%s", traceback.format_exc())
        return Failure(f"an unexpected {type(error).__name__}: {error}")


def died(times: int, how: str) -> Failure:
    """The failure of an item on which workers died."""
    return Failure(f"its worker died {times} times ({how}). Is there enough memory?")


@contextmanager
def environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Environment for a process that is started inside; libraries read it when they are first loaded."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
