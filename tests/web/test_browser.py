"""Journeys of people in a real browser: every control of the pages, pointed at, dragged, dropped, typed."""

import base64
import csv
import io
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Playwright, Route, expect

from signspot.dictionary.open_dictionary import open_dictionary
from signspot.formats.elan import read_vocabulary
from signspot.formats.formats import format_names, read_spottings
from signspot.video.reader import open_video
from tests.fixtures.limits import wait_until
from tests.fixtures.purple import remember
from tools.screenshots import write_camera_file

from .conftest import LIMIT, Server, browser_with_camera, render_sign, spotted, until, visitor

HOSTILE = "<img src=x onerror=alert(1)>\"'&amp;.mp4"
SPOT = "/spot?video=news.mp4&dictionary=dictionary&word=river"
pytestmark = pytest.mark.slow


def until_sent(page: Page, queue: str) -> None:
    """Wait until the server has confirmed every decision."""
    until(page, f"() => localStorage.getItem('signspot-decisions-{queue}') === '[]'")


def hits(page: Page) -> int:
    return page.locator("#rows tr").count()


def middle(page: Page, selector: str) -> tuple[float, float]:
    """Middle of the first element; measured in one step, since the timeline draws its elements anew."""
    page.locator(selector).first.wait_for()
    x, y = page.evaluate(
        """(selector) => {
          const box = document.querySelector(selector).getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        selector,
    )
    return x, y


def number_of(element: Locator, attribute: str = "aria-valuenow") -> float:
    return float(element.get_attribute(attribute) or "nan")


def download(page: Page, link: Locator, path: Path) -> None:
    with page.expect_download() as waiting:
        link.click()
    waiting.value.save_as(path)


def drag(page: Page, start: tuple[float, float], across: float, down: float = 0.0) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + across, start[1] + down, steps=5)
    page.mouse.up()


def set_threshold(page: Page, word: str = "river") -> None:
    """Set a threshold at which the video has two hits, whatever the default decision says of a video of seconds."""
    slider = page.get_by_role("slider", name=f"Threshold of {word}")
    slider.focus()
    for _ in range(100):
        if not (now := round(100 * number_of(slider)) - 90):
            break
        page.keyboard.press("ArrowDown" if now > 0 else "ArrowUp")
    assert now == 0
    expect(page.locator("#rows tr")).not_to_have_count(0)


def test_spot_jump_threshold_edges_and_export(page: Page, fresh: Server, tmp_path: Path) -> None:
    page.goto(fresh.address + SPOT)
    set_threshold(page)
    page.evaluate("document.querySelector('.exemplars').style.minHeight = '300px'")  # many exemplars beside the curves
    parts = "[...document.querySelectorAll('.plot, .plot canvas, .plot > svg')]"
    heights = page.evaluate(f"{parts}.map((part) => part.getBoundingClientRect().height)")
    assert len(heights) == 3
    assert len(set(heights)) == 1, "peaks and threshold lie on their lines"
    page.locator(".peak:not(.off)").first.click()
    start = number_of(page.locator("#rows tr[aria-selected=true]"), "data-start")
    until(page.locator("#video"), "(video) => video.currentTime > 0 || video.seeking")
    assert page.evaluate("document.getElementById('video').currentTime") >= start - 0.05
    before, requests = hits(page), []
    page.on("request", lambda request: requests.append(request.url))
    page.evaluate("document.getElementById('video').pause()")
    slider = page.get_by_role("slider", name="Threshold of river")
    drag(page, middle(page, ".grip"), 0, 60)
    until(page, f"() => document.querySelectorAll('#rows tr').length > {before}")
    assert not [url for url in requests if "/api/spot" in url], "the threshold asks nobody"
    until(page, _TABLE_FOLLOWS)
    assert page.locator(".panel-head output").inner_text().partition(" ·")[0] == f"hits: {hits(page)}"
    slider.focus()
    for _ in range(60):
        page.keyboard.press("ArrowUp")
    expect(page.locator("#rows tr")).to_have_count(0)
    for _ in range(100):
        page.keyboard.press("ArrowDown")
    page.locator("#rows tr button").first.click()
    edge = page.get_by_role("slider", name="Start of the sign")
    edge.focus()
    moved = number_of(edge)
    page.keyboard.press("ArrowRight")
    assert number_of(page.locator("[data-edge=start]")) == pytest.approx(moved + 0.04)
    download(page, page.get_by_role("button", name="ELAN"), tmp_path / "x.eaf")
    written = read_spottings(tmp_path / "x.eaf")
    assert len(written) == hits(page)
    assert any(abs(spotting.start - moved - 0.04) < 0.002 for spotting in written), "edges as they were dragged"


def test_words_complete_and_mistakes_are_reported(page: Page, server: Server) -> None:
    page.goto(f"{server.address}/spot?video=news.mp4&dictionary=dictionary")
    page.get_by_role("combobox", name="Word").fill("rivr")
    expect(page.locator("#choices [role=option]").first).to_contain_text("Did you mean river")
    page.get_by_role("combobox", name="Word").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'river'?")
    page.locator("#subtitles button", has_text="apples").click()
    expect(page.locator(".panel h3")).to_have_text("apple")


def test_sign_to_search_with_the_fake_camera(page: Page, server: Server) -> None:
    assert server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").status == 200  # its track is there
    requests: list[str] = []
    page.on("request", lambda request: requests.append(f"{request.method} {urlsplit(request.url).path}"))
    page.goto(f"{server.address}/sign")
    assert page.locator("#camera").evaluate("(video) => getComputedStyle(video).transform").startswith("matrix(-1")
    page.get_by_role("button", name="Record").click()
    expect(page.locator("#words .card strong").first).to_have_text("river")
    expect(page.locator("#locations .card strong").first).to_have_text("news.mp4")
    left = server.folder / ".signspot" / "uploads"
    assert not left.is_dir() or not list(left.iterdir()), "the recording is not kept"
    assert "PUT /api/sign" not in requests, "the server looked while the recording was made"
    sent = len([line for line in requests if line.endswith("/frames")])
    assert sent > 5
    page.locator("#from").fill("10")
    page.get_by_role("button", name="Search again").click()
    until(
        page, "() => document.getElementById('nothing').hidden && document.querySelectorAll('#words .card').length > 0"
    )
    assert len([line for line in requests if line.endswith("/frames")]) == sent, "nothing is recorded or sent again"
    expect(page.locator("#unknown")).to_be_hidden()

    def doubt(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "known": False})

    page.route("**/search?*", doubt)
    page.get_by_role("button", name="Search again").click()
    expect(page.locator("#unknown")).to_be_visible()


def test_landmarks_without_a_video_are_played_as_skeletons(page: Page, server: Server) -> None:
    shutil.copy(server.folder / "news.pose", server.folder / "talk.pose")
    queue = server.queue(spotted(video="talk.pose"))
    is_drawn = """() => {
        const seen = document.querySelector('#screen canvas, #slot canvas'), size = [seen.width, seen.height];
        return size[0] > 0 && seen.getContext('2d').getImageData(0, 0, ...size).data.some((value) => value > 0);
    }"""
    try:
        page.goto(f"{server.address}/spot?video=talk.pose&dictionary=dictionary&word=river")
        page.get_by_role("button", name="Play", exact=True).click()
        until(page, is_drawn)
        page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
        page.goto(f"{server.address}/verify/{queue}")
        page.locator("#slot canvas").wait_for()
        until(page, is_drawn)
    finally:
        (server.folder / "talk.pose").unlink()


def make_queue(server: Server, count: int, share: float = 0.0) -> str:
    times = (k / 10 + 0.5 for k in range(count))
    rows = [spotted(time=time, start=time - 0.2, end=time + 0.2, exemplar="river/video") for time in times]
    return server.queue(*rows, name="rivers", dictionary="dictionary", share=share)


def decisions(server: Server, queue: str) -> list[dict[str, Any]]:
    text = server.ask("GET", f"/api/queues/{queue}/export?format=.decisions.csv").text
    return list(csv.DictReader(io.StringIO(text)))


def correct(page: Page) -> None:
    """Shift a boundary and decide, undo, and name another word."""
    page.keyboard.press("[")
    page.keyboard.press("v")
    page.keyboard.press("z")
    expect(page.locator("#messages")).to_contain_text("Undone")
    page.keyboard.press("w")
    page.locator("#which-word").fill("apple")
    page.locator("#which-word").press("Enter")


def test_verify_with_keys_undo_and_two_people_at_once(browser: Browser, confirming: Server) -> None:
    queue = make_queue(confirming, 12)
    with visitor(browser, "Ada") as ada, visitor(browser, "Ben") as ben:
        for opened in (ada, ben):
            opened.goto(f"{confirming.address}/verify/{queue}")
        for key in ("y", "n", "u", ""):
            for opened in (ada, ben):
                opened.locator("#work").wait_for()
                if key:
                    opened.keyboard.press(key)
        correct(ada)
        for opened in (ada, ben):
            until_sent(opened, queue)
    rows = decisions(confirming, queue)
    standing = [row for row in rows if not row["withdrawn"]]
    assert sorted((row["annotator"], row["answer"]) for row in standing) == [
        ("Ada", "no"), ("Ada", "unsure"), ("Ada", "word"), ("Ada", "yes"), ("Ben", "no"), ("Ben", "unsure"),
        ("Ben", "yes"),
    ]  # fmt: skip
    assert len({row["item"] for row in standing}) == len(standing), "nothing was handed out twice"
    assert [row["answer"] for row in rows if row["withdrawn"]] == ["variant"]
    assert all(float(row["seconds"]) > 0 for row in standing)


def test_a_server_that_goes_away_loses_no_decision(browser: Browser, fresh: Server) -> None:
    queue = make_queue(fresh, 6)
    with visitor(browser, "Ada") as page:
        page.goto(f"{fresh.address}/verify/{queue}")
        page.locator("#work").wait_for()
        fresh.stop()
        page.keyboard.press("y")
        page.keyboard.press("n")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        fresh.start()
        until_sent(page, queue)
    assert [row["answer"] for row in decisions(fresh, queue)] == ["yes", "no"]


def test_hostile_names_stay_text(page: Page, confirming: Server, material: Path) -> None:
    video = confirming.folder / HOSTILE.replace("/", "")
    shutil.copy(material / "news.mp4", video)
    (confirming.folder / video.with_suffix(".vtt").name).write_text(
        "WEBVTT\n\n00:00.000 --> 00:09.000\n<script>alert(2)</script> &lt;b&gt; river\n"
    )
    row = spotted(word=HOSTILE, video=video.name, exemplar=HOSTILE)
    try:
        queue = confirming.queue(row, row, name=HOSTILE, dictionary="dictionary")
        item = confirming.ask("POST", f"/api/queues/{queue}/next?annotator=x", {}).json[0]["item"]
        hostile = {"id": "hostile-1", "annotator": HOSTILE, "word": HOSTILE}
        assert confirming.decide(queue, item, "word", **hostile).status == 200
        page.add_init_script("localStorage.setItem('signspot-who', '<b>x</b>')")
        for address in ("/", "/spot", "/verify", f"/verify/{queue}", f"/verify/{queue}/results"):
            page.goto(confirming.address + address)
            page.wait_for_load_state("networkidle")
            assert page.locator("img[src=x], #main b, #main script").count() == 0
        assert HOSTILE in page.locator("#gallery").inner_text()
        page.goto(confirming.address + "/")
        expect(page.locator(".card strong", has_text=video.name).first).to_be_visible()
    finally:
        for path in confirming.folder.glob("<img*"):
            path.unlink()


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_page_is_accessible(page: Page, confirming: Server, language: str) -> None:
    queue = make_queue(confirming, 3)
    item = confirming.ask("POST", f"/api/queues/{queue}/next?annotator=Ada", {}).json[0]["item"]
    confirming.decide(queue, item, id=f"axe-{queue}", start=0.3, end=0.7)
    page.add_init_script("localStorage.setItem('signspot-who', 'Cem')")
    page.goto(f"{confirming.address}/language/{language}")
    addresses = (
        "/",
        SPOT,
        "/sign",
        "/verify",
        f"/verify/{queue}",
        f"/verify/{queue}/results",
        "/dictionary",
        "/compare?word=river",
        "/try",
        "/requests",
    )
    for address in addresses if language == "en" else addresses[:2]:
        page.goto(confirming.address + address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.lang") == language
        violations = Axe().run(page).response["violations"]
        serious = [
            (violation["id"], violation["nodes"][0]["html"][:150])
            for violation in violations
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious, address
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 1, f"{address} is wider than a window of {width} pixels"
        page.set_viewport_size({"width": 1280, "height": 800})


_DROP = """
async ([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  const fire = (kind) => document.querySelector("main h1, main h2").dispatchEvent(
    new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
  fire("dragover");
  const said = getComputedStyle(document.querySelector("main"), "::after").content;
  fire("drop");
  return said;
}
"""
_TABLE_FOLLOWS = """
() => document.querySelectorAll(".peak:not(.off)").length === document.querySelectorAll("#rows tr").length
"""
DRAWN = """
(canvas) => canvas.width > 0 &&
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)
"""
_BEGINS_AGAIN = """
(video, start) => new Promise((resolve) => video.addEventListener("seeking", () => {
  if (Math.abs(video.currentTime - start) < 0.05) resolve(true);
}))
"""
_SEEKS = "(video) => new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }))"
_STILL = """
async (video) => {
  const before = video.currentTime;
  for (let k = 0; k < 12; k++) await new Promise(requestAnimationFrame);
  return !video.seeking && video.currentTime === before;
}
"""
MOVES = """
async (root) => {
  const video = root.querySelector("video + video, img + video, .thumbnail > canvas");
  if (!video) return false;
  if (video.currentTime !== undefined) return video.currentTime > 0;
  const before = video.toDataURL();
  await new Promise((resolve) => setTimeout(resolve, 300));
  return video.toDataURL() !== before;
}
"""


def drop(page: Page, path: Path, name: str = "") -> str:
    """Drop a file in the middle of a page; give what the page says while it is held over it."""
    return str(page.evaluate(_DROP, [name or path.name, base64.b64encode(path.read_bytes()).decode()]))


def test_exemplars_play_when_pointed_at(page: Page, server: Server) -> None:
    """A video as a video, landmarks as a moving skeleton; by mouse, by keyboard, and on the line itself."""
    page.goto(server.address + SPOT)
    buttons = page.locator(".exemplars button")
    expect(buttons).to_have_count(2)
    for number in range(2):
        buttons.nth(number).hover()
        until(buttons.nth(number), MOVES)
    page.mouse.move(2, 2)
    expect(page.locator(".exemplars video, .exemplars canvas")).to_have_count(0)
    buttons.first.focus()
    page.keyboard.press("Tab")
    until(buttons.nth(1), MOVES)
    buttons.nth(1).press("Enter")
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "false")
    box = page.locator(".plot").bounding_box()
    assert box is not None
    for y in range(15, 150, 3):
        page.mouse.move(box["x"] + box["width"] / 3, box["y"] + y)
        if page.locator(".preview").count():
            break
    expect(page.locator(".preview > span").last).to_have_text(buttons.first.inner_text().strip())
    until(page.locator(".preview"), MOVES)


def test_a_clip_is_dropped_on_the_spot_page(page: Page, server: Server, material: Path) -> None:
    clip = material / "dictionary" / "river" / "video.mp4"
    page.goto(server.address + "/spot")
    drop(page, clip)
    expect(page.get_by_role("alert")).to_contain_text("Choose a video first")
    page.goto(server.address + "/spot?video=news.mp4&dictionary=dictionary")
    assert "Drop a clip" in drop(page, clip, "my sign.mp4")
    expect(page.locator(".panel h3")).to_have_text("my sign.mp4")
    set_threshold(page, "my sign.mp4")
    of_word = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]["hits"]
    best = max(of_word, key=lambda hit: hit["score"])
    starts = [number_of(row, "data-start") for row in page.locator("#rows tr").all()]
    assert min(abs(start - best["start"]) for start in starts) < 0.3, "the clip finds what its word finds"
    page.locator(".exemplars button").hover()
    until(page.locator(".exemplars button"), MOVES)
    page.locator("#rows button").first.click()
    expect(page.locator("#beside")).to_be_visible()
    until(page.locator("#exemplar-video"), "(video) => video.readyState > 1")
    (server.folder / "no video.mp4").write_bytes(b"x")
    drop(page, server.folder / "no video.mp4")
    (server.folder / "no video.mp4").unlink()
    expect(page.get_by_role("alert")).to_contain_text("no video.mp4")


def test_a_hit_loops_at_half_speed_beside_its_exemplar(page: Page, server: Server) -> None:
    page.goto(server.address + SPOT)
    set_threshold(page)
    page.locator("#rows button").first.click()
    page.evaluate("document.getElementById('video').pause()")
    expect(page.locator("#beside")).to_be_visible()
    chosen = page.locator("#rows tr[aria-selected=true]")
    start, end = (number_of(chosen, f"data-{side}") for side in ("start", "end"))
    video = page.locator("#hit-video")
    assert video.evaluate("(video) => video.playbackRate") == 0.5
    until(video, f"(video) => {start} < video.currentTime && video.currentTime < {end}")
    video.evaluate(_BEGINS_AGAIN, start)
    skeletons = [page.locator(f"#{name}-skeleton") for name in ("hit", "exemplar")]
    assert not any(skeleton.evaluate(DRAWN) for skeleton in skeletons)
    page.get_by_role("button", name="Skeleton").click()
    for skeleton in [page.locator("#skeleton"), *skeletons]:
        until(skeleton, DRAWN)
    page.get_by_role("button", name="Skeleton").click()
    for skeleton in skeletons:
        until(skeleton, f"(canvas) => !({DRAWN})(canvas)")


def test_exemplars_without_a_video_are_shown_beside_a_hit(page: Page, server: Server) -> None:
    page.goto(server.address + SPOT.replace("river", "apple"))
    page.locator(".peak").first.dispatch_event("click")
    expect(page.locator("#beside")).to_be_visible()
    expect(page.locator("#exemplar-video")).to_be_hidden()
    until(page.locator("#exemplar-skeleton"), DRAWN)


def test_a_confirmed_sign_is_played_beside_a_sign_that_it_found(page: Page, fresh: Server) -> None:
    row = spotted(start=0.6, end=1.4, score=1.0, source="V")
    queue = fresh.queue(row, dictionary="dictionary")
    assert fresh.decide(queue, 0, start=0.6, end=1.4).status == 200
    sign = {**row, "id": "a1", "time": 2.0, "start": 1.8, "end": 2.2, "exemplar": "news@0.60"}
    assert fresh.ask("PUT", "/api/signs/news.mp4", {"version": 0, "signs": [sign]}).status == 200
    page.goto(f"{fresh.address}/spot?video=news.mp4&dictionary=dictionary")
    page.locator("#rows button").first.click()
    expect(page.locator("#exemplar-name")).to_contain_text("news@0.60")
    expect(page.locator("#exemplar-video")).to_be_visible()
    until(page.locator("#exemplar-video"), "(video) => video.readyState > 1 && video.currentTime >= 0.6")


def test_a_search_does_without_confirmed_signs_when_asked_to(page: Page, server: Server) -> None:
    page.goto(f"{server.address}/spot?video=news.mp4&dictionary=dictionary&word=river")
    expect(page.locator("#rows tr").first).to_be_visible()
    for is_on in (False, True):
        with page.expect_request("**/api/spot/**") as request:
            page.get_by_label("With confirmed signs").set_checked(is_on)
        assert f"confirmed={str(is_on).lower()}&word=river" in request.value.url


def test_boundaries_are_dragged_and_the_hit_is_kept(page: Page, fresh: Server) -> None:
    page.goto(fresh.address + SPOT)
    set_threshold(page)
    page.locator("#rows button").last.click()
    page.evaluate("document.getElementById('video').pause()")
    before = [number_of(page.locator(f"[data-edge={side}]")) for side in ("start", "end")]
    page.locator("#timeline").scroll_into_view_if_needed()
    for side, by in (("start", -60), ("end", -40)):
        drag(page, middle(page, f"[data-edge={side}] .edge-area"), by)
    after = [number_of(page.locator(f"[data-edge={side}]")) for side in ("start", "end")]
    assert after[0] < before[0] - 0.05
    assert after[1] < before[1] - 0.05
    expect(page.locator("#hit-name")).to_contain_text(f"0:0{after[0]:.2f}–0:0{after[1]:.2f}")
    page.locator("#sign").get_by_label("Word").fill("stream")
    page.get_by_role("button", name="Add to the dictionary").click()
    expect(page.locator("#messages")).to_contain_text("was added to dictionary")
    assert len(open_dictionary(fresh.folder / "dictionary")["stream"]) == 1


def test_every_export_button_writes_what_is_shown(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(server.address + SPOT)
    set_threshold(page)
    for suffix in format_names():
        with page.expect_download() as waiting:
            page.locator(f'[data-format="{suffix}"]').click()
        waiting.value.save_as(tmp_path / f"x{suffix}")
        assert waiting.value.suggested_filename.endswith(suffix)
        assert [spotting.word for spotting in read_spottings(tmp_path / f"x{suffix}")] == ["river"] * hits(page)


def test_a_dictionary_is_made_and_edited(page: Page, fresh: Server, material: Path, tmp_path: Path) -> None:
    clips = [tmp_path / "one.mp4", tmp_path / "two.mp4"]
    for clip in clips:
        shutil.copy(material / "dictionary" / "river" / "video.mp4", clip)
    with clips[1].open("ab") as file:
        file.write(b"\0")  # another file
    page.goto(fresh.address + "/dictionary#new")
    form = page.locator("#make")
    form.get_by_label("Name").fill("my signs")
    form.get_by_label("Word").fill("river")
    form.get_by_label("Signer").fill("Ada")
    form.get_by_label("Licence").fill("CC0")
    form.get_by_label("Videos").set_input_files([str(clip) for clip in clips])
    form.locator("button").click()
    expect(page.get_by_role("heading", name="my signs")).to_be_visible()
    expect(page.locator("#words .card button")).to_have_count(2)
    page.locator("#words .card button").first.hover()
    until(page.locator("#words .card button").first, MOVES)
    page.locator("#words .card button").last.click()
    editor = page.get_by_role("dialog")
    expect(editor.get_by_label("Signer")).to_have_value("Ada")
    until(editor.locator("input[name=end]"), "(field) => Number(field.value) > 0")
    editor.get_by_label("Variant").fill("north")
    editor.get_by_label("Word").fill("stream")
    editor.get_by_label("Consent").fill("research")
    editor.locator("input[name=start]").fill("0.2")
    editor.locator("input[name=end]").fill("0.8")
    editor.get_by_role("button", name="Save").click()
    expect(page.locator("#words")).to_contain_text("variant north")
    changed = open_dictionary(fresh.folder / "my signs")["stream"][0]
    assert (changed.variant, changed.signer, changed.licence, changed.consent) == ("north", "Ada", "CC0", "research")
    assert changed.segment is not None
    assert (changed.segment.start, changed.segment.end) == (0.2, 0.8)
    download(page, page.get_by_role("link", name="ELAN vocabulary"), tmp_path / "x.ecv")
    assert set(read_vocabulary(tmp_path / "x.ecv").entries) == {"river", "stream"}
    page.locator("#words .card", has_text="stream").locator("button").click()
    editor.get_by_role("button", name="Remove").click()
    expect(page.locator("#words .card")).to_have_count(1)
    assert set(open_dictionary(fresh.folder / "my signs")) == {"river"}
    for name, part in (("my signs", "already"), ("../x", "cannot be"), (".x", "cannot be"), ("a/b", "cannot be")):
        answer = fresh.ask(
            "PUT", f"/api/dictionaries/{name.replace(' ', '%20')}/exemplar?word=a&file=a.mp4&new=true", b"x"
        )
        assert answer.status in (404, 405, 422), name
        assert answer.status != 422 or part in answer.text, name
    assert not (fresh.folder.parent / "x").exists()


def test_a_dictionary_of_landmarks_is_looked_at(page: Page, server: Server) -> None:
    """Skeletons move in the editor, beside each other, and beside what is verified."""
    page.goto(server.address + "/dictionary")
    page.get_by_role("button", name="Edit apple/apple").click()
    until(page.locator("#skeleton"), DRAWN)
    page.get_by_role("button", name="Close").click()
    page.goto(server.address + "/compare?dictionary=dictionary&word=apple")
    until(page.locator("#side canvas"), DRAWN)
    queue = server.queue(spotted(word="apple"), dictionary="dictionary")
    page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
    page.goto(f"{server.address}/verify/{queue}")
    until(page.locator("#model-skeleton"), DRAWN)
    expect(page.locator("#model-name")).to_have_text("apple/apple")


def test_compare_variants_faux_amis_and_a_learner(page: Page, fresh: Server, material: Path) -> None:
    shutil.copytree(material / "dictionary", fresh.folder / "other" / "signs")
    (fresh.folder / "other" / "signs" / "river").rename(fresh.folder / "other" / "signs" / "music")
    assert fresh.ask("GET", "/api/media/none.mp4").status == 404  # the folder is listed anew
    page.goto(fresh.address + "/compare?dictionary=dictionary")
    page.get_by_role("combobox", name="Word").fill("riv")
    page.locator("#choices [role=option]").first.click()
    expect(page.locator("#side figure")).to_have_count(2)
    video = page.locator("#side video:not([hidden])").first
    for _ in range(3):
        video.evaluate(_SEEKS)  # it moves
    page.get_by_role("button", name="Play").click()
    until(video, _STILL)
    page.get_by_role("button", name="Skeleton").click()
    page.get_by_role("button", name="Play").click()
    for canvas in page.locator("#side canvas").all():
        until(canvas, DRAWN)
    page.locator("#faux select").select_option("other/signs")
    page.locator("#faux button").click()
    expect(page.locator("#pairs .card").first).to_contain_text("river")
    expect(page.locator("#pairs .card").first).to_contain_text("music")
    page.locator("#pairs .card").first.hover()
    until(page.locator("#pairs .card").first, MOVES)
    assert "compare it" in drop(page, material / "dictionary" / "river" / "video.mp4", "me.mp4")
    expect(page.locator("#feedback")).to_be_visible()
    expect(page.locator("#differences .big")).to_contain_text("river")
    expect(page.locator("#side figure.mine")).to_have_count(1)
    page.get_by_role("combobox", name="Word").fill("apple")
    page.keyboard.press("Escape")
    drop(page, material / "dictionary" / "river" / "river.pose", "me.pose")
    expect(page.locator("#differences .big")).to_contain_text("“apple” is number")
    expect(page.locator("#differences")).to_contain_text("river")


def answer(page: Page, server: Server, queue: str, keys: str) -> None:
    page.goto(f"{server.address}/verify/{queue}")
    for key in keys:
        page.locator("#work").wait_for()
        page.keyboard.press(key)
    until_sent(page, queue)


def test_items_shown_twice_give_kappa_bars_and_a_gallery(browser: Browser, page: Page, confirming: Server) -> None:
    queue = make_queue(confirming, 6, share=1.0)
    for who, keys in (("Ada", "yynnuy"), ("Ben", "yynnny")):
        with visitor(browser, who) as person:
            answer(person, confirming, queue, keys)
    page.goto(f"{confirming.address}/verify/{queue}/results")
    expect(page.locator("section", has_text="Cohen").first).to_contain_text("items: 6, equal: 83 %")
    expect(page.locator("section", has_text="Cohen").first).to_contain_text("0.71")  # (5/6 - 15/36) / (1 - 15/36)
    expect(page.locator(".bars li")).to_contain_text("river")
    cards = page.locator("#gallery .card")
    expect(cards).to_have_count(6)
    for decision, count in (("yes", 3), ("no", 2), ("unsure", 1)):
        page.locator("#filter select[name=decision]").select_option(decision)
        expect(cards).to_have_count(count)
    page.locator("#filter select[name=decision]").select_option("")
    page.locator("#filter select[name=word]").select_option("river")
    expect(cards).to_have_count(6)
    expect(cards.first).to_contain_text("Ada: yes, Ben: yes")
    cards.first.hover()
    until(cards.first, MOVES)


def test_videos_stand_still_when_asked_to_and_for_whom_movement_is_too_much(browser: Browser, server: Server) -> None:
    queue = make_queue(server, 2)
    still = "(video) => video.readyState > 1 && video.paused"
    moving = "(video) => !video.paused && video.currentTime > 0"
    for motion, order in (("reduce", (still, moving, still)), ("no-preference", (moving, still, moving))):
        with visitor(browser, "Dee", reduced_motion=motion) as page:
            page.goto(f"{server.address}/verify/{queue}")
            for state in order:
                until(page.locator("#slot video"), state)
                until(page.locator("#model"), state)
                page.keyboard.press("p")
            page.goto(server.address + SPOT)
            set_threshold(page)
            page.locator("#rows tr button").first.click()
            for state in order:
                until(page.locator("#hit-video"), state)
                page.get_by_role("button", name="Play the hit and its exemplar").click()


def test_keys_shift_boundaries_slow_down_and_name_words(page: Page, confirming: Server) -> None:
    queue = make_queue(confirming, 2)
    page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
    page.goto(f"{confirming.address}/verify/{queue}")
    page.locator("#work").wait_for()
    for key in "[[].,,":
        page.keyboard.press(key)
    expect(page.locator("#span")).to_have_text("0:00.26 – 0:00.66")
    page.keyboard.press("h")
    expect(page.locator("#half")).to_have_attribute("aria-pressed", "true")
    assert page.locator("#slot video").evaluate("(video) => video.playbackRate") == 0.5
    page.keyboard.press("w")
    page.locator("#which-word").press_sequentially("app")
    option = page.locator("#choices [role=option]").first
    expect(option).to_have_text("apple")
    until(option.locator("img"), "(image) => image.naturalWidth > 0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until_sent(page, queue)
    [row] = decisions(confirming, queue)
    assert (row["answer"], row["word"], float(row["start"]), float(row["end"])) == ("word", "apple", 0.26, 0.66)


def test_files_dropped_on_the_library_are_uploaded(page: Page, fresh: Server, material: Path) -> None:
    page.goto(fresh.address)
    assert "Drop to add" in drop(page, material / "news.mp4", "dropped talk.mp4")
    expect(page.locator("#uploads li")).to_contain_text("added: dropped talk.mp4")
    assert page.locator("#uploads progress").evaluate("(bar) => bar.value") == 1
    job = page.locator("#jobs li", has_text="dropped talk.mp4")
    page.get_by_role("button", name="Cancel dropped talk.mp4").click()
    expect(job).to_contain_text("cancelled")
    page.get_by_role("button", name="Resume dropped talk.mp4").click()
    expect(job).to_contain_text("running")
    page.get_by_role("button", name="Cancel dropped talk.mp4").click()
    expect(job).to_contain_text("cancelled")
    page.reload()
    expect(page.locator("#videos .card", has_text="dropped talk.mp4")).to_be_visible()
    thumbnails = page.locator("section", has=page.get_by_role("heading", name="Dictionaries")).locator(".card img")
    until(thumbnails, "(image) => image.naturalWidth > 0")


def test_the_language_is_changed_where_one_is(page: Page, server: Server) -> None:
    page.goto(server.address + SPOT)
    page.get_by_role("link", name="DE", exact=True).click()
    expect(page.get_by_role("heading", name="Untertitel")).to_be_visible()
    assert page.url.endswith(SPOT), "the same page"
    expect(page.locator(".panel-head output")).to_contain_text("Treffer")
    page.get_by_role("link", name="EN", exact=True).click()
    expect(page.get_by_role("heading", name="Subtitles")).to_be_visible()


def test_a_finger_drags_the_threshold_and_chooses_a_peak(browser: Browser, server: Server) -> None:
    """On a phone a drag over the handle moves it, and not the page."""
    with visitor(browser, viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True) as page:
        page.goto(server.address + SPOT)
        set_threshold(page)
        grip = page.get_by_role("slider", name="Threshold of river")
        expect(page.locator(".peak:not(.off)")).not_to_have_count(0)
        grip.scroll_into_view_if_needed()
        before, scrolled = number_of(grip), page.evaluate("scrollY")
        x, y = middle(page, ".grip")
        session = page.context.new_cdp_session(page)

        def touch(kind: str, *points: dict[str, float]) -> None:
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

        touch("touchStart", {"x": x, "y": y})
        for step in range(1, 9):
            touch("touchMove", {"x": x, "y": y + 5 * step})
        touch("touchEnd")
        until(grip, f"(grip) => Number(grip.getAttribute('aria-valuenow')) < {before} - 0.1")
        assert page.evaluate("scrollY") == scrolled
        x, y = middle(page, ".peak:not(.off)")
        page.touchscreen.tap(x + 10, y)  # beside it
        expect(page.locator("#rows tr[aria-selected=true]")).to_have_count(1)
        small = """() => [...document.querySelectorAll("main :is(button, a.button, select, input), label.button")]
          .filter((each) => each.offsetParent && !each.closest(".exemplars, td, .subtitles, .hidden-input"))
          .map((each) => [each.id || each.textContent, each.getBoundingClientRect().height])
          .filter(([, high]) => high < 36)"""
        assert page.evaluate(small) == [], "nothing is too small for a finger"


def decided(row: dict[str, Any]) -> tuple[Any, ...]:
    span = round(float(row["start"]), 2), round(float(row["end"]), 2)
    return row["answer"], row["spotted_word"], row["time"], row["word"], *span


def test_a_linguists_journey(
    page: Page, tmp_path: Path, signing: Any, bench_cache: Path, serve: Callable[..., Server]
) -> None:
    """An empty folder: upload a video, make a dictionary of two clips, spot, correct, verify, ELAN out and in again."""
    talk, folder = tmp_path / "talk.mp4", tmp_path / "folder"
    folder.mkdir()
    render_sign(talk, signing.footage)
    remember(talk, signing.footage, bench_cache)
    clips = [tmp_path / f"{word}.mp4" for word in ("river", "apple")]
    for clip in clips:
        render_sign(clip, signing.exemplars[clip.stem])
        remember(clip, signing.exemplars[clip.stem], bench_cache)
    server = serve(folder=folder)
    page.goto(server.address)
    expect(page.get_by_role("heading", name="Try it")).to_be_visible()  # the folder is empty
    page.get_by_role("link", name="Library", exact=True).click()
    page.locator("#files").set_input_files(str(talk))
    expect(page.locator("#uploads li")).to_contain_text("added: talk.mp4")
    expect(page.locator("#jobs li", has_text="talk.mp4")).to_contain_text("done")
    page.get_by_role("link", name="New dictionary").click()
    form = page.locator("#make")
    form.get_by_label("Word").fill("river")
    form.get_by_label("Videos").set_input_files(str(clips[0]))
    form.locator("button").click()
    add = page.locator("#add")
    add.get_by_label("Word").fill("apple")
    add.get_by_label("Videos").set_input_files(str(clips[1]))
    add.locator("button").click()
    expect(page.locator("#words .card")).to_have_count(2)
    page.goto(f"{server.address}/spot?video=talk.mp4&dictionary=dictionary")
    page.get_by_role("combobox", name="Word").fill("river, apple")
    page.get_by_role("button", name="Find").click()
    for word in ("river", "apple"):
        page.get_by_role("slider", name=f"Threshold of {word}").focus()
        for _ in range(20):
            page.keyboard.press("PageDown")
    until(page, _TABLE_FOLLOWS)
    assert hits(page) >= 4
    best = page.locator("#rows tr").all()[0]
    best.locator("button").click()
    before = number_of(page.locator("[data-edge=end]"))
    page.locator("#timeline").scroll_into_view_if_needed()
    drag(page, middle(page, "[data-edge=end] .edge-area"), 12)
    corrected = number_of(page.locator("[data-edge=end]"))
    assert corrected != before
    page.get_by_role("button", name="Verify these").click()
    page.wait_for_url("**/verify/*")
    queues = [page.url.rpartition("/")[2]]
    (folder / "again.jsonl").write_bytes(server.ask("GET", f"/api/queues/{queues[0]}/export?format=.jsonl").body)
    same = {"name": "again", "dictionary": "dictionary", "file": "again.jsonl"}  # to read the decisions back into
    queues.append(server.ask("POST", "/api/queues", same).json["id"])
    page.get_by_label("Your name").fill("Ada")
    page.keyboard.press("Enter")
    for key in "ynuv":
        page.locator("#work").wait_for()
        page.keyboard.press(key)
    until_sent(page, queues[0])
    page.goto(f"{server.address}/verify/{queues[0]}/results")
    download(page, page.get_by_role("link", name="ELAN"), tmp_path / "talk.eaf")
    written = read_spottings(tmp_path / "talk.eaf")
    assert any(abs(spotting.end - corrected) < 0.006 for spotting in written), "the boundary as it was dragged"
    page.goto(f"{server.address}/verify/{queues[1]}/results")
    page.locator("#back").set_input_files(str(tmp_path / "talk.eaf"))
    expect(page.locator("#messages")).to_contain_text("decisions read: 4")
    first, second = (sorted(map(decided, decisions(server, queue))) for queue in queues)
    assert first == second
    assert [row[0] for row in first] == ["no", "unsure", "variant", "yes"]
    again = server.ask("GET", f"/api/queues/{queues[1]}/export?format=.eaf")
    (tmp_path / "again.eaf").write_bytes(again.body)
    assert [
        (s.word, s.start, s.end, s.decision, s.variant, s.source) for s in read_spottings(tmp_path / "again.eaf")
    ] == [(s.word, s.start, s.end, s.decision, s.variant, s.source) for s in written]


def test_videos_are_kept_that_are_given_before_the_script_is_there(
    page: Page, material: Path, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    """As on a busy machine or over a slow line: what people enter meanwhile is not lost."""
    (tmp_path / "folder").mkdir()
    shutil.copy(material / "news.pose", tmp_path / "folder")
    fresh = serve(folder=tmp_path / "folder")
    script = fresh.held["/static/dictionary.js"] = threading.Semaphore(0)
    page.goto(fresh.address)
    page.get_by_role("link", name="New dictionary").click()
    form = page.locator("#make")
    form.get_by_label("Word").fill("river")
    form.get_by_label("Videos").set_input_files(material / "dictionary" / "river" / "river.pose")
    expect(form.locator("button")).to_be_disabled()
    script.release(9)
    form.locator("button").click()
    expect(page.locator("#words .card")).to_have_count(1)
    listed: Any = fresh.ask("GET", "/api/dictionaries/dictionary/words").json
    assert [entry["word"] for entry in listed["words"]] == ["river"]


_FREE = """
() => {
  const strip = document.querySelector(".tier-signs"), box = strip.getBoundingClientRect();
  const taken = [...strip.querySelectorAll(".sign rect")].map((bar) => bar.getBoundingClientRect());
  for (let x = box.left + 10; x < box.right - 60; x += 5)
    if (taken.every((bar) => bar.right < x - 5 || bar.left > x + 50)) return [x, box.top + box.height / 2];
}
"""  # a point of the first tier with room for a sign on its right


def saved(server: Server) -> list[dict[str, Any]]:
    """The signs that are stored for the video."""
    signs: list[dict[str, Any]] = server.ask("GET", "/api/signs/news.mp4").json["signs"]
    return signs


def until_saved(server: Server, condition: Any) -> list[dict[str, Any]]:
    wait_until(lambda: condition(saved(server)), "the signs to be stored")
    return saved(server)


def test_all_words_on_one_timeline_are_filtered_and_followed(page: Page, fresh: Server) -> None:
    page.goto(f"{fresh.address}/spot?video=news.mp4&dictionary=dictionary")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Type a word first")
    page.get_by_role("button", name="All words").click()
    expect(page.locator(".tier")).not_to_have_count(0)
    answer = fresh.ask("GET", "/api/spot/news.mp4?dictionary=dictionary").json
    assert answer["searched"] == len(open_dictionary(fresh.folder / "dictionary"))
    default = {
        word["word"]: [hit for hit in word["hits"] if hit["score"] >= word["threshold"]] for word in answer["words"]
    }
    expect(page.locator("#rows tr")).to_have_count(sum(map(len, default.values())))
    assert "all=1" in page.url
    word = max(default, key=lambda name: len(default[name]))
    page.locator("#filter").get_by_label("Filter by word").fill(word)
    expect(page.locator("#rows tr")).to_have_count(len(default[word]))
    expect(page.locator(".tier .sign")).to_have_count(len(default[word]))
    page.locator("#filter").get_by_label("Confidence").select_option("hand")
    expect(page.locator("#rows tr")).to_have_count(0)
    expect(page.locator("#nothing")).to_contain_text("filters")
    page.locator("#filter").get_by_label("Confidence").select_option("")
    at = "document.querySelector('.timeline-cursor').style.left"
    before = page.evaluate(at)
    page.evaluate("document.getElementById('video').currentTime = 2")
    until(page, f"() => {at} !== '{before}'")  # the cursor follows the video
    window = page.get_by_role("slider", name="Visible part of the video")
    full_range = window.get_attribute("aria-valuetext")
    page.get_by_role("button", name="Show less time").click()
    assert window.get_attribute("aria-valuetext") != full_range
    start = number_of(window)
    window.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert number_of(window) < start


_CHOSEN_IS_LISTED = """
() => {
  const row = document.querySelector('#rows [aria-selected="true"]').getBoundingClientRect();
  const list = document.querySelector(".found").getBoundingClientRect();
  return list.top <= row.top && row.bottom <= list.bottom + 1;
}
"""


def test_signs_are_added_moved_resized_noted_deleted_and_undone(page: Page, fresh: Server, tmp_path: Path) -> None:
    page.goto(fresh.address + SPOT)
    set_threshold(page)
    count = hits(page)
    page.locator("#timeline").scroll_into_view_if_needed()
    drag(page, tuple(page.evaluate(_FREE)), 40)
    expect(page.locator("#rows tr")).to_have_count(count + 1)
    [sign] = until_saved(fresh, lambda signs: len(signs) == 1)
    assert (sign["word"], sign["source"], sign["decision"]) == ("river", "V", "yes")
    page.locator("#sign").get_by_label("Word").fill("lake")
    page.locator("#sign").get_by_label("Note").fill("one hand only")
    page.locator("#sign").get_by_label("Note").press("Tab")
    [noted] = until_saved(fresh, lambda signs: signs[0]["note"] == "one hand only")
    assert noted["word"] == "lake"
    expect(page.locator(".tier-name")).to_have_text(["river", "lake"])
    block = page.locator(".tier .sign.chosen")
    block.focus()
    page.keyboard.press("ArrowLeft")
    [moved] = until_saved(fresh, lambda signs: signs[0]["start"] < noted["start"])
    assert moved["start"] == pytest.approx(noted["start"] - 0.04, abs=0.002)
    assert moved["end"] - moved["start"] == pytest.approx(noted["end"] - noted["start"], abs=0.002)
    drag(page, middle(page, ".tier .sign.chosen rect"), 80)
    [dragged] = until_saved(fresh, lambda signs: signs[0]["start"] > moved["start"] + 0.05)
    page.get_by_role("slider", name="End of the sign").focus()
    page.keyboard.press("ArrowRight")
    [resized] = until_saved(fresh, lambda signs: signs[0]["end"] > dragged["end"])
    assert resized["start"] == dragged["start"]
    page.evaluate("document.querySelector('.found').style.height = '90px'")  # two lines
    page.locator(".tier .sign").last.press("Enter")
    until(page, _CHOSEN_IS_LISTED)
    page.locator(".tier .sign").first.press("Enter")
    until(page, _CHOSEN_IS_LISTED)
    page.locator("#rows tr", has_text="river").first.locator("button").click()
    page.get_by_role("button", name="Delete the sign").click()
    expect(page.locator("#rows tr")).to_have_count(count)  # one was added, one that was found is deleted
    until_saved(fresh, lambda signs: [sign["deleted"] for sign in signs] == [False, True])
    page.reload()
    set_threshold(page)
    expect(page.locator("#rows tr")).to_have_count(count)  # kept over a reload
    download(page, page.locator('[data-format=".jsonl"]'), tmp_path / "x.jsonl")
    written = {spotting.word: spotting for spotting in read_spottings(tmp_path / "x.jsonl")}
    assert written["lake"].note == "one hand only"
    assert written["lake"].end == pytest.approx(resized["end"])
    page.keyboard.press("a")
    expect(page.locator("#rows tr")).to_have_count(count + 1)
    page.keyboard.press("Escape")
    page.locator("#timeline-title").click()
    page.get_by_role("button", name="undo", exact=True).click()
    expect(page.locator("#rows tr")).to_have_count(count)
    page.get_by_role("button", name="redo").click()
    expect(page.locator("#rows tr")).to_have_count(count + 1)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+z")
    expect(page.locator("#rows tr")).to_have_count(count)
    until_saved(fresh, lambda signs: len(signs) == 2)


def test_a_sign_is_added_by_hand_before_a_search_and_a_recording_needs_a_dictionary(
    page: Page, fresh: Server, serve: Callable[..., Server], tmp_path: Path
) -> None:
    page.goto(f"{fresh.address}/spot?video=news.mp4&dictionary=dictionary")
    expect(page.locator(".overview")).to_be_visible()
    page.get_by_role("button", name="Add a sign").click()
    expect(page.locator(".tier-name")).to_have_text(["sign"])
    until_saved(fresh, lambda signs: len(signs) == 1)
    (tmp_path / "empty").mkdir()
    page.goto(serve(folder=tmp_path / "empty").address + "/sign")
    expect(page.locator("#timing")).to_contain_text("listed here after a search")
    page.get_by_role("button", name="Record").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a dictionary first")


def test_a_name_is_asked_for_and_the_queue_shows_how_far_everybody_is(browser: Browser, confirming: Server) -> None:
    """By keyboard alone."""
    queue = make_queue(confirming, 12)
    with visitor(browser) as ada, visitor(browser, "Ben") as ben:
        ada.goto(f"{confirming.address}/verify/{queue}")
        expect(ada.get_by_role("dialog")).to_contain_text("Who is deciding?")
        expect(ada.get_by_role("alert")).to_be_hidden()
        ada.keyboard.type("Ada")
        ada.keyboard.press("Enter")
        expect(ada.locator("#number")).to_have_text("1 of 12")
        ben.goto(f"{confirming.address}/verify/{queue}")
        for number in (1, 2):
            expect(ben.locator("#number")).to_have_text(f"{number} of 12")
            ben.locator("#work").wait_for()
            ben.keyboard.press("y")
        until_sent(ben, queue)
        expect(ada.locator("#number")).to_have_text("3 of 12")
        expect(ada.locator("#people")).to_have_text("Ben: 2")
        ada.locator("#work").wait_for()
        until(ada.locator("#slot video"), "(video) => video.readyState > 1")
        ada.keyboard.press("p")
        video = ada.locator("#slot video")
        before = video.evaluate("(video) => video.currentTime")
        ada.keyboard.press("ArrowRight")
        until(video, f"(video) => Math.abs(video.currentTime - {before} - 1) < 0.05")
        ada.keyboard.press("ArrowLeft")
        until(video, f"(video) => Math.abs(video.currentTime - {before}) < 0.05")
        ada.keyboard.press("p")
        until(video, "(video) => video.currentTime > 0.75")  # the sign ends at 0.7: the second after it plays, too
        ada.keyboard.press("n")
        until_sent(ada, queue)
        expect(ada.locator("#people")).to_have_text("Ada: 1 · Ben: 2")
        expect(ada.locator("#number")).to_have_text("4 of 12")
        ada.goto(f"{confirming.address}/verify")
        row = ada.locator(".queues li", has=ada.locator(f'a[href="/verify/{queue}"]'))
        expect(row).to_contain_text("3 of 12 decided")
        ben.keyboard.press("y")
        until_sent(ben, queue)
        expect(row).to_contain_text("4 of 12 decided")  # without a reload


def test_add_pressed_twice_sends_once_words_open_and_counts_refresh(page: Page, fresh: Server, material: Path) -> None:
    page.goto(fresh.address + "/dictionary?name=dictionary")
    expect(page.locator("#words .card")).to_have_count(4)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
    form = page.locator("#add")
    form.get_by_label("Word").fill("lake")
    form.get_by_label("Videos").set_input_files(material / "dictionary" / "apple" / "apple.pose")
    form.locator("button").evaluate("(button) => { button.click(); button.click(); button.form.requestSubmit(); }")
    expect(page.locator("#words .card")).to_have_count(5)
    assert len(sent) == 1
    expect(page.locator("#count")).to_contain_text("5")
    page.get_by_role("link", name="apple").click()
    expect(page.locator("#side figure")).to_have_count(1)
    page.goto(fresh.address)
    expect(page.locator("#counts")).to_contain_text("videos: 1")
    shutil.copy(material / "news.mp4", fresh.folder / "second.mp4")
    fresh.ask("POST", "/api/jobs", {"kind": "prepare", "video": "second.mp4"})
    expect(page.locator("#counts")).to_contain_text("videos: 2")


@pytest.fixture(scope="session")
def two_signs(tmp_path_factory: pytest.TempPathFactory, signing: Any) -> Path:
    """What a fake camera sees: for some seconds one sign, then another, then a sentence with both; again and again.

    The colour of a corner says which of the three it is.
    """
    folder = tmp_path_factory.mktemp("try")
    parts = {name: signing.exemplars[name] for name in ("river", "apple")} | {"sentence": signing.footage}
    images: list[Any] = []
    for (name, landmarks), colour in zip(parts.items(), CORNERS.values(), strict=True):
        render_sign(folder / f"{name}.mp4", landmarks)
        with open_video(folder / f"{name}.mp4", max_side=480) as video:
            frames = [frame.image.copy() for frame in video.resampled(25.0)]
        for frame in frames:
            frame[:24, :24] = colour
        images += (frames * (1 + SEGMENT // len(frames)))[:SEGMENT]
    return write_camera_file(images, folder / "two.y4m")


CORNERS = {"river": (255, 0, 0), "apple": (0, 255, 0), "sentence": (0, 0, 255)}
SEGMENT = 300  # frames of each sign in the fake camera: twelve seconds
_CORNER = """
() => {
  const camera = document.getElementById("camera"), canvas = document.createElement("canvas");
  if (!camera.videoWidth) return -1;
  Object.assign(canvas, { width: camera.videoWidth, height: camera.videoHeight });
  canvas.getContext("2d").drawImage(camera, 0, 0);
  const [red, green, blue] = canvas.getContext("2d").getImageData(8, 8, 1, 1).data;
  return [red, green, blue].indexOf(Math.max(red, green, blue));
}
"""


def wait_for_sign(page: Page, name: str) -> None:
    """Until the camera begins to show something: all of its seconds are ahead."""
    number = list(CORNERS).index(name)
    until(page, f"() => ({_CORNER})() !== {number}")
    until(page, f"() => ({_CORNER})() === {number}")


def record_all(page: Page, names: tuple[str, ...]) -> None:
    """Record every step of "Try it"; each when the camera begins to show a sign, or at once without a name."""
    page.get_by_role("button", name="Start the camera").click()
    for number, name in enumerate(names):
        button = page.locator("[data-take]").nth(number)
        expect(button).to_be_enabled()
        if name:
            wait_for_sign(page, name)
        button.click()
        expect(button).to_have_class(re.compile("taken"))
    page.get_by_role("button", name="Search the sentence").click()
    expect(page.locator("#results")).to_be_visible()


@pytest.mark.long
def test_a_first_try_with_two_signs_and_a_sentence(
    player: Playwright, two_signs: Path, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    """An empty folder opens with "Try it": record, find, keep a first dictionary; try again, and throw it away."""
    (tmp_path / "folder").mkdir()
    server = serve(folder=tmp_path / "folder")
    with browser_with_camera(player, two_signs) as browser:
        page = browser.new_context(permissions=["camera"]).new_page()
        page.set_default_timeout(LIMIT)
        outside: list[str] = []
        page.on("request", lambda request: outside.append(request.url) if server.address not in request.url else None)
        page.goto(server.address)
        page.wait_for_url("**/try")
        for number, word in enumerate(("river", "apple")):
            page.locator("#steps").get_by_label("Word").nth(number).fill(word)
        record_all(page, ("river", "river", "apple", "apple", "sentence"))
        expect(page.locator("#summary")).to_contain_text("“river” was found")
        expect(page.locator(".tier-name")).to_have_text(["river", "apple"])
        page.locator("#rows tr button").first.click()
        until(page.locator("#sentence"), "(video) => video.currentTime > 0")
        assert [path.name for path in server.folder.iterdir()] == [".signspot"], "nothing is stored"
        page.get_by_role("button", name="Keep as my first dictionary").click()
        page.wait_for_url("**/dictionary?*")
        expect(page.locator("#words .card")).to_have_count(2)
        dictionary = open_dictionary(server.folder / "my signs")
        assert {word: len(exemplars) for word, exemplars in dictionary.items()} == {"river": 2, "apple": 2}
        stored = sorted(path.name for path in server.folder.iterdir())
        assert stored == [".signspot", "my sentence.webm", "my signs"]
        page.goto(server.address + "/try")
        expect(page.locator("#keep").get_by_label("Name")).to_have_value("my signs 2")
        record_all(page, ("", "", "", "", ""))
        recordings = server.recordings()
        page.get_by_role("button", name="Delete the recordings").click()
        expect(page.locator("#results")).to_be_hidden()
        expect(page.locator(".taken")).to_have_count(0)
        assert sorted(path.name for path in server.folder.iterdir()) == stored
        assert recordings >= 5
        wait_until(lambda: server.recordings() <= recordings - 5, "the server to forget their landmarks")
        assert [url for url in outside if not url.startswith("blob:")] == [], "it works offline"
