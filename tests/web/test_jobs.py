"""Jobs: rows in the database, run in a child process; neither a cancellation nor a kill loses one."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Locator, Page, expect

from signspot.annotation.store import open_store
from signspot.errors import FormatError, OptionsError
from signspot.web.database_tables import open_database
from signspot.web.jobs import Jobs
from signspot.web.worker import JobSettings
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus
from tests.fixtures.limits import wait_until

from .conftest import ServerProcess, spotted, visitor

_REMEMBER = """
window.seen = [];
new MutationObserver(() => {
  for (const item of document.querySelectorAll("#jobs li")) window.seen.push(item.textContent);
}).observe(document, { subtree: true, childList: true });
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    (tmp_path / ".signspot").mkdir()
    database = open_database(None, tmp_path / ".signspot")
    yield Jobs(database, JobSettings(str(tmp_path)))
    database.close()


def test_cancel_and_resume(jobs: Jobs) -> None:
    job = jobs.add("prepare", "x.mp4", {"video": "x.mp4"})
    assert jobs.add("prepare", "x.mp4", {"video": "x.mp4"}) == job
    jobs.cancel(job)
    assert jobs.get(job)["state"] == "cancelled"
    jobs.resume(job)
    assert jobs.get(job)["state"] == "waiting"
    jobs.clear()
    assert len(jobs.all()) == 1, "what waits is not cleared"
    with pytest.raises(OptionsError):
        jobs.add("format-the-disk", "x", {})
    with pytest.raises(FormatError):
        jobs.get("none")


def test_jobs_run_in_one_server_of_a_folder(jobs: Jobs, tmp_path: Path) -> None:
    """While another server holds the lock a job waits; then it is run, once, and its failure is told."""
    lock = FileLock(tmp_path / ".signspot" / "jobs.lock")
    with lock:
        job = jobs.add("prepare", "x.mp4", {"video": "x.mp4"})
        jobs._set(job, ("waiting",), state="running")  # its server was killed
        jobs.start()
        assert until_state(jobs, job, "running")["attempts"] == 0, "the other server's"
    ended = until_state(jobs, job, "failed")
    assert (ended["attempts"], "there is no video 'x.mp4'" in ended["message"]) == (1, True)
    jobs.stop()


def until_state(jobs: Jobs, job: str, state: str) -> dict[str, Any]:
    wait_until(lambda: jobs.get(job)["state"] == state, f"the job {job} to be {state}")
    return jobs.get(job)


def ask_for(page: Page, kind: str, name: str) -> None:
    page.locator("#job select[name=kind]").select_option(kind)
    if kind == "adapt":
        page.locator("#job input[name=steps]").fill("1")
    page.locator("#job input[name=name]").fill(name)
    page.locator("#job button").click()


def line(page: Page, name: str) -> Locator:
    return page.locator("#jobs li", has_text=name)


def until_running(server: ServerProcess, title: str) -> None:
    """Wait until a job is at work; a request to resume it may still be on its way."""

    def is_running() -> bool:
        job = next((listed for listed in server.ask("GET", "/api/jobs").json if listed["title"] == title), {})
        assert job.get("state") in (None, "waiting", "running", "cancelled"), job
        return job.get("state") == "running" and bool(job["stage"])

    wait_until(is_running, f"the job {title} to run")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server, as people run it, of landmarks of a few short videos, their subtitles, and a dictionary."""
    easy = CorpusOptions(
        words=12, hours=0.04, seed=5, video_seconds=30.0, dictionary_signers=2, exemplars=1.0, variants=1
    )
    corpus = make_corpus(easy, tmp_path / "footage").folder
    started = ServerProcess(folder=corpus, cache=tmp_path / "cache").start()
    yield started
    started.end(signal.SIGTERM)


@pytest.fixture
def library(browser: Browser, server: ServerProcess) -> Iterator[Page]:
    with visitor(browser) as page:
        page.add_init_script(_REMEMBER)
        page.goto(server.address)
        yield page


@pytest.mark.slow  # a real job, and two servers
def test_annotate_is_cancelled_resumed_and_killed(library: Page, server: ServerProcess) -> None:
    """The next server finishes the job of a killed one, and knows every decision."""
    queue = server.queue(spotted(), spotted())
    assert server.decide(queue, 0, "no").status == 200
    ask_for(library, "annotate", "first run")
    until_running(server, "first run")
    library.get_by_role("button", name="Cancel first run").click()
    expect(line(library, "first run")).to_contain_text("cancelled")
    library.get_by_role("button", name="Resume first run").click()
    until_running(server, "first run")
    server.end(signal.SIGKILL)
    server.start()
    expect(line(library, "first run")).to_contain_text("done")  # the page goes on by itself
    assert "running" in " ".join(library.evaluate("window.seen"))
    with open_store(server.folder / "runs" / "first run") as store:
        videos = list(store.videos())
    assert {video.problem for video in videos} <= {""}
    assert len(videos) == len(list((server.folder / "videos").glob("*.pose")))
    assert server.ask("GET", f"/api/queues/{queue}/measures").json["precision"]["no"] == 1
    library.goto(f"{server.address}/verify")
    library.locator("#new button").click()
    library.wait_for_url("**/verify/*")
    assert server.ask("GET", "/api/queues").json[0]["items"] > 0


@pytest.mark.long
def test_adapt_goes_on_after_a_stop(library: Page, server: ServerProcess) -> None:
    ask_for(library, "adapt", "mine")
    until_running(server, "mine")
    server.end(signal.SIGTERM)
    server.start()
    expect(line(library, "mine")).to_contain_text("done")
    expect(line(library, "mine")).to_contain_text(re.compile(r"no gain|encoders/mine"))
