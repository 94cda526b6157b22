"""Journeys of people in a real browser: search, jump, drag the threshold, sign, upload, verify, undo, export."""

import csv
import io
import json
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from signspot.formats.formats import read_spottings
from signspot.types import Spotting

from .conftest import Server

HOSTILE = "<img src=x onerror=alert(1)>\"'&amp;.mp4"
SPOT = "/spot?video=news.mp4&dictionary=dictionary&word=river"
pytestmark = pytest.mark.slow
expect.set_options(timeout=60_000)  # a busy machine is no reason to fail


def until(page: Page, condition: str, seconds: float = 120.0) -> None:
    """Wait for a condition in a page whose policy lets no text be run as a script: it is asked again and again."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        time.sleep(0.1)


def hits(page: Page) -> int:
    return page.locator("#rows tr").count()


def test_spot_jump_threshold_edges_and_export(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(server.address + SPOT)
    page.locator(".peak:not(.off)").first.click()
    start = float(page.locator("#rows tr[aria-selected=true]").get_attribute("data-start") or "nan")
    until(page, "document.getElementById('film').currentTime > 0 || document.getElementById('film').seeking")
    assert page.evaluate("document.getElementById('film').currentTime") >= start - 0.05
    before, asked = hits(page), []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("document.getElementById('film').pause()")
    slider = page.get_by_role("slider", name="Threshold of river")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2 + 60, steps=5)
    page.mouse.up()
    until(page, f"document.querySelectorAll('#rows tr').length > {before}")
    assert not [url for url in asked if "/api/spot" in url], "the threshold asks nobody"
    said = page.locator(".panel-head output").inner_text()
    assert said.startswith(f"hits: {hits(page)} ·")
    slider.focus()
    for _ in range(60):
        page.keyboard.press("ArrowUp")
    expect(page.locator("#rows tr")).to_have_count(0)
    for _ in range(100):
        page.keyboard.press("ArrowDown")
    page.locator("#rows tr button").first.click()
    edge = page.get_by_role("slider", name="Start of the sign")
    edge.focus()
    moved = float(edge.get_attribute("aria-valuenow") or "nan")
    page.keyboard.press("ArrowRight")
    assert float(page.locator("[data-edge=start]").get_attribute("aria-valuenow") or "nan") == pytest.approx(
        moved + 0.04
    )
    with page.expect_download() as waiting:
        page.get_by_role("button", name="ELAN").click()
    waiting.value.save_as(tmp_path / "x.eaf")
    written = read_spottings(tmp_path / "x.eaf")
    assert len(written) == hits(page)
    assert any(abs(spotting.start - moved - 0.04) < 0.002 for spotting in written), "edges as they were dragged"


def test_words_complete_and_mistakes_are_told(page: Page, server: Server) -> None:
    page.goto(f"{server.address}/spot?video=news.mp4&dictionary=dictionary")
    page.get_by_role("combobox", name="Word").fill("rivr")
    expect(page.locator("#choices [role=option]").first).to_contain_text("Did you mean river")
    page.get_by_role("combobox", name="Word").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'river'?")
    page.locator("#subtitles button", has_text="apples").click()
    expect(page.locator(".panel h3")).to_have_text("apple")


def test_sign_to_search_with_the_fake_camera(page: Page, server: Server) -> None:
    assert server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").status == 200  # its track is there
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {urlsplit(request.url).path}"))
    page.goto(f"{server.address}/sign")
    assert page.locator("#camera").evaluate("(film) => getComputedStyle(film).transform").startswith("matrix(-1")
    page.get_by_role("button", name="Record").click()
    expect(page.locator("#words .card strong").first).to_have_text("river", timeout=240_000)
    expect(page.locator("#places .card strong").first).to_have_text("news.mp4")
    left = server.folder / ".signspot" / "uploads"
    assert not left.is_dir() or not list(left.iterdir()), "the recording is not kept"
    assert "PUT /api/sign" not in asked, "the server looked while the recording was made"
    sent = len([line for line in asked if line.endswith("/pictures")])
    assert sent > 5
    page.locator("#from").fill("10")
    page.get_by_role("button", name="Search again").click()
    until(page, "document.getElementById('nothing').hidden && document.querySelectorAll('#words .card').length > 0")
    assert len([line for line in asked if line.endswith("/pictures")]) == sent, "nothing is recorded or sent again"


def test_landmarks_without_a_film_are_played_as_skeletons(page: Page, server: Server) -> None:
    shutil.copy(server.folder / "news.pose", server.folder / "talk.pose")
    row = {"word": "river", "video": "talk.pose", "time": 1.0, "start": 0.8, "end": 1.2, "score": 0.9}
    queue = server.ask("POST", "/api/queues", {"name": "bones", "rows": [row]}).json["id"]
    drawn = """(() => {
        const seen = document.querySelector('#screen canvas, #slot canvas'), size = [seen.width, seen.height];
        return size[0] > 0 && seen.getContext('2d').getImageData(0, 0, ...size).data.some((value) => value > 0);
    })()"""
    try:
        page.goto(f"{server.address}/spot?video=talk.pose&dictionary=dictionary&word=river")
        page.get_by_role("button", name="Play", exact=True).click()
        until(page, drawn)
        page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
        page.goto(f"{server.address}/verify/{queue}")
        page.locator("#slot canvas").wait_for()
        until(page, drawn)
    finally:
        (server.folder / "talk.pose").unlink()


def make_queue(server: Server, count: int, share: float = 0.0) -> str:
    rows = [
        {"word": "river", "video": "news.mp4", "time": k / 10 + 0.5, "start": k / 10 + 0.3, "end": k / 10 + 0.7,
         "score": 0.9, "exemplar": "river/film"}
        for k in range(count)
    ]  # fmt: skip
    body = {"name": "rivers", "dictionary": "dictionary", "rows": rows, "share": share}
    return str(server.ask("POST", "/api/queues", body).json["id"])


def verdicts(server: Server, queue: str) -> list[dict[str, Any]]:
    text = server.ask("GET", f"/api/queues/{queue}/export?format=.decisions.csv").text
    return list(csv.DictReader(io.StringIO(text)))


def test_verify_with_keys_undo_and_two_people_at_once(browser: Browser, server: Server) -> None:
    queue = make_queue(server, 12)
    pages = []
    for who in ("Ada", "Ben"):
        context = browser.new_context()
        context.set_default_timeout(120_000)
        opened = context.new_page()
        opened.add_init_script(f"localStorage.setItem('signspot-who', {json.dumps(who)})")
        opened.goto(f"{server.address}/verify/{queue}")
        opened.locator("#work").wait_for()
        pages.append(opened)
    ada, ben = pages
    for key in ("y", "n", "u"):
        ada.keyboard.press(key)
        ben.keyboard.press(key)
        for opened in pages:
            opened.locator("#work").wait_for()
    ada.keyboard.press("[")
    ada.keyboard.press("v")
    ada.keyboard.press("z")
    expect(ada.locator("#told")).to_contain_text("Undone", timeout=60_000)
    ada.keyboard.press("w")
    ada.locator("#which-word").fill("apple")
    ada.locator("#which-word").press("Enter")
    until(ada, "localStorage.getItem('signspot-decisions-" + queue + "') === '[]'")
    until(ben, "localStorage.getItem('signspot-decisions-" + queue + "') === '[]'")
    rows = verdicts(server, queue)
    standing = [row for row in rows if not row["withdrawn"]]
    assert sorted((row["annotator"], row["answer"]) for row in standing) == [
        ("Ada", "no"), ("Ada", "unsure"), ("Ada", "word"), ("Ada", "yes"), ("Ben", "no"), ("Ben", "unsure"),
        ("Ben", "yes"),
    ]  # fmt: skip
    assert len({row["item"] for row in standing}) == len(standing), "nothing was handed out twice"
    assert [row["answer"] for row in rows if row["withdrawn"]] == ["variant"]
    assert all(float(row["seconds"]) > 0 for row in standing)
    for opened in pages:
        opened.context.close()


def test_a_server_that_goes_away_loses_no_decision(browser: Browser, material: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(material, folder)
    server = Server(folder=folder).start()
    queue = make_queue(server, 6)
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
    page.goto(f"{server.address}/verify/{queue}")
    page.locator("#work").wait_for(timeout=120_000)
    server.stop()
    page.keyboard.press("y")
    page.keyboard.press("n")
    expect(page.get_by_role("alert")).to_contain_text("does not answer", timeout=120_000)
    server.start()
    until(page, "localStorage.getItem('signspot-decisions-" + queue + "') === '[]'")
    assert [row["answer"] for row in verdicts(server, queue)] == ["yes", "no"]
    context.close()
    server.stop()


def test_upload_with_progress_and_cancel(page: Page, server: Server, material: Path, tmp_path: Path) -> None:
    film = tmp_path / "my talk.mp4"
    shutil.copy(material / "news.mp4", film)
    page.goto(server.address)
    page.locator("#files").set_input_files([str(film)])
    expect(page.locator("#uploads li")).to_contain_text("there: my talk.mp4")
    page.get_by_role("button", name="Cancel my talk.mp4").click()
    expect(page.locator("#jobs li", has_text="my talk.mp4")).to_contain_text("cancelled")
    assert (server.folder / "my talk.mp4").is_file()
    server.ask("POST", "/api/jobs/clear")
    (server.folder / "my talk.mp4").unlink()


def test_hostile_names_stay_text(page: Page, server: Server, material: Path) -> None:
    film = server.folder / HOSTILE.replace("/", "")
    shutil.copy(material / "news.mp4", film)
    (server.folder / film.with_suffix(".vtt").name).write_text(
        "WEBVTT\n\n00:00.000 --> 00:09.000\n<script>alert(2)</script> &lt;b&gt; river\n"
    )
    spotting = Spotting(HOSTILE, film.name, 1.0, 0.8, 1.2, 0.9, HOSTILE)
    row = {
        "word": spotting.word,
        "video": film.name,
        "time": 1.0,
        "start": 0.8,
        "end": 1.2,
        "score": 0.9,
        "exemplar": HOSTILE,
    }
    try:
        queue = server.ask(
            "POST", "/api/queues", {"name": HOSTILE, "dictionary": "dictionary", "rows": [row] * 2}
        ).json["id"]
        item = server.ask("POST", f"/api/queues/{queue}/next?annotator=x", {}).json[0]["item"]
        told = {
            "id": "hostile-1",
            "item": item,
            "annotator": HOSTILE,
            "answer": "word",
            "word": HOSTILE,
            "start": 0.8,
            "end": 1.2,
        }
        assert server.ask("POST", f"/api/queues/{queue}/decisions", told).status == 200
        page.add_init_script("localStorage.setItem('signspot-who', '<b>x</b>')")
        for place in ("/", "/spot", "/verify", f"/verify/{queue}", f"/verify/{queue}/results"):
            page.goto(server.address + place)
            page.wait_for_load_state("networkidle")
            assert page.locator("img[src=x], #main b, #main script").count() == 0
        assert HOSTILE in page.locator("#gallery").inner_text()
        page.goto(server.address + "/")
        expect(page.locator(".card strong", has_text=film.name).first).to_be_visible()
    finally:
        for path in server.folder.glob("<img*"):
            path.unlink()


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_page_is_accessible(page: Page, server: Server, language: str) -> None:
    queue = make_queue(server, 3)
    item = server.ask("POST", f"/api/queues/{queue}/next?annotator=Ada", {}).json[0]["item"]
    told = {"id": f"axe-{queue}", "item": item, "annotator": "Ada", "answer": "yes", "start": 0.3, "end": 0.7}
    server.ask("POST", f"/api/queues/{queue}/decisions", told)
    page.add_init_script("localStorage.setItem('signspot-who', 'Cem')")
    page.goto(f"{server.address}/language/{language}")
    places = (
        "/",
        SPOT,
        "/sign",
        "/verify",
        f"/verify/{queue}",
        f"/verify/{queue}/results",
        "/dictionary",
        "/compare?word=river",
        "/requests",
    )
    for place in places if language == "en" else places[:2]:
        page.goto(server.address + place)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.lang") == language
        found = Axe().run(page).response["violations"]
        serious = [
            (each["id"], each["nodes"][0]["html"][:150]) for each in found if each["impact"] in ("serious", "critical")
        ]
        assert not serious, place
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, place
    if language == "en":
        page.set_viewport_size({"width": 400, "height": 800})
        for place in places:
            page.goto(server.address + place)
            page.wait_for_load_state("networkidle")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 1, f"{place} is wider than a phone"
