"""Every page of `serve --no-pixels` in a real browser: skeletons move, and no frame of a video is sent, kept or seen.

All videos are purple, as nothing else is. The browser has visited a server with pixels at the same address before,
which is the counter-proof: there the same pages are purple, and thumbnails are kept.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.fixtures.purple import is_purple, pictures, purple, purple_video

from .conftest import SUBTITLES, Server, until
from .test_browser import DRAWN, MOVES, until_sent

pytestmark = pytest.mark.slow
SPOT = "/spot?video=news.mp4&dictionary=signs&word=river"
PAGES = ("/", SPOT, "/compare?dictionary=signs&word=river", "/dictionary?name=signs", "/sign?dictionary=signs")


@pytest.fixture
def folder(signing: Any, bench_cache: Path, tmp_path: Path) -> Path:
    """A video with subtitles, and a dictionary of three videos."""
    served = tmp_path / "folder"
    purple_video(served / "news.mp4", signing.footage, bench_cache)
    (served / "news.vtt").write_text(SUBTITLES)
    for word, take in (("river", 0), ("river", 1), ("apple", 0)):
        purple_video(served / "signs" / word / f"{take}.mp4", signing.exemplars[word][take:], bench_cache)
    return served


def sent(server: Server, scratch: Path) -> list[str]:
    """Paths of answers that hold a frame of a video, whole or from its beginning."""
    return [path for path, content in list(server.sent) if any(map(is_purple, pictures(content, scratch)))]


def sees_a_video(page: Page) -> bool:
    """Whether anything of a video is on the screen."""
    page.wait_for_load_state("networkidle")
    screenshot = cv2.imdecode(np.frombuffer(page.screenshot(full_page=True), np.uint8), cv2.IMREAD_COLOR)
    assert screenshot is not None
    return is_purple(screenshot[..., ::-1])


def spot_and_verify(page: Page, server: Server) -> None:
    """Find a word, look at a hit beside its exemplar, cut it out, decide about it: all with skeletons."""
    page.goto(server.address + SPOT)
    page.locator("#rows button").first.click()
    until(page.locator("#skeleton"), DRAWN)
    for name in ("hit", "exemplar"):
        until(page.locator(f"#{name}-skeleton"), DRAWN)
    exemplar = page.locator(".exemplars button").first
    exemplar.hover()
    until(exemplar, MOVES)
    page.get_by_role("button", name="Verify these").click()
    page.wait_for_url("**/verify/*")
    page.get_by_label("Your name").fill("Ada")
    page.keyboard.press("Enter")
    until(page.locator("#slot canvas"), DRAWN)
    until(page.locator("#model-skeleton"), DRAWN)
    queue = page.url.rpartition("/")[2]
    page.keyboard.press("y")
    until_sent(page, queue)
    page.goto(f"{server.address}/verify/{queue}/results")
    frame = page.locator("li.card img").first
    until(frame, "(image) => image.complete && image.naturalWidth > 0")


def give_clips(page: Page, server: Server, clip: Path) -> None:
    """The person's own clip is searched for and compared, and is not kept; a video to keep is refused."""
    page.goto(server.address + "/")
    page.locator("#files").set_input_files(str(clip))
    expect(page.locator("#uploads li")).to_contain_text("no videos of people")
    page.goto(server.address + "/spot?video=news.mp4&dictionary=signs")
    page.locator("#clip").set_input_files(str(clip))
    expect(page.locator("#rows tr")).not_to_have_count(0)
    for address in PAGES[2:5:2]:  # there every clip is looked at afresh, and nobody is in this one
        page.goto(server.address + address)
        page.locator("#clip").set_input_files(str(clip))
        expect(page.get_by_role("alert")).to_contain_text("nobody is in view")


def test_pages_show_skeletons_and_nobody(
    page: Page, folder: Path, signing: Any, bench_cache: Path, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    with_pixels = serve(folder=folder)
    for address in PAGES[:4]:
        page.goto(with_pixels.address + address)
        assert sees_a_video(page), "with pixels videos are seen"
    assert {path.split("/")[2] for path in sent(with_pixels, tmp_path / "x")} == {"thumbnail", "media", "exemplar"}
    with_pixels.stop()
    assert purple(folder / ".signspot"), "with pixels thumbnails are kept"
    hidden = serve(folder=folder, port=with_pixels.port, pixels=False)
    for address in PAGES:
        page.goto(hidden.address + address)
        assert not sees_a_video(page), f"{address} shows a video"
        assert page.locator("video[src]").count() == 0
    page.goto(hidden.address + "/")
    thumbnail = page.locator("#videos img")
    until(thumbnail, "(image) => image.complete && image.naturalWidth > 0")
    spot_and_verify(page, hidden)
    page.goto(hidden.address + PAGES[2])
    expect(page.locator("#side canvas.skeleton")).to_have_count(2)
    for canvas in page.locator("#side canvas.skeleton").all():
        until(canvas, DRAWN)
    page.goto(hidden.address + PAGES[3])
    cards = page.locator("#words .card")
    expect(cards).to_have_count(2)
    cards.first.hover()
    until(cards.first, MOVES)
    assert not sees_a_video(page)
    clip = tmp_path / "mine.mp4"
    purple_video(clip, signing.exemplars["river"][2:], bench_cache)
    give_clips(page, hidden, clip)
    assert sent(hidden, tmp_path / "x") == []
    assert [*purple(hidden.folder / ".signspot"), *purple(bench_cache)] == []
    assert sorted(path.name for path in hidden.folder.rglob("*.mp4")) == ["0.mp4", "0.mp4", "1.mp4", "news.mp4"]
