"""Compare the speed of two versions of signspot: the same jobs, in turns, in processes of their own.

    git worktree add ../before v0.1
    python tools/compare_versions.py ../before . --jobs benchmarks/jobs.py

A file of jobs has one function per job. It takes a folder, makes ready what the job needs and returns the work: a
function without arguments, which may return a few words on what it did. Only the work is timed, in processor seconds,
child processes that it waited for included. Each version makes ready in a process of its own; then both work in turns;
then again, in new processes.
Work that is quick is done several times in a turn, and the fastest counts. The first line of a job's docstring names
its row. `prepare`, if there is one, fills the folder once, by the newer version, for both. Where names have changed
since the older version, `--old-jobs` names a file whose functions do the same jobs there.
"""

import argparse
import importlib.util
import inspect
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from types import ModuleType

_CHILD = "--child"  # the first argument of a process that works
_PREPARE = "prepare"
_TURN = 0.3  # processor seconds after which a turn ends, when the work that was begun is done

Job = Callable[[Path], Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Version:
    """One side of the comparison."""

    name: str  # old or new
    root: Path  # the checkout
    jobs: Path  # the file of its jobs


@dataclass(frozen=True, slots=True)
class Turn:
    """One measurement of one job."""

    seconds: float  # of the processor
    megabytes: float  # of memory, at most since the process began, of it or of one of its children
    told: str  # what the work returned


@dataclass(frozen=True, slots=True)
class Compared:
    """The turns of a job by both versions, in the order of time."""

    title: str
    old: Sequence[Turn]
    new: Sequence[Turn]

    def ratios(self) -> list[float]:
        """Of each turn of the newer version to its neighbour of the older one, sorted."""
        return sorted(new.seconds / old.seconds for old, new in zip(self.old, self.new, strict=True))

    def row(self) -> str:
        """A line of the table."""
        both, ratios = (self.old, self.new), self.ratios()
        told = list(dict.fromkeys(turns[-1].told for turns in both))
        fastest = [min(turn.seconds for turn in turns) for turns in both]
        cells = [
            f"{self.title} ({'; '.join(told)})" if any(told) else self.title,
            *(f"{seconds:.3g}" for seconds in fastest),
            f"{fastest[1] / fastest[0]:.2f}",
            f"{median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})",
            *(f"{max(turn.megabytes for turn in turns):.0f}" for turns in both),
        ]
        return f"| {' | '.join(cells)} |"


HEAD = (
    "| job | old, s | new, s | new ÷ old, fastest | median (range) of turns | old, MB | new, MB |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def compare(
    old: Version, new: Version, job: str, times: tuple[int, int], folder: Path
) -> tuple[list[Turn], list[Turn]]:
    """Turns of either version, one after the other; which one begins alternates.

    Args:
        old: one version.
        new: the other.
        job: its name.
        times: how often processes are started, since where a process happens to lie in memory decides some per cent
            of its speed; and how many turns both have then.
        folder: what the job works on.
    """
    made: dict[str, list[Turn]] = {"old": [], "new": []}
    for _ in range(times[0]):
        with child(old, f"job:{job}", folder) as first, child(new, f"job:{job}", folder) as second:
            for number in range(times[1]):
                pair = [("old", first), ("new", second)]
                for name, ask in pair if number % 2 == 0 else reversed(pair):
                    made[name].append(Turn(**json.loads(ask())))
    return made["old"], made["new"]


@contextmanager
def child(version: Version, task: str, folder: Path) -> Iterator[Callable[[], str]]:
    """A process of a version, with a cache of its own; gives a function that asks it for a line."""
    environment = os.environ | {
        "PYTHONPATH": str(version.root),
        "SIGNSPOT_CACHE": str(folder / f"cache-{version.name}"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(Path(__file__).resolve()), _CHILD, str(version.jobs), task, str(folder)]
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            cwd=version.root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        sent, received = process.stdin, process.stdout

        def read() -> str:
            line = received.readline()
            if not line:
                process.wait()
                errors.seek(0)
                raise SystemExit(f"{task} of {version.root} failed:\n{errors.read()}")
            return line

        def ask() -> str:
            print("go", file=sent, flush=True)
            return read()

        read()  # it is ready
        yield ask
        sent.close()


def load(path: Path) -> ModuleType:
    """A file of jobs as a module."""
    spec = importlib.util.spec_from_file_location("compared_jobs", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def jobs_in(module: ModuleType) -> dict[str, Job]:
    """The jobs of a file by name, in its order: the public functions that are defined there."""
    own = inspect.getmembers(module, lambda each: inspect.isfunction(each) and each.__module__ == module.__name__)
    public = [(name, each) for name, each in own if not name.startswith("_") and name != _PREPARE]
    return dict(sorted(public, key=lambda pair: pair[1].__code__.co_firstlineno))


def measure(work: Callable[[], object]) -> Turn:
    """One turn of work in this process."""
    best, spent = float("inf"), 0.0
    while spent < _TURN:
        before = processor_seconds()
        made = work()
        once = processor_seconds() - before
        best, spent = min(best, once), spent + max(once, 0.001)
    return Turn(best, peak_megabytes(), "" if made is None else str(made))


def processor_seconds() -> float:
    """Seconds of the processor that this process, and its children that have ended, have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_megabytes() -> float:
    """The most memory that this process, or one of its children that have ended, has held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def serve(jobs: Path, task: str, folder: Path) -> None:
    """In a child: make ready, then answer each line of the standard input with one of the standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    sys.path.pop(0)  # the folder of this file; that of the version comes next
    module = load(jobs)
    found = jobs_in(module)
    if task == _PREPARE:
        getattr(module, _PREPARE, lambda folder: None)(folder)
    work = found[task.removeprefix("job:")](folder) if task.startswith("job:") else None
    print("ready", file=answers, flush=True)
    for _ in sys.stdin:
        if work is None:
            made: dict[str, object] = {name: inspect.getdoc(job) or name for name, job in found.items()}
        else:
            turn = measure(work)
            made = {"seconds": turn.seconds, "megabytes": turn.megabytes, "told": turn.told}
        print(json.dumps(made), file=answers, flush=True)


def titles_of(version: Version, folder: Path) -> dict[str, str]:
    """Name and title of each job of a version."""
    with child(version, "list", folder) as ask:
        return {name: text.splitlines()[0].rstrip(".") for name, text in json.loads(ask()).items()}


def main() -> None:
    """Measure all jobs that both versions have, and print a table, each row when it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="checkout of the older version")
    parser.add_argument("new", type=Path, help="checkout of the newer one")
    parser.add_argument("--jobs", type=Path, required=True, help="file of jobs")
    parser.add_argument("--old-jobs", type=Path, help="the same jobs by the older version's names")
    parser.add_argument("--only", nargs="+", metavar="JOB", help="these jobs alone")
    parser.add_argument("--starts", type=int, default=2, help="of processes, per job (default: 2)")
    parser.add_argument("--turns", type=int, default=3, help="of each version, after every start (default: 3)")
    parser.add_argument("--folder", type=Path, help="folder of what jobs work on; kept, and filled only once")
    given = parser.parse_args()
    new = Version("new", given.new.resolve(), given.jobs.resolve())
    old = Version("old", given.old.resolve(), (given.old_jobs or given.jobs).resolve())
    with TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            with child(new, _PREPARE, folder):
                pass
        titles, known = titles_of(new, folder), titles_of(old, folder)
        both = [job for job in titles if job in known]
        unknown = [job for job in given.only or () if job not in both]
        if unknown:
            raise SystemExit(f"no job '{unknown[0]}' in both versions. There are: {', '.join(both)}")
        for job in sorted(titles.keys() ^ known.keys()):
            print(f"left out, since only one version has it: {job}", file=sys.stderr)
        print("\n".join(HEAD), flush=True)
        for job in given.only or both:
            measured = compare(old, new, job, (given.starts, given.turns), folder)
            print(Compared(titles[job], *measured).row(), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == [_CHILD]:
        serve(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
    else:
        main()
