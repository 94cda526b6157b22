"""Annotate and adapt, started from the page: live progress, cancel, resume; neither a kill nor a stop loses one."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from signspot.annotation.store import open_store
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.options import CorpusOptions

from .conftest import ServerProcess

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
