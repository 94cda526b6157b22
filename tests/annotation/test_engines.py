"""One contract for all engines, on real processes and a real Ray cluster: nothing lost when workers are killed.

The quick suite has one case on Ray; its depth is long.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from signspot.annotation.engines import Engine, RayEngine, raise_if_fatal
from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.annotation.run_options import RunOptions
from signspot.annotation.video_units import VideoUnit
from signspot.errors import EngineError, MissingExtraError, OptionsError, OutputError, VideoError
from signspot.io.processes import ATTEMPTS, Failure, WorkerPool
from tests.annotation.conftest import OPTIONS, assert_same_to_rounding, lines
from tests.fixtures.limits import wait_until

DIES = "__import__('os').kill(__import__('os').getpid(), 9)"
RAISES = "(_ for _ in ()).throw(__import__('signspot.errors', fromlist=['_']).{error}('{message}'))"
DIES_ONCE = "__import__('pathlib').Path({mark!r}).exists() or (__import__('pathlib').Path({mark!r}).touch(), {dies})"
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


class Borrowed:
    """An engine that stays open when a run leaves it; with a mark, its first worker on a video is killed."""

    def __init__(self, engine: Engine, mark: Path | None = None):
        self._engine, self._mark = engine, mark

    def run(self, work: Callable[[Any], Any], items: Any) -> Any:
        return self._engine.run(work if self._mark is None else partial(die_once, self._mark, work), items)

    def __enter__(self) -> "Borrowed":
        return self

    def __exit__(self, *reason: object) -> None:
        return None


def die_once(mark: Path, work: Callable[[Any], Any], item: Any) -> Any:
    """Do some work; the first process that did it on a video is killed before it can give the result."""
    result = work(item)
    if isinstance(item, VideoUnit):
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return result
        os.kill(os.getpid(), signal.SIGKILL)
    return result


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


def seen_gpus(folder: Path, number: int) -> tuple[str, int]:
    """The GPUs that a worker may use, and the process that it is; items 0 and 1, 2 and 3 ... are worked on at once."""
    (folder / str(number)).touch()
    wait_until((folder / str(number ^ 1)).exists, f"item {number ^ 1}")
    return os.environ.get("CUDA_VISIBLE_DEVICES", ""), os.getpid()


@pytest.mark.long
def test_each_ray_worker_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two GPUs are claimed that are not there: Ray hands them out all the same."""
    if find_spec("ray") is None:
        pytest.skip("the extra 'ray' is not installed")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with RayEngine(workers=4, device="cuda", gpus=2) as engine:
        results = [
            result
            for _, result in engine.run(partial(seen_gpus, tmp_path), range(6))
            if not isinstance(result, Failure)
        ]
    assert len(results) == 6
    by_process: dict[int, set[str]] = {}
    for gpu, process in results:
        by_process.setdefault(process, set()).add(gpu)
    assert {gpu for gpu, _ in results} == {"0", "1"}
    assert all(len(gpus) == 1 for gpus in by_process.values())
    with RayEngine(workers=1, device="cuda", gpus=0) as engine, pytest.raises(EngineError, match="no GPU"):
        list(engine.run(partial(seen_gpus, tmp_path), range(1)))


@pytest.fixture(scope="session")
def ray_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayEngine]:
    if find_spec("ray") is None:  # imported by the engine only: it decides where Ray listens
        pytest.skip("the extra 'ray' is not installed")
    output = tmp_path_factory.mktemp("ray") / "said.txt"
    engine = RayEngine(workers=2)
    try:
        with output_into(output), pytest.MonkeyPatch.context() as patch:
            patch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp(100 * "t")))  # too long for its sockets
            engine.__enter__()
    except EngineError as error:
        if "timed out" in str(error):
            pytest.skip(f"this machine is too busy: {error}")
        raise
    try:
        assert output.read_text() == "", "Ray is not quiet"
        commands = "\n".join(command_of(pid) for pid in descendants(os.getpid()))
        (folder,) = [path for path in Path("/tmp").glob("signspot-ray-*") if str(path) in commands]
        yield engine
    finally:
        with output_into(output):
            engine.__exit__(None, None, None)
        assert output.read_text() == "", "Ray is not quiet"
        assert not folder.exists(), "Ray's files stay behind"


@pytest.fixture(scope="module")
def local_engine() -> Iterator[WorkerPool]:
    with WorkerPool(workers=2) as engine:
        yield engine


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.long)])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_engine")


def test_a_ray_cluster_does_the_work_and_nobody_else_can_reach_it(ray_engine: RayEngine) -> None:
    assert dict(ray_engine.run(eval, ["1", "2 ** 2", "3"])) == {"1": 1, "2 ** 2": 4, "3": 3}
    processes = descendants(os.getpid())
    assert any("gcs_server" in command_of(pid) for pid in processes)
    addresses = listening([*processes, os.getpid()])
    assert addresses
    assert addresses <= LOOPBACK
    of_ray = [pid for pid in processes if "/ray/" in command_of(pid)]
    assert len(of_ray) > 2
    for pid in of_ray:
        assert b"RAY_USAGE_STATS_ENABLED=0" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


class TestEveryEngine:
    def test_every_item_comes_back_once(self, engine: Engine) -> None:
        results = list(engine.run(eval, (f"{number} ** 2" for number in range(20))))
        assert sorted(results, key=lambda pair: int(pair[0].split()[0])) == [(f"{n} ** 2", n**2) for n in range(20)]
        assert list(engine.run(eval, [])) == []

    def test_what_goes_wrong_comes_back_as_a_value(self, engine: Engine) -> None:
        wrong = {
            VideoError: RAISES.format(error="VideoError", message="cannot read it"),
            OutputError: RAISES.format(error="OutputError", message="the disk is full"),
            ZeroDivisionError: "1 / 0",
        }
        results = dict(engine.run(eval, [*wrong.values(), "1 + 1"]))
        assert results.pop("1 + 1") == 2
        assert {type(results[item].error): item for item in results} == wrong
        assert results[wrong[VideoError]].message == "cannot read it"

    def test_a_worker_that_is_killed_is_noticed_and_its_item_tried_again(self, engine: Engine, tmp_path: Path) -> None:
        once = [DIES_ONCE.format(mark=str(tmp_path / name), dies=DIES) for name in "ab"]
        results = dict(engine.run(eval, [once[0], "1", once[1], "2", "3"]))
        assert results == {once[0]: True, once[1]: True, "1": 1, "2": 2, "3": 3}

    def test_an_item_that_kills_every_worker_is_named_and_the_rest_is_done(
        self, engine: Engine, capfd: pytest.CaptureFixture[str]
    ) -> None:
        results = dict(engine.run(eval, ["1", DIES, "2", "3"]))
        failure = results.pop(DIES)
        assert isinstance(failure, Failure)
        assert f"died {ATTEMPTS} times" in failure.message
        assert ("killed by SIGKILL" in failure.message) or not isinstance(engine, WorkerPool)
        raise_if_fatal(failure)
        assert results == {"1": 1, "2": 2, "3": 3}
        assert capfd.readouterr() == ("", "")

    def test_items_are_made_when_a_worker_is_free(self, engine: Engine) -> None:
        number = 0

        def items() -> Iterator[str]:
            nonlocal number
            for number in range(1, 9):
                yield str(number)

        for done, _ in enumerate(engine.run(eval, items()), 1):
            assert number <= done + 2

    def test_workers_use_one_core_each_and_this_process_as_before(self, engine: Engine) -> None:
        ((_, threads),) = engine.run(eval, ["__import__('os').environ['OPENBLAS_NUM_THREADS']"])
        assert threads == "1"
        assert "OPENBLAS_NUM_THREADS" not in os.environ

    def test_real_work_is_the_same_also_when_a_worker_is_killed(
        self, engine: Engine, job: AnnotationJob, expected: list[str], tmp_path: Path
    ) -> None:
        mark = tmp_path / "killed"
        report = annotate(replace(job, cache=job.out), OPTIONS, Borrowed(engine, mark))
        assert (report.annotated, report.failed, mark.exists()) == (4, [], True)
        assert_same_to_rounding(lines(job.out), expected)
        assert str(job.corpus) not in "".join(expected)

    @pytest.mark.long
    def test_mouthings_are_the_same(
        self, engine: Engine, here: Any, corpus_folder: Path, mouthing_file: Path, tmp_path: Path
    ) -> None:
        for name, workers in (("one", here), ("other", Borrowed(engine))):
            job = MouthingJob(corpus_folder, tmp_path / name, model=str(mouthing_file), cache=tmp_path, threshold=0.0)
            report = annotate_mouthings(job, RunOptions(keep=0.0, negatives=2), workers)
            assert (report.annotated, report.failed) == (4, [])
        assert lines(tmp_path / "one") == lines(tmp_path / "other")


def test_a_cache_in_which_nothing_can_be_kept_does_not_stop_the_run(
    job: AnnotationJob, expected: list[str], here: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "cache" / "tracks"
    folder.parent.mkdir()
    folder.write_text("in the way")  # no track can be written
    annotate(replace(job, cache=folder.parent), OPTIONS, here)
    assert_same_to_rounding(lines(job.out), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import ray; ray.util.get_node_ip_address = lambda: '192.0.2.7'; RayEngine(1).__enter__()",
            "it would listen at 192.0.2.7",
        ),
        ("RayEngine(1, '127.0.0.1:9').__enter__()", "EngineError: no Ray cluster at 127.0.0.1:9"),
    ],
)
def test_a_cluster_that_others_could_reach_or_that_is_not_there(code: str, message: str, ray_engine: RayEngine) -> None:
    command = [sys.executable, "-c", f"from signspot.annotation.engines import RayEngine; {code}"]
    assert message in subprocess.run(command, capture_output=True, text=True).stderr


def test_fatal_failures_stop_a_run() -> None:
    raise_if_fatal(Failure("one bad video", VideoError("one bad video")))
    for error in (OutputError("full"), MissingExtraError("a", "b", "c"), ImportError("no such module")):
        with pytest.raises(type(error)):
            raise_if_fatal(Failure(str(error), error))
    with pytest.raises(OptionsError, match="0"):
        RayEngine(0)


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
    below, waiting = [], [pid]
    while waiting:
        new = children.get(waiting.pop(), [])
        below += new
        waiting += new
    return below


def listening(pids: list[int]) -> set[str]:
    """The addresses at which processes listen, as the kernel writes them."""
    sockets = set()
    for pid in pids:
        try:
            sockets |= {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
    addresses = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                addresses.add(fields[1].partition(":")[0])
    return addresses
