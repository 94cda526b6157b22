"""Jobs: rows in the database, done by a process of their own; neither a cancellation nor a kill loses one."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from signspot.annotation.store import open_store
from signspot.errors import FormatError, OptionsError
from signspot.web.jobs import PROGRAM, Jobs, JobSettings
from signspot.web.tables import open_database
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.options import CorpusOptions

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


# Two real jobs in processes of their own, and three servers: about a minute of processor time.
pytestmark = pytest.mark.slow
PATIENCE = 900_000  # milliseconds, on the busiest machine
SEEN = """
window.seen = [];
new MutationObserver(() => {
  for (const item of document.querySelectorAll("#jobs li")) window.seen.push(item.textContent);
}).observe(document, { subtree: true, childList: true });
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Landmarks of a few short videos, their subtitles, and a dictionary."""
    easy = CorpusOptions(
        words=12, hours=0.04, seed=5, video_seconds=30.0, dictionary_signers=2, exemplars=1.0, variants=1
    )
    return make_corpus(easy, tmp_path / "footage").folder


def ask_for(page: Page, kind: str, name: str) -> None:
    page.locator("#job select[name=kind]").select_option(kind)
    if kind == "adapt":
        page.locator("#job input[name=steps]").fill("1")
    page.locator("#job input[name=name]").fill(name)
    page.locator("#job button").click()


def line(page: Page, name: str) -> Any:
    return page.locator("#jobs li", has_text=name)


def until_running(server: ServerProcess, title: str) -> dict[str, Any]:
    """The job, once its process is at work; a request to resume it may still be on its way."""
    while True:
        job = next((each for each in server.ask("GET", "/api/jobs").json if each["title"] == title), None)
        assert job is None or job["state"] in ("waiting", "running", "cancelled"), job
        if job is not None and job["state"] == "running" and job["stage"]:
            return dict(job)
        time.sleep(0.02)


@pytest.fixture
def server(corpus: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    made = ServerProcess(folder=corpus, cache=tmp_path / "cache").start()
    yield made
    made.end(signal.SIGTERM)


@pytest.fixture
def library(browser: Browser, server: ServerProcess) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.add_init_script(SEEN)
    page.goto(server.address)
    yield page
    context.close()


def test_annotate_is_cancelled_resumed_and_killed(library: Page, server: ServerProcess, corpus: Path) -> None:
    ask_for(library, "annotate", "first run")
    until_running(server, "first run")
    library.get_by_role("button", name="Cancel first run").click()
    expect(line(library, "first run")).to_contain_text("cancelled", timeout=PATIENCE)
    library.get_by_role("button", name="Resume first run").click()
    until_running(server, "first run")
    server.end(signal.SIGKILL)
    server.start()
    expect(line(library, "first run")).to_contain_text("done", timeout=PATIENCE)  # the page goes on by itself
    assert re.search(r"running .+ \d+/\d+", " ".join(library.evaluate("window.seen"))), "progress is seen"
    with open_store(corpus / "runs" / "first run") as store:
        videos = list(store.videos())
    assert {video.problem for video in videos} <= {""}
    assert len(videos) == len(list((corpus / "videos").glob("*.pose")))
    library.goto(f"{server.address}/verify")
    library.locator("#new button").click()
    library.wait_for_url("**/verify/*")
    assert server.ask("GET", "/api/queues").json[0]["items"] > 0


def test_adapt_goes_on_after_a_stop(library: Page, server: ServerProcess) -> None:
    ask_for(library, "adapt", "mine")
    until_running(server, "mine")
    server.end(signal.SIGTERM)
    server.start()
    expect(line(library, "mine")).to_contain_text("done", timeout=PATIENCE)
    expect(line(library, "mine")).to_contain_text(re.compile(r"no gain|encoders/mine"))
