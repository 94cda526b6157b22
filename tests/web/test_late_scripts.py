"""Pages whose scripts come late, as on a busy machine or over a slow line: what people enter meanwhile is not lost."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Server

pytestmark = pytest.mark.slow


@pytest.fixture
def own(material: Path, tmp_path: Path) -> Iterator[Server]:
    """A server with a video and no dictionary."""
    (tmp_path / "folder").mkdir()
    shutil.copy(material / "news.pose", tmp_path / "folder")
    made = Server(folder=tmp_path / "folder").start()
    yield made
    made.stop()


def test_films_are_kept_that_are_given_before_the_script_is_there(page: Page, own: Server, material: Path) -> None:
    own.late["/static/dictionary.js"] = 1.0
    page.goto(own.address)
    page.get_by_role("link", name="New dictionary").click()
    for form, word in (("#make", "river"), ("#add", "apple")):
        page.locator(form).get_by_label("Word").fill(word)
        page.locator(form).get_by_label("Films").set_input_files(material / "dictionary" / word / f"{word}.pose")
        page.locator(form).locator("button").click()
        page.wait_for_url("**/dictionary?name=dictionary")
    expect(page.locator("#words .card")).to_have_count(2)
    listed: Any = own.ask("GET", "/api/dictionaries/dictionary/words").json
    assert sorted(entry["word"] for entry in listed["words"]) == ["apple", "river"]
