"""The contract of the one worker pool, on real processes, and of the lock."""

import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from signspot.errors import EngineError, MissingExtraError, OptionsError, UnknownWordError, VideoError
from signspot.io.processes import (
    Failure,
    WorkerPool,
    locked,
    portable,
    results,
    run_each,
)
from tests.fixtures.limits import LIMIT, started, wait_until, wait_until_gone

RAISES = "(_ for _ in ()).throw(__import__('signspot.errors', fromlist=['_']).{error})"
SLEEPS = "__import__('time').sleep(600)"
TOUCHES = "__import__('pathlib').Path({mark!r}).touch() or {value}"
WAITS = (  # until another item has made a file
    "next(0 for _ in iter(lambda: __import__('time').sleep(0.005), 1) if __import__('pathlib').Path({mark!r}).exists())"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2) as opened:
        yield opened


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_are_the_same_for_any_number_of_workers(workers: int) -> None:
    items = [f"{number} ** 2" for number in range(12)]
    assert list(run_each(eval, items, workers, ordered=True)) == [(item, n**2) for n, item in enumerate(items)]
    assert sorted(run_each(eval, items, workers)) == sorted((item, n**2) for n, item in enumerate(items))
    assert list(run_each(eval, [], workers)) == []


@pytest.mark.parametrize(("ordered", "order"), [(False, [1, 2, 3, 0]), (True, [0, 1, 2, 3])])
def test_results_come_as_they_are_ready_or_in_the_order_of_the_items(
    pool: WorkerPool, tmp_path: Path, ordered: bool, order: list[int]
) -> None:
    mark = str(tmp_path / "mark")
    items = [WAITS.format(mark=mark), "1", "2", TOUCHES.format(mark=mark, value=3)]
    assert [result for _, result in pool.run(eval, items, ordered=ordered)] == order


def test_in_order_no_more_than_a_few_items_wait_for_a_slow_one(pool: WorkerPool, tmp_path: Path) -> None:
    number, mark = 0, str(tmp_path / "mark")

    def items() -> Iterator[str]:
        nonlocal number
        yield WAITS.format(mark=mark)
        for number in range(1, 101):
            yield TOUCHES.format(mark=mark, value=number) if number == 5 else str(number)

    results = pool.run(eval, items(), ordered=True)
    assert next(results)[1] == 0
    assert number < 10
    assert [result for _, result in results] == list(range(1, 101))


def test_errors_come_back_as_values_whatever_their_constructor_takes(pool: WorkerPool) -> None:
    wrong = {
        VideoError: RAISES.format(error="VideoError('cannot read it')"),
        MissingExtraError: RAISES.format(error="MissingExtraError('ray', 'ray', 'a cluster')"),
        UnknownWordError: RAISES.format(error="UnknownWordError('aple', ['apple'])"),
        ZeroDivisionError: "1 / 0",
    }
    results = dict(pool.run(eval, [*wrong.values(), "1 + 1"]))
    assert results.pop("1 + 1") == 2
    for kind, item in wrong.items():
        failure = results[item]
        assert isinstance(failure, Failure)
        assert type(failure.error) is kind
        with pytest.raises(kind):
            failure.raise_again()
    assert results[wrong[VideoError]].message == "cannot read it"
    assert "Did you mean 'apple'?" in results[wrong[UnknownWordError]].message
    assert results[wrong[ZeroDivisionError]].message == "an unexpected ZeroDivisionError: division by zero"


class UnsendableError(Exception):
    """Cannot be made from its own arguments."""

    def __init__(self, one: int, two: int):
        super().__init__(f"{one} and {two}")


def test_an_error_that_cannot_be_sent_keeps_its_text() -> None:
    with pytest.raises(TypeError):
        pickle.loads(pickle.dumps(UnsendableError(1, 2)))
    sent = portable(UnsendableError(1, 2))
    assert isinstance(sent, EngineError)
    assert str(sent) == "an unexpected UnsendableError: 1 and 2"


def test_a_result_that_cannot_be_sent_is_reported(pool: WorkerPool) -> None:
    results = dict(pool.run(eval, ["lambda: 1", "2"]))
    assert results["2"] == 2
    assert "cannot be sent" in results["lambda: 1"].message


def test_where_each_must_succeed_the_first_failure_is_raised() -> None:
    assert list(results(run_each(math.sqrt, [1, 4], 2, ordered=True))) == [1, 2]
    with pytest.raises(ValueError, match="math domain error"):
        list(results(run_each(math.sqrt, [1, -1], 2)))


def test_a_worker_that_dies_while_it_is_idle_is_replaced(pool: WorkerPool) -> None:
    list(pool.run(eval, ["1", "2"]))
    for process in pool.processes:
        os.kill(process, signal.SIGKILL)
        wait_until_gone(process)
    assert dict(pool.run(eval, ["1", "2", "3"])) == {"1": 1, "2": 2, "3": 3}


def test_workers_have_the_environment_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long ago the process was started from which they are forked."""
    values = []
    for value in ("one", "two"):
        monkeypatch.setenv("SIGNSPOT_TRIED", value)
        with WorkerPool(1) as opened:
            values += [result for _, result in opened.run(eval, ["__import__('os').environ.get('SIGNSPOT_TRIED')"])]
    assert values == ["one", "two"]


@pytest.mark.skipif(sys.platform != "linux", reason="workers are started afresh elsewhere")
def test_torch_is_loaded_once_for_all_workers(pool: WorkerPool) -> None:
    """These tests have loaded it; so the workers have, before their first item."""
    loaded = "'torch' in __import__('sys').modules"
    assert [result for _, result in pool.run(eval, [loaded, loaded])] == [True, True]


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a name as short as a temporary folder can have."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="workers need no socket elsewhere")
@pytest.mark.parametrize("size", [75, 76, 240])  # the longest with which a socket can be made, and longer ones
def test_workers_start_however_long_the_temporary_folders_name_is(short: Path, size: int) -> None:
    folder = short / ("t" * (size - len(str(short)) - 1))
    folder.mkdir()
    code = (
        "from signspot.io.processes import WorkerPool\n"
        "if __name__ == '__main__':\n"
        "    with WorkerPool(2) as pool:\n"
        "        print(sorted(pool.run(eval, ['1', '2', '3'])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[('1', 1), ('2', 2), ('3', 3)]\n"
    assert list(folder.iterdir()) == []


def test_progress_of_items_arrives() -> None:
    reports: list[tuple[str, int, int | None]] = []
    work = "__import__('signspot.io.processes', fromlist=['_']).report_progress(7, 7)"
    with WorkerPool(1, progress=lambda item, done, total: reports.append((item, done, total))) as pool:
        assert [result for _, result in pool.run(eval, [work])] == [None]
    assert reports == [(work, 7, 7)]


def test_leaving_ends_the_workers_and_removes_what_is_half_written(tmp_path: Path) -> None:
    target = tmp_path / "video.txt"
    writes = (
        f"(lambda opened: (opened.__enter__().write_text('half'), __import__('time').sleep(600)))"
        f"(__import__('signspot.io.files', fromlist=['_']).atomic_write({str(target)!r}))"
    )
    with WorkerPool(2) as pool:
        results = pool.run(eval, ["1", writes])
        assert next(results)[1] == 1
        wait_until(lambda: list(tmp_path.iterdir()), "the worker to begin a file")
        processes = pool.processes
    assert len(processes) == 2
    for process in processes:
        wait_until_gone(process)
    assert list(tmp_path.iterdir()) == []


def test_breaking_off_ends_the_busy_workers() -> None:
    with WorkerPool(2) as pool:
        results = pool.run(eval, ["1", SLEEPS])
        assert isinstance(results, Generator)
        assert next(results)[1] == 1
        results.close()
        assert len(pool.processes) <= 1
        assert dict(pool.run(eval, ["3"])) == {"3": 3}


def test_ctrl_c_ends_quickly_and_leaves_no_process() -> None:
    code = (
        "import signal\n"
        "from signspot.io.processes import WorkerPool\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job's is ignored
        "    with WorkerPool(2) as pool:\n"
        "        run = pool.run(eval, ['__import__(\"os\").getpid()', *2 * ['__import__(\"time\").sleep(600)']])\n"
        "        print(next(run)[1], flush=True)\n"
        "        list(run)\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started([sys.executable, "-c", code], start_new_session=True, **pipes) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        os.killpg(run.pid, signal.SIGINT)  # as a terminal sends it: to all of them
        assert "KeyboardInterrupt" in run.communicate(timeout=LIMIT)[1]
    wait_until_gone(worker)


def test_workers_end_when_the_run_is_killed() -> None:
    code = (
        "from signspot.io.processes import WorkerPool\n"
        "if __name__ == '__main__':\n"
        "    with WorkerPool(1) as pool:\n"
        "        run = pool.run(eval, ['__import__(\"os\").getpid()', '__import__(\"time\").sleep(600)'])\n"
        "        print(next(run)[1], flush=True)\n"
        "        list(run)\n"
    )
    with started([sys.executable, "-c", code], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        run.kill()
    wait_until_gone(worker)


def test_a_script_that_cannot_be_started_again_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from signspot.io.processes import WorkerPool\nwith WorkerPool(1) as pool:\n    list(pool.run(eval, ['1']))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "EngineError: workers cannot be started (exit code 1). A script needs: if __name__" in done.stderr


def test_workers_are_counted_from_one() -> None:
    with pytest.raises(OptionsError, match="0"):
        WorkerPool(0)


def test_a_lock_is_held_by_one_process_and_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    code = (
        "import sys, time; from pathlib import Path; from signspot.io.processes import locked\n"
        "with locked(Path(sys.argv[1])) as held: print(held, flush=True); time.sleep(600)\n"
    )
    with started([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with locked(path) as acquired:
            assert not acquired
        other.kill()
    with locked(path) as acquired:
        assert acquired
