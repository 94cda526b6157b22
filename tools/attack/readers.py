"""Mutated files against every reader: only a SignspotError may come out, within five seconds and a gigabyte.

What a reader accepts must be sane, too: times within a video, scores in [0, 1], text that can be written again.

Example: python -m tools.attack.readers vtt 17 > input.vtt   (the 17th input of a reader, to look at it)
"""

import multiprocessing
import random
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn

from signspot.errors import SignspotError
from signspot.io.control_characters import LONGEST, escape_control_characters
from tools.attack import AttackOptions, Outcome
from tools.attack.mutations import mutate
from tools.attack.targets import Target, targets
from tools.attack.trials import LONGEST_WAIT, SECONDS, Meter, limit_memory, over


class _TooSlowError(BaseException):
    """An input took too long; no reader may catch it by accident."""


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Attack every reader in another process, which a crash may end; that is told, too."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        pool: ProcessPoolExecutor | None = None
        for target in targets():
            if options.only and target.name not in options.only:
                continue
            pool = pool or stack.enter_context(ProcessPoolExecutor(1, mp_context=context))
            own = replace(options, folder=options.folder / target.name.replace(" ", "-"))
            try:
                yield pool.submit(attack_reader, target.name, own, limited=True).result()
            except BrokenProcessPool:
                pool, kept = None, Path(f"crash-{own.folder.name}")
                kept.write_bytes((own.folder / target.file).read_bytes())
                yield Outcome(target.name, 0, [f"the interpreter crashed; the input is kept as {kept}"])


def attack_reader(name: str, options: AttackOptions, *, limited: bool = False) -> Outcome:
    """Attack one reader in this process.

    Args:
        name: of the reader.
        options: where, how often, and with which seed.
        limited: give the process no more than a gigabyte beyond what it has; for processes of their own.
    """
    target = next(each for each in targets() if each.name == name)
    path = options.folder / target.file
    path.parent.mkdir(parents=True, exist_ok=True)
    seeds = target.prepare(options.folder)
    outcome, accepted, most, found, first = Outcome(name), 0, 0, Counter[str](), dict[str, int]()
    for seed in seeds if target.kind != "pickle" else ():
        path.write_bytes(seed)
        _warm_up(target, path)
    if limited:
        limit_memory()
    meter = Meter()
    for number in range(options.count):
        path.write_bytes(_input(target, seeds, options.seed, number))
        meter.start()
        problem = _try(target, path)
        seconds, taken = meter.read()
        outcome.worst_seconds, most = max(outcome.worst_seconds, seconds), max(most, taken)
        accepted += problem is None
        problem = over(seconds, taken) or problem
        if problem:
            found[problem] += 1
            first.setdefault(problem, number)
        outcome.tried += 1
    outcome.failures = [f"{problem} ({count} times, first {first[problem]})" for problem, count in found.items()]
    outcome.remarks = f"{accepted:,} accepted; at most {most / 1e6:,.0f} MB"
    return outcome


def _input(target: Target, seeds: list[bytes], seed: int, number: int) -> bytes:
    return mutate(seeds, target.kind, random.Random(f"{seed} {target.name} {number}"))


def _warm_up(target: Target, path: Path) -> None:
    """Read a seed, so that what is loaded once counts for no input. Most seeds are valid, a few are odd on purpose."""
    with suppress(SignspotError):
        target.read(path)


def _try(target: Target, path: Path) -> str | None:
    """Read one input: "" if it was refused, None if it was accepted, else what went wrong."""
    try:
        with _deadline(), warnings.catch_warnings():
            warnings.simplefilter("error")
            target.read(path)
    except SignspotError as error:
        text = str(error)
        return f"a message of {len(text):,} characters or several lines" if _is_unfit(text) else ""
    except _TooSlowError as error:
        return f"too slow, at {_place(error)}"
    except Exception as error:
        return f"{type(error).__name__} at {_place(error)}"
    return None


def _is_unfit(text: str) -> bool:
    return len(text) > LONGEST or text != escape_control_characters(text, bidirectional=True)


@contextmanager
def _deadline() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> NoReturn:
        raise _TooSlowError

    before = [signal.signal(kind, late) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor: the machine may have other work
    signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)  # and no reader may wait for long
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(kind, handler)


def _place(error: BaseException) -> str:
    """The innermost line of our own that the error passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/signspot" in frame.filename]
    frames = [frame for frame in frames if "/tools/" not in frame.filename] or frames
    if not frames:
        frames = list(traceback.extract_tb(error.__traceback__))
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}"


def main() -> None:
    """Write one input of a reader to stdout."""
    name, number, seed = (*sys.argv[1:], "0")[:3]
    target = next(each for each in targets() if each.name == name)
    with TemporaryDirectory() as folder:
        (Path(folder) / target.file).parent.mkdir(parents=True, exist_ok=True)
        sys.stdout.buffer.write(_input(target, target.prepare(Path(folder)), int(seed), int(number)))


if __name__ == "__main__":
    main()
