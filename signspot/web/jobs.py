"""Jobs in the background: rows of the database, each run in a child process; none is lost when a server is killed."""

import json
import logging
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection, RowMapping, and_, delete, insert, or_, select, update

from signspot.annotation.store import Database
from signspot.errors import FormatError, OptionsError, SandboxLimitError, SandboxStartError
from signspot.io.checks import check_text, parse_json, quoted
from signspot.io.sandbox import Limits, Sandbox
from signspot.web import database_tables as tables
from signspot.web.folder import STATE_FOLDER
from signspot.web.worker import KINDS, JobSettings, run_job

logger = logging.getLogger(__name__)

ACTIVE = ("waiting", "running")
_MOST_ATTEMPTS = 5  # of a job during which the server was killed
_POLL = 2.0  # seconds between two queries for jobs that another server of the folder added
_PAUSE = 2.0  # seconds before a failed step is tried again
_STOP = 60.0  # seconds within which the thread ends whose job was ended
_LIMITS = Limits(seconds=7 * 24 * 3600.0, memory=32 << 30, file_size=1 << 40)  # of one job


@dataclass
class Jobs:
    """The jobs of a workbench, and the thread that runs them, one at a time, in one server of a folder."""

    database: Database
    settings: JobSettings
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _wake_up: threading.Event = field(
        default_factory=threading.Event, init=False
    )  # a job was added, or the server stops
    _thread: threading.Thread | None = field(default=None, init=False)
    _sandbox: Sandbox = field(default_factory=lambda: Sandbox(_LIMITS, environment={}), init=False)
    _running: str = field(default="", init=False)
    _lock: FileLock = field(init=False)

    def __post_init__(self) -> None:
        self._lock = FileLock(Path(self.settings.folder) / STATE_FOLDER / "jobs.lock")

    def add(self, kind: str, title: str, spec: Mapping[str, Any]) -> str:
        """Add a job; an equal one that is waiting or running is not added twice.

        Returns:
            Its id.
        """
        if kind not in KINDS:
            raise OptionsError(f"a job is {', '.join(KINDS)}; got '{kind}'")
        text, chosen = json.dumps(spec, sort_keys=True), uuid.uuid4().hex[:12]

        def work(connection: Connection) -> str:
            table = tables.jobs
            same = and_(table.c.kind == kind, table.c.spec == text, table.c.state.in_(ACTIVE))
            existing = connection.execute(select(table.c.id).where(or_(same, table.c.id == chosen))).scalar()
            if existing is not None:
                return str(existing)
            row = {
                **{"id": chosen, "kind": kind, "title": title, "spec": text, "state": "waiting", "stage": ""},
                **{"done": 0, "total": 0, "message": "", "created": time.time(), "attempts": 0},
            }
            connection.execute(insert(table).values(row))
            return chosen

        added = self.database.run(work)
        self._wake_up.set()
        return added

    def all(self, most: int = 50) -> list[dict[str, Any]]:
        """Jobs: first those that have not ended, then the latest."""
        table = tables.jobs
        over = table.c.state.not_in(ACTIVE)
        query = select(table).order_by(over, table.c.created.desc()).limit(most)
        rows = self.database.run(lambda connection: connection.execute(query).mappings().all())
        return [_job(row) for row in rows]

    def get(self, job: str) -> dict[str, Any]:
        """One job.

        Raises:
            FormatError: there is none.
        """
        query = select(tables.jobs).where(tables.jobs.c.id == job)
        row = self.database.run(lambda connection: connection.execute(query).mappings().first())
        if row is None:
            raise FormatError(f"there is no job '{job}'")
        return _job(row)

    def cancel(self, job: str) -> None:
        """Stop a job; its results so far stay, and `resume` continues from there."""
        self.get(job)
        self._set(job, ACTIVE, state="cancelled", ended=time.time())
        if self._running == job:
            self._sandbox.close()

    def resume(self, job: str) -> None:
        """Let a cancelled or failed job wait again."""
        self._set(job, ("cancelled", "failed"), state="waiting", message="", ended=None, attempts=0)
        self._wake_up.set()

    def clear(self) -> None:
        """Remove the jobs that have ended."""
        over = delete(tables.jobs).where(tables.jobs.c.state.not_in(ACTIVE))
        self.database.run(lambda connection: connection.execute(over).rowcount)

    def _set(self, job: str, states: tuple[str, ...], **values: Any) -> bool:
        here = and_(tables.jobs.c.id == job, tables.jobs.c.state.in_(states))
        changed = update(tables.jobs).where(here).values(**values)
        return self.database.run(lambda connection: connection.execute(changed).rowcount > 0)

    def start(self) -> None:
        """Start the thread that runs the jobs."""
        self._thread = threading.Thread(target=self._work, name="signspot-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the running job; it waits for the next server."""
        self._stop.set()
        self._wake_up.set()
        deadline = time.monotonic() + _STOP
        while self._thread is not None and self._thread.is_alive():
            if time.monotonic() > deadline:
                logger.warning(
                    "the thread that runs jobs did not end in %g s (job: %s)", _STOP, self._running or "none"
                )
                return
            self._sandbox.close()
            self._thread.join(0.2)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                with self._lock.acquire(timeout=0):
                    self._revive()
                    while not self._stop.is_set():
                        job = self._next()
                        if job is None:
                            self._wake_up.wait(_POLL)
                            self._wake_up.clear()
                        else:
                            self._run(job)
            except Timeout:  # another server of this folder runs them
                self._stop.wait(_PAUSE)
            except Exception:  # the database is not reachable: jobs continue when it is
                logger.exception("jobs are paused")
                self._stop.wait(_PAUSE)

    def _revive(self) -> None:
        """Let jobs whose server was killed wait again; only the server with the lock runs jobs."""
        table = tables.jobs
        running = select(table).where(table.c.state == "running")
        for row in self.database.run(lambda connection: connection.execute(running).mappings().all()):
            again = row["attempts"] < _MOST_ATTEMPTS
            message = "" if again else f"the server ended {_MOST_ATTEMPTS} times while it ran"
            self._set(row["id"], ("running",), state="waiting" if again else "failed", message=message)

    def _next(self) -> str | None:
        table = tables.jobs
        first = select(table.c.id).where(table.c.state == "waiting").order_by(table.c.created).limit(1)
        job = self.database.run(lambda connection: connection.execute(first).scalar())
        return None if job is None else str(job)

    def _run(self, job: str) -> None:
        now, attempt = time.time(), tables.jobs.c.attempts + 1
        if not self._set(job, ("waiting",), state="running", started=now, attempts=attempt):
            return
        self._running = job
        try:
            if self.get(job)["state"] == "running":  # not cancelled in the meantime
                self._sandbox.call(f"{run_job.__module__}:{run_job.__name__}", job, self.settings)
        except SandboxStartError as error:
            self._set(job, ("running",), state="waiting", message=str(error))
            self._stop.wait(_PAUSE)
        except SandboxLimitError as error:
            if self._stop.is_set():
                self._set(job, ("running",), state="waiting", attempts=0)
            else:
                self._set(job, ("running",), state="failed", message=str(error), ended=time.time())
        finally:
            self._running = ""


def _job(row: RowMapping) -> dict[str, Any]:
    """A job as stored in the database.

    Raises:
        FormatError: its arguments are damaged.
    """
    return {**row, "spec": parse_json(check_text(row["spec"], "a job"), f"the job {quoted(row['id'])}")}
