"""Long work in the background: rows of the database, each done by a process of its own; a killed server loses none."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, insert, or_, select, update

from signspot.annotation.store import Database
from signspot.errors import FormatError, OptionsError
from signspot.io.checks import check_text, parse_json, quoted
from signspot.web import tables

logger = logging.getLogger(__name__)

KINDS = ("prepare", "annotate", "adapt")
ACTIVE = ("waiting", "running")
_BEAT = 1.0  # seconds between two signs of life of a process
_SILENT = 15.0  # seconds without one after which a process is taken for dead
_MOST_ATTEMPTS = 5  # of a job whose process dies again and again
_POLL = 0.3  # seconds
PROGRAM = (  # Ctrl-C while it loads ends it without a word: the server tells
    "import os, signal; signal.signal(signal.SIGINT, lambda *_: os._exit(0)); "
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from signspot.web.job_process import main; main(*json.loads(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Settings that every process of a job is given."""

    folder: str
    database: str | None
    encoder: str | None
    device: str = "cpu"


@dataclass
class Jobs:
    """The jobs of a workbench, and the thread that starts their processes, one at a time."""

    database: Database
    settings: JobSettings
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def add(self, kind: str, title: str, spec: Mapping[str, Any]) -> str:
        """Put a job into the line; one that is there already, waiting or running, is not added twice.

        Returns:
            Its id.
        """
        if kind not in KINDS:
            raise OptionsError(f"a job is {', '.join(KINDS)}; got '{kind}'")
        text, chosen = json.dumps(spec, sort_keys=True), uuid.uuid4().hex[:12]

        def work(connection: Connection) -> str:
            table = tables.jobs
            same = and_(table.c.kind == kind, table.c.spec == text, table.c.state.in_(ACTIVE))
            known = connection.execute(select(table.c.id).where(or_(same, table.c.id == chosen))).scalar()
            if known is not None:
                return str(known)
            row = {
                **{"id": chosen, "kind": kind, "title": title, "spec": text, "state": "waiting", "stage": ""},
                **{"done": 0, "total": 0, "message": "", "created": time.time(), "process": 0, "attempts": 0},
            }
            connection.execute(insert(table).values(row))
            return chosen

        return self.database.run(work)

    def all(self, most: int = 50) -> list[dict[str, Any]]:
        """Jobs, those that are not over first, then the latest."""
        table = tables.jobs
        over = table.c.state.not_in(ACTIVE)
        wanted = select(table).order_by(over, table.c.created.desc()).limit(most)
        found = self.database.run(lambda connection: connection.execute(wanted).mappings().all())
        return [_job(row) for row in found]

    def get(self, job: str) -> dict[str, Any]:
        """One job.

        Raises:
            FormatError: there is none.
        """
        wanted = select(tables.jobs).where(tables.jobs.c.id == job)
        found = self.database.run(lambda connection: connection.execute(wanted).mappings().first())
        if found is None:
            raise FormatError(f"there is no job '{job}'")
        return _job(found)

    def cancel(self, job: str) -> None:
        """Stop a job; what it did stays, and `resume` goes on from there."""
        known = self.get(job)
        self._set(job, ACTIVE, state="cancelled", ended=time.time())
        process = self._process
        if process is not None and process.pid == known["process"]:
            _end(process)

    def resume(self, job: str) -> None:
        """Put a job that was cancelled or failed back into the line."""
        self._set(job, ("cancelled", "failed"), state="waiting", message="", ended=None, process=0, attempts=0)

    def clear(self) -> None:
        """Forget the jobs that are over."""
        over = delete(tables.jobs).where(tables.jobs.c.state.not_in(ACTIVE))
        self.database.run(lambda connection: connection.execute(over).rowcount)

    def _set(self, job: str, states: tuple[str, ...], **values: Any) -> bool:
        here = and_(tables.jobs.c.id == job, tables.jobs.c.state.in_(states))
        changed = update(tables.jobs).where(here).values(**values)
        return self.database.run(lambda connection: connection.execute(changed).rowcount > 0)

    def start(self) -> None:
        """Begin to work through the line, in a thread."""
        self._thread = threading.Thread(target=self._work, name="signspot-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process at work; its job is waiting when the server comes back."""
        self._stop.set()
        if self._process is not None:
            _end(self._process)
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._revive()
                job = self._next()
                if job is not None:
                    self._run(job)
                    continue
            except Exception:  # the database went away: the line goes on when it is back
                logger.exception("jobs are paused")
                self._stop.wait(2)
            self._stop.wait(_POLL)

    def _revive(self) -> None:
        """Put jobs whose process is gone back into the line: their server was killed, or they were."""
        table, silent = tables.jobs, time.time() - _SILENT
        running = select(table).where(table.c.state == "running")
        for row in self.database.run(lambda connection: connection.execute(running).mappings().all()):
            if (row["heartbeat"] or row["started"] or 0) < silent or not _is_alive(row["process"]):
                again = row["attempts"] < _MOST_ATTEMPTS
                message = "" if again else "its process died again and again"
                self._set(row["id"], ("running",), state="waiting" if again else "failed", process=0, message=message)

    def _next(self) -> str | None:
        table = tables.jobs
        busy = select(table.c.id).where(table.c.state == "running").limit(1)
        first = select(table.c.id).where(table.c.state == "waiting").order_by(table.c.created).limit(1)

        def work(connection: Connection) -> str | None:
            if connection.execute(busy).first():
                return None
            found = connection.execute(first).scalar()
            return None if found is None else str(found)

        return self.database.run(work)

    def _run(self, job: str) -> None:
        now = time.time()
        attempt = tables.jobs.c.attempts + 1
        if not self._set(
            job, ("waiting",), state="running", started=now, heartbeat=now, process=os.getpid(), attempts=attempt
        ):
            return
        told = [
            job,
            self.settings.folder,
            self.settings.database,
            self.settings.encoder,
            self.settings.device,
            os.getpid(),
        ]
        command = [sys.executable, "-c", PROGRAM, json.dumps(sys.path), json.dumps(told)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self._set(job, ("running",), process=self._process.pid)
        if self.get(job)["state"] == "cancelled" or self._stop.is_set():
            _end(self._process)
        code = self._process.wait()
        self._process = None
        if self._stop.is_set():
            self._set(job, ("running",), state="waiting", process=0, attempts=0)
        elif code != 0:
            again = self.get(job)["attempts"] < _MOST_ATTEMPTS
            self._set(job, ("running",), state="waiting" if again else "failed", process=0, message=f"exit code {code}")


def _job(row: RowMapping) -> dict[str, Any]:
    """A job, out of the database.

    Raises:
        FormatError: what it is about is damaged.
    """
    return {**row, "spec": parse_json(check_text(row["spec"], "a job"), f"the job {quoted(row['id'])}")}


def _is_alive(process: int) -> bool:
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        return not state.is_file() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask a process to end, as Ctrl-C does; kill it if it does not."""
    with suppress(OSError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()


def beat(database: Database, job: str, parent: int) -> None:
    """In the process of a job: tell every second that it lives; end with the server, or when it is cancelled."""
    here = and_(tables.jobs.c.id == job, tables.jobs.c.state == "running")

    def is_wanted() -> bool:
        alive = update(tables.jobs).where(here).values(heartbeat=time.time(), process=os.getpid())
        return database.run(lambda connection: connection.execute(alive).rowcount > 0)

    def living() -> None:
        while True:
            time.sleep(_BEAT)
            if os.getppid() != parent:
                os._exit(1)
            with suppress(Exception):
                if not is_wanted():
                    os._exit(0)

    threading.Thread(target=living, daemon=True).start()
