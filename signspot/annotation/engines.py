"""Engines of annotation: processes of this machine, or a Ray cluster. The same plan gives the same result on each."""

import logging
import os
import shutil
import signal
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from signspot.errors import (
    CheckpointError,
    EncoderMismatchError,
    EngineError,
    MissingExtraError,
    OptionsError,
    OutputError,
)
from signspot.io.processes import ATTEMPTS, ONE_THREAD, SOCKET_PATH, Failure, Item, Made, attempt, died, environment

logger = logging.getLogger(__name__)

_FATAL = (OutputError, ImportError, CheckpointError, EncoderMismatchError)  # every other item would fail, too

# Read by Ray when it is imported, and by the processes that it starts.
_PRIVATE = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing about this run leaves the machine
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # whatever its name says: listen on loopback only
    "RAY_DEDUP_LOGS_SKIP_REGEX": "(?s).",  # Ray prints of every worker that dies; we tell what matters
    "RAY_worker_niceness": "0",  # as the local engine's
    "RAY_worker_register_timeout_seconds": "600",  # a busy machine is slow, not broken
    "RAY_health_check_timeout_ms": "120000",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the new way with accelerators, without a notice of the old one
}
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
_LOOPBACK = "127.0.0.1"
_ANSWER = 10.0  # seconds within which a cluster must answer
_STARTS = 4  # attempts to start a cluster; Ray gives each 30 s, too few for a very busy machine
_SOCKET = "/signspot-ray-12345678/session_2026-01-31_12-34-56_123456_1234567/sockets/plasma_store.1"
_STORE = 96 * 2**20  # bytes of Ray's object store: findings are small


class Engine(Protocol):
    """Workers; started when it is entered, ended when it is left. `processes.WorkerPool` is one."""

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


def raise_if_fatal(failure: Failure) -> None:
    """Stop a run where going on makes no sense: the failure is not a fault of its item."""
    if isinstance(failure.error, _FATAL):
        failure.raise_again()


class HereEngine:
    """Works in this process: nothing has to be started for a small corpus."""

    def run(self, work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[tuple[Item, Made | Failure]]:
        """As `Engine.run`, one item after the other."""
        return ((item, attempt(work, item)) for item in items)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was started."""


class RayEngine:
    """So many tasks at once on a Ray cluster."""

    def __init__(
        self, workers: int | None = None, address: str | None = None, device: str = "cpu", gpus: int | None = None
    ):
        """Choose a cluster; nothing is started yet.

        Args:
            workers: tasks at once; None: as many as the cluster has cores, or GPUs where each needs one.
            address: of a running cluster (host:port, or "auto"); None: one of our own on this machine, which nobody
                else can reach.
            device: where workers compute; on "cuda", each task asks for a GPU of its own and sees no other.
            gpus: of a cluster of our own; None: as many as Ray finds.
        """
        if workers is not None and workers < 1:
            raise OptionsError(f"workers must be at least 1; got {workers}")
        self.workers, self.address, self.gpus = workers, address, gpus
        self.needs_gpu = device.startswith("cuda")
        hidden = "CUDA_VISIBLE_DEVICES"  # empty for workers that need none
        self._variables = {name: value for name, value in ONE_THREAD.items() if not (self.needs_gpu and name == hidden)}
        self._ray: Any = None
        self._folder: Path | None = None  # of our own cluster

    def __enter__(self) -> Self:
        with environment({**_PRIVATE, **self._variables} if self.address is None else _PRIVATE):
            try:
                import ray
            except ImportError:
                raise MissingExtraError("ray", "ray", "a Ray cluster") from None
            self._ray = ray
            try:
                self._start() if self.address is None else self._join(self.address)
            except Exception as error:  # Ray raises many kinds, and plain ones
                self.__exit__()
                raise EngineError(self._explain(error)) from error
        return self

    def _start(self) -> None:
        """Start a cluster of our own: on loopback, its files in a folder of its own, its workers with one core each."""
        address = self._ray.util.get_node_ip_address()
        if address != _LOOPBACK:  # Ray was imported before us and has decided already
            raise RuntimeError(
                f"it would listen at {address}. Let signspot import Ray first, or start a cluster yourself"
            )
        for left in reversed(range(_STARTS)):
            try:
                self._init()
                return
            except Exception as error:
                if not left or "timed out" not in str(error):
                    raise
                logger.info("Ray did not start within 30 s and is started again: %s", _first_line(error))
                self._clear()

    def _init(self) -> None:
        too_long = len(os.fsencode(tempfile.gettempdir() + _SOCKET)) > SOCKET_PATH
        self._folder = Path(tempfile.mkdtemp(prefix="signspot-ray-", dir="/tmp" if too_long else None))
        self._ray.init(
            num_cpus=self.workers or os.cpu_count() or 1,
            num_gpus=self.gpus,
            object_store_memory=_STORE,
            include_dashboard=False,
            _node_ip_address=_LOOPBACK,
            _temp_dir=str(self._folder),
            **_QUIET,
        )

    def _join(self, address: str) -> None:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdecimal():
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER):
                pass  # Ray itself would wait for minutes
        self._ray.init(address=address, runtime_env={"env_vars": self._variables}, namespace="signspot", **_QUIET)

    def _explain(self, error: Exception) -> str:
        reason = _first_line(error)
        if self.address is None:
            return f"a Ray cluster cannot be started on this machine: {reason}"
        return (
            f"no Ray cluster at {self.address} ({reason}). Start one with: ray start --head, or leave --address out. "
            "If there is one, it may ask for a token that is not set here: see RAY_AUTH_MODE in Ray's documentation."
        )

    def __exit__(self, *error: object) -> None:
        if self._ray is not None:
            self._clear()
            self._ray = None

    def _clear(self) -> None:
        """End what was started, and remove its files."""
        self._ray.shutdown()
        if self._folder is not None:
            _end_leftovers(self._folder)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def run(self, work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[tuple[Item, Made | Failure]]:
        """Do `work` on every item, each with its result as it becomes ready.

        Raises:
            EngineError: the cluster has no GPU, and workers need one.
        """
        ray, resources = self._ray, self._ray.cluster_resources()
        most = int(resources.get("GPU", 0)) if self.needs_gpu else max(1, int(resources.get("CPU", 1)))
        if not most:
            raise EngineError("the Ray cluster has no GPU, and --device cuda asks for one in every worker")
        most = min(most, self.workers or most)
        task = ray.remote(num_cpus=1, num_gpus=int(self.needs_gpu), max_retries=0)(attempt)
        coming, again = iter(items), deque[tuple[Item, int]]()
        flying: dict[Any, tuple[Item, int]] = {}  # with how often its worker has died
        while True:
            while len(flying) < most:
                turn = again.popleft() if again else next(((item, 0) for item in coming), None)
                if turn is None:
                    break
                flying[task.remote(work, turn[0])] = turn
            if not flying:
                return
            (done,), _ = ray.wait(list(flying), num_returns=1)
            item, deaths = flying.pop(done)
            try:
                yield item, ray.get(done)
            except ray.exceptions.RaySystemError as error:
                raise EngineError(
                    f"the Ray cluster is gone: {_first_line(error)}. Run again: nothing is lost."
                ) from error
            except ray.exceptions.RayError as error:
                logger.info("a worker died (%s) on %s", _first_line(error), item)
                if deaths + 1 < ATTEMPTS:
                    again.append((item, deaths + 1))
                else:
                    yield item, died(deaths + 1, _first_line(error))


def _end_leftovers(folder: Path) -> None:
    """End what Ray leaves running when it gives up half-way: processes that were given this very folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(folder) in (process / "cmdline").read_bytes() and int(process.name) != os.getpid():
                os.kill(int(process.name), signal.SIGTERM)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
