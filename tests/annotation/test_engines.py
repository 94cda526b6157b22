"""One contract for all engines, on real processes and a real Ray cluster: nothing lost when workers are killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from signspot.annotation.engines import Engine, RayEngine, raise_if_fatal
from signspot.annotation.options import AnnotateOptions, RunOptions
from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.annotation.store import dump, open_store
from signspot.errors import EngineError, MissingExtraError, OptionsError, OutputError, VideoError
from signspot.io.processes import ATTEMPTS, Failure, WorkerPool

DIES = "__import__('os').kill(__import__('os').getpid(), 9)"
RAISES = "(_ for _ in ()).throw(__import__('signspot.errors', fromlist=['_']).{error}('{message}'))"
DIES_ONCE = "__import__('pathlib').Path({mark!r}).exists() or (__import__('pathlib').Path({mark!r}).touch(), {dies})"
SLOWLY = "__import__('time').sleep({seconds}) or {value}"


class Borrowed:
    """An engine that stays open when a run leaves it."""

    def __init__(self, engine: Engine):
        self.run = engine.run

    def __enter__(self) -> "Borrowed":
        return self

    def __exit__(self, *reason: object) -> None:
        return None


@contextmanager
def output_into(path: Path) -> Iterator[None]:
    """What this process and those that it starts write to the terminal goes into a file."""
    before = [os.dup(number) for number in (1, 2)]
    with path.open("w") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            for number, old in zip((1, 2), before, strict=True):
                os.dup2(old, number)
                os.close(old)


@pytest.fixture(scope="module")
def ray_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayEngine]:
    if find_spec("ray") is None:  # imported by the engine only: it decides where Ray listens
        pytest.skip("the extra 'ray' is not installed")
    said = tmp_path_factory.mktemp("ray") / "said.txt"
    engine = RayEngine(workers=2)
    try:
        with output_into(said), pytest.MonkeyPatch.context() as patch:
            patch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp(100 * "t")))  # too long for its sockets
            engine.__enter__()
    except EngineError as error:
        if "timed out" in str(error):
            pytest.skip(f"this machine is too busy: {error}")
        raise
    try:
        assert said.read_text() == "", "Ray is not quiet"
        yield engine
    finally:
        folder = engine._folder
        with output_into(said):
            engine.__exit__(None, None, None)
        assert said.read_text() == "", "Ray is not quiet"
        assert folder is not None
        assert not folder.exists(), "Ray's files stay behind"


@pytest.fixture(scope="module")
def local_engine() -> Iterator[WorkerPool]:
    with WorkerPool(workers=2) as engine:
        yield engine


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_engine")


class TestEveryEngine:
    def test_every_item_comes_back_once(self, engine: Engine) -> None:
        results = list(engine.run(eval, (f"{number} ** 2" for number in range(20))))
        assert sorted(results, key=lambda pair: int(pair[0].split()[0])) == [(f"{n} ** 2", n**2) for n in range(20)]
        assert list(engine.run(eval, [])) == []

    def test_what_goes_wrong_comes_back_as_a_value(self, engine: Engine) -> None:
        wrong = {
            "video": RAISES.format(error="VideoError", message="cannot read it"),
            "full": RAISES.format(error="OutputError", message="the disk is full"),
            "mistake": "1 / 0",
        }
        found = dict(engine.run(eval, [*wrong.values(), "1 + 1"]))
        assert found.pop("1 + 1") == 2
        expected = (
            ("video", VideoError, "cannot read it"),
            ("full", OutputError, "the disk is full"),
            ("mistake", ZeroDivisionError, "an unexpected ZeroDivisionError: division by zero"),
        )
        for name, kind, message in expected:
            failure = found[wrong[name]]
            assert (type(failure.error), failure.message) == (kind, message)

    def test_a_worker_that_is_killed_is_noticed_and_its_item_tried_again(self, engine: Engine, tmp_path: Path) -> None:
        once = [DIES_ONCE.format(mark=str(tmp_path / name), dies=DIES) for name in "ab"]
        found = dict(engine.run(eval, [once[0], "1", once[1], "2", "3"]))
        assert found == {once[0]: True, once[1]: True, "1": 1, "2": 2, "3": 3}

    def test_an_item_that_kills_every_worker_is_named_and_the_rest_is_done(
        self, engine: Engine, capfd: pytest.CaptureFixture[str]
    ) -> None:
        found = dict(engine.run(eval, ["1", DIES, "2", "3"]))
        failure = found.pop(DIES)
        assert isinstance(failure, Failure)
        assert failure.message.startswith(f"its worker died {ATTEMPTS} times (")
        raise_if_fatal(failure)
        assert found == {"1": 1, "2": 2, "3": 3}
        assert capfd.readouterr() == ("", "")

    def test_items_are_made_when_a_worker_is_free(self, engine: Engine) -> None:
        made = 0

        def items() -> Iterator[str]:
            nonlocal made
            for made in range(1, 9):
                yield SLOWLY.format(seconds=0.05, value=made)

        for done, _ in enumerate(engine.run(eval, items()), 1):
            assert made <= done + 2

    def test_workers_use_one_core_each_and_this_process_as_before(self, engine: Engine) -> None:
        ((_, seen),) = engine.run(eval, ["__import__('os').environ['OPENBLAS_NUM_THREADS']"])
        assert seen == "1"
        assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.fixture(scope="module")
def expected(corpus_folder: Path, encoder_file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Results of one process."""
    out = tmp_path_factory.mktemp("expected")
    with WorkerPool(workers=1) as engine:
        job = AnnotationJob(corpus_folder, corpus_folder / "dictionary", out, encoder=str(encoder_file), cache=out)
        return lines(job, engine)


def lines(job: AnnotationJob, engine: Engine) -> list[str]:
    report = annotate(job, AnnotateOptions(keep=0.0, negatives=4), Borrowed(engine))
    assert (report.annotated, report.failed) == (4, [])
    with open_store(job.out) as store:
        return list(dump(store))


class TestRealWork:
    """The same plan gives the same result, byte for byte, on any engine, with any number of workers, killed or not."""

    @pytest.fixture
    def job(self, corpus_folder: Path, encoder_file: Path, tmp_path: Path) -> AnnotationJob:
        out = tmp_path / "run"
        return AnnotationJob(corpus_folder, corpus_folder / "dictionary", out, encoder=str(encoder_file), cache=out)

    def test_two_processes_one_of_them_killed(self, job: AnnotationJob, expected: list[str]) -> None:
        with WorkerPool(workers=2) as engine:
            with killing_one(
                lambda: [each.process.pid for each in engine._workers if each.ready and each.task]
            ) as killed:
                assert lines(job, engine) == expected
            assert len(killed) == 1
        assert len(expected) > 50
        assert str(job.corpus) not in "".join(expected)

    def test_a_ray_cluster_one_of_its_workers_killed(
        self, job: AnnotationJob, expected: list[str], ray_engine: RayEngine, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with killing_one(
            lambda: [pid for pid in descendants(os.getpid()) if "ray::attempt" in command_of(pid)]
        ) as killed:
            assert lines(job, ray_engine) == expected
        assert len(killed) == 1
        said = capfd.readouterr()
        assert "ray" not in (said.out + said.err).lower()

    def test_a_cache_in_which_nothing_can_be_kept_does_not_stop_the_run(
        self, job: AnnotationJob, expected: list[str], local_engine: WorkerPool, tmp_path: Path
    ) -> None:
        folder = tmp_path / "cache" / "tracks"
        folder.parent.mkdir()
        folder.write_text("in the way")  # no track can be written
        assert lines(replace(job, cache=folder.parent), local_engine) == expected


def test_mouthings_are_the_same_on_every_engine(
    engine: Engine, here: Any, corpus_folder: Path, mouthing_file: Path, tmp_path: Path
) -> None:
    found = []
    for name, workers in (("one", here), ("other", Borrowed(engine))):
        job = MouthingJob(corpus_folder, tmp_path / name, model=str(mouthing_file), cache=tmp_path, threshold=0.0)
        report = annotate_mouthings(job, RunOptions(keep=0.0, negatives=2), workers)
        assert (report.annotated, report.failed) == (4, [])
        with open_store(job.out) as store:
            found.append(list(dump(store)))
    assert found[0] == found[1]
    assert len(found[0]) > 50


class TestRay:
    def test_nobody_else_can_reach_a_cluster_of_our_own(self, ray_engine: RayEngine) -> None:
        list(ray_engine.run(eval, ["1", "2"]))
        processes = descendants(os.getpid())
        assert any("gcs_server" in command_of(pid) for pid in processes)
        places = listening([*processes, os.getpid()])
        assert places
        assert all(place in LOOPBACK for place in places), places

    def test_no_usage_is_reported(self, ray_engine: RayEngine) -> None:
        list(ray_engine.run(eval, ["1"]))
        processes = [pid for pid in descendants(os.getpid()) if "/ray/" in command_of(pid)]
        assert len(processes) > 2
        for pid in processes:
            assert b"RAY_USAGE_STATS_ENABLED=0" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")

    def test_a_cluster_that_others_could_reach_is_not_started(self) -> None:
        code = (
            "import ray\n"
            "from signspot.annotation.engines import RayEngine\n"
            "ray.util.get_node_ip_address = lambda: '192.0.2.7'\n"
            "RayEngine(1).__enter__()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "cannot be started on this machine: it would listen at 192.0.2.7" in done.stderr

    def test_no_cluster_at_an_address_is_told(self, ray_engine: RayEngine) -> None:
        with pytest.raises(OptionsError, match="workers must be at least 1; got 0"):
            RayEngine(0)
        code = "from signspot.annotation.engines import RayEngine\nRayEngine(1, '127.0.0.1:9').__enter__()\n"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "EngineError: no Ray cluster at 127.0.0.1:9" in done.stderr


def test_fatal_failures_stop_a_run() -> None:
    raise_if_fatal(Failure("one bad video", VideoError("one bad video")))
    for error in (OutputError("full"), MissingExtraError("a", "b", "c"), ImportError("no such module")):
        with pytest.raises(type(error)):
            raise_if_fatal(Failure(str(error), error))


LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@contextmanager
def killing_one(busy: Callable[[], list[Any]]) -> Iterator[list[int]]:
    """Kill the first process that is seen at work, once."""
    killed: list[int] = []
    over = False

    def watch() -> None:
        while not killed and not over:
            for pid in busy()[:1]:
                time.sleep(0.1)  # in the middle of its work
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.005)

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield killed
    finally:
        over = True
        watcher.join()


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """All processes that come from one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        new = children.get(waiting.pop(), [])
        found += new
        waiting += new
    return found


def listening(pids: list[int]) -> set[str]:
    """The addresses at which processes listen, as the kernel writes them."""
    sockets = set()
    for pid in pids:
        try:
            sockets |= {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
    places = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                places.add(fields[1].partition(":")[0])
    return places
