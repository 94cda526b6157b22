"""Jobs: rows in the database and processes of their own; neither a stop nor a kill loses one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signspot.errors import FormatError, OptionsError
from signspot.web.jobs import PROGRAM, Jobs, JobSettings
from signspot.web.tables import open_database

from .conftest import ServerProcess


def wait_for(what: Callable[[], Any], seconds: float = 240.0) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen")


@pytest.mark.slow
def test_a_killed_server_loses_no_job_and_no_decision(material: Path, bench_cache: Path, tmp_path: Path) -> None:
    """Killed while a job runs; the next start finishes it. Its process does not outlive the server."""
    folder = tmp_path / "folder"
    shutil.copytree(material, folder)
    shutil.copy(
        folder / "dictionary" / "river" / "film.mp4", folder / "other.mp4"
    )  # without landmarks beside it: they have to be estimated
    server = ServerProcess(folder=folder, cache=tmp_path / "cache").start()
    row = {"word": "river", "video": "news.mp4", "time": 1.0, "start": 0.8, "end": 1.2, "score": 0.9}
    queue = server.ask("POST", "/api/queues", {"name": "q", "rows": [row, row]}).json["id"]
    item = server.ask("POST", f"/api/queues/{queue}/next?annotator=Ada", {}).json[0]["item"]
    decision = {"id": "decision-1", "item": item, "annotator": "Ada", "answer": "no", "start": 0.8, "end": 1.2}
    assert server.ask("POST", f"/api/queues/{queue}/decisions", decision).status == 200
    job = server.ask("POST", "/api/jobs", {"kind": "prepare", "video": "other.mp4"}).json["id"]
    assert server.ask("POST", "/api/jobs", {"kind": "prepare", "video": "other.mp4"}).json["id"] == job, "once"
    mine = wait_for(lambda: next((j for j in server.ask("GET", "/api/jobs").json if j["stage"] == "landmarks"), None))
    server.end(signal.SIGKILL)
    wait_for(lambda: not _lives(mine["process"]), 30)
    server.start()
    try:
        wait_for(lambda: server.ask("GET", "/api/jobs").json[0]["state"] == "done")
        done = server.ask("GET", "/api/jobs").json[0]
        assert (done["id"], done["attempts"]) == (job, 2)
        assert server.ask("GET", f"/api/queues/{queue}/measures").json["precision"]["no"] == 1
    finally:
        server.end(signal.SIGTERM)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_cancel_and_resume(tmp_path: Path) -> None:
    database = open_database(None, tmp_path)
    jobs = Jobs(database, JobSettings(str(tmp_path), None, None))
    job = jobs.add("prepare", "x.mp4", {"video": "x.mp4"})
    assert jobs.add("prepare", "x.mp4", {"video": "x.mp4"}) == job
    jobs.cancel(job)
    assert jobs.get(job)["state"] == "cancelled"
    jobs.resume(job)
    assert jobs.get(job)["state"] == "waiting"
    jobs.clear()
    assert len(jobs.all()) == 1, "what waits is not cleared"
    with pytest.raises(OptionsError, match="a job is"):
        jobs.add("format-the-disk", "x", {})
    with pytest.raises(FormatError, match="no job"):
        jobs.get("none")
    database.close()


def test_ctrl_c_while_a_job_loads_is_no_traceback() -> None:
    """It reaches the process of a job, too, where the server runs in a terminal."""
    interrupted = (
        "import signal, sys\n"
        "class Importer:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.endswith('job_process'): signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Importer())\n"
    )
    command = [sys.executable, "-c", interrupted + PROGRAM, json.dumps(sys.path), "[]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
