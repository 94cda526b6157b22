"""Every control of the pages, used as people use them, in a real browser: pointed at, dragged, dropped, typed."""

import base64
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from signspot.dictionary.opening import open_dictionary
from signspot.formats.elan import read_vocabulary
from signspot.formats.formats import format_names, read_spottings

from .conftest import Server, film, remember
from .test_journeys import SPOT, hits, make_queue, until, verdicts

pytestmark = pytest.mark.slow
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
_DRAWN = """
(canvas) => canvas.width > 0 &&
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)
"""
_MOVES = """
async (root) => {
  const film = root.querySelector("video + video, img + video, .picture > canvas");
  if (!film) return false;
  if (film.currentTime !== undefined) return film.currentTime > 0;
  const before = film.toDataURL();
  await new Promise((resolve) => setTimeout(resolve, 300));
  return film.toDataURL() !== before;
}
"""


def drop(page: Page, path: Path, name: str = "") -> str:
    """Drop a file in the middle of a page; give what the page says while it is held over it."""
    return str(page.evaluate(_DROP, [name or path.name, base64.b64encode(path.read_bytes()).decode()]))


def until_true(place: Locator, condition: str) -> None:
    for _ in range(600):
        if place.evaluate(condition):
            return
        place.page.wait_for_timeout(100)
    raise AssertionError(condition)


@pytest.fixture
def own(material: Path, tmp_path: Path) -> Iterator[Server]:
    """A server whose folder may be changed."""
    shutil.copytree(material, tmp_path / "folder")
    made = Server(folder=tmp_path / "folder").start()
    yield made
    made.stop()


def test_exemplars_play_when_pointed_at(page: Page, server: Server) -> None:
    """A film as a film, landmarks as a moving skeleton; by mouse, by keyboard, and on the line itself."""
    page.goto(server.address + SPOT)
    buttons = page.locator(".exemplars button")
    expect(buttons).to_have_count(2)
    for number in range(2):
        buttons.nth(number).hover()
        until_true(buttons.nth(number), _MOVES)
    page.mouse.move(2, 2)
    expect(page.locator(".exemplars video, .exemplars canvas")).to_have_count(0)
    buttons.first.focus()
    page.keyboard.press("Tab")
    until_true(buttons.nth(1), _MOVES)
    buttons.nth(1).press("Enter")
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "false")
    box = page.locator(".plot").bounding_box()
    assert box is not None
    for y in range(15, 150, 3):
        page.mouse.move(box["x"] + box["width"] / 3, box["y"] + y)
        if page.locator(".preview").count():
            break
    expect(page.locator(".preview > span").last).to_have_text(buttons.first.inner_text().strip())
    until_true(page.locator(".preview"), _MOVES)


def test_a_clip_is_dropped_on_the_spot_page(page: Page, server: Server, material: Path) -> None:
    clip = material / "dictionary" / "river" / "film.mp4"
    page.goto(server.address + "/spot")
    drop(page, clip)
    expect(page.get_by_role("alert")).to_contain_text("choose a video first")
    page.goto(server.address + "/spot?video=news.mp4&dictionary=dictionary")
    assert "Drop a clip" in drop(page, clip, "my sign.mp4")
    expect(page.locator(".panel h3")).to_have_text("my sign.mp4")
    expect(page.locator("#rows tr")).not_to_have_count(0)
    found = server.ask("GET", "/api/spot/news.mp4?dictionary=dictionary&word=river").json["words"][0]["hits"]
    best = max(found, key=lambda hit: hit["score"])
    starts = [float(row.get_attribute("data-start") or "nan") for row in page.locator("#rows tr").all()]
    assert min(abs(start - best["start"]) for start in starts) < 0.3, "the clip finds what its word finds"
    page.locator(".exemplars button").hover()
    until_true(page.locator(".exemplars button"), _MOVES)
    page.locator("#rows button").first.click()
    expect(page.locator("#beside")).to_be_visible()
    until(page, "document.getElementById('exemplar-film').readyState > 1")
    (server.folder / "no film.mp4").write_bytes(b"x")
    drop(page, server.folder / "no film.mp4")
    (server.folder / "no film.mp4").unlink()
    expect(page.get_by_role("alert")).to_contain_text("no film.mp4")


def test_a_hit_loops_at_half_speed_beside_its_exemplar(page: Page, server: Server) -> None:
    page.goto(server.address + SPOT)
    page.locator("#rows button").first.click()
    page.evaluate("document.getElementById('film').pause()")
    expect(page.locator("#beside")).to_be_visible()
    chosen = page.locator("#rows tr[aria-selected=true]")
    start, end = (float(chosen.get_attribute(f"data-{side}") or "nan") for side in ("start", "end"))
    assert page.evaluate("document.getElementById('hit-film').playbackRate") == 0.5
    seen: list[float] = []
    while not any(later < earlier - 0.2 for earlier, later in pairwise(seen)):
        seen.append(page.evaluate("document.getElementById('hit-film').currentTime"))
        assert len(seen) < 1000, "it begins again"
        page.wait_for_timeout(60)
    assert start - 0.3 < min(seen)
    assert max(seen) < end + 0.3
    skeletons = [page.locator(f"#{name}-skeleton") for name in ("hit", "exemplar")]
    assert not any(each.evaluate(_DRAWN) for each in skeletons)
    page.get_by_role("button", name="Skeleton").click()
    for each in [page.locator("#skeleton"), *skeletons]:
        until_true(each, _DRAWN)
    page.get_by_role("button", name="Skeleton").click()
    for each in skeletons:
        until_true(each, f"(canvas) => !({_DRAWN})(canvas)")


def test_exemplars_without_a_film_are_shown_beside_a_hit(page: Page, server: Server) -> None:
    page.goto(server.address + SPOT.replace("river", "apple"))
    page.locator(".peak").first.dispatch_event("click")
    expect(page.locator("#beside")).to_be_visible()
    expect(page.locator("#exemplar-film")).to_be_hidden()
    until_true(page.locator("#exemplar-skeleton"), _DRAWN)


def test_boundaries_are_dragged_and_the_hit_is_kept(page: Page, own: Server) -> None:
    page.goto(own.address + SPOT)
    page.locator("#rows button").last.click()
    page.evaluate("document.getElementById('film').pause()")
    before = [
        float(page.locator(f"[data-edge={side}]").get_attribute("aria-valuenow") or "nan") for side in ("start", "end")
    ]
    page.locator(".plot").scroll_into_view_if_needed()
    for side, by in (("start", -60), ("end", -40)):
        box = page.locator(f"[data-edge={side}] .edge-area").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 + by, box["y"] + box["height"] / 2, steps=4)
        page.mouse.up()
    after = [
        float(page.locator(f"[data-edge={side}]").get_attribute("aria-valuenow") or "nan") for side in ("start", "end")
    ]
    assert after[0] < before[0] - 0.05
    assert after[1] < before[1] - 0.05
    expect(page.locator("#hit-name")).to_contain_text(f"0:0{after[0]:.2f}–0:0{after[1]:.2f}")
    page.locator("#keep input").fill("stream")
    page.get_by_role("button", name="Keep as an exemplar").click()
    expect(page.locator("#told")).to_contain_text("is a new exemplar in dictionary")
    assert len(open_dictionary(own.folder / "dictionary")["stream"]) == 1


def test_every_export_button_writes_what_is_shown(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(server.address + SPOT)
    expect(page.locator("#rows tr")).not_to_have_count(0)
    for suffix in format_names():
        with page.expect_download() as waiting:
            page.locator(f'[data-format="{suffix}"]').click()
        waiting.value.save_as(tmp_path / f"x{suffix}")
        assert waiting.value.suggested_filename.endswith(suffix)
        assert [each.word for each in read_spottings(tmp_path / f"x{suffix}")] == ["river"] * hits(page)


def test_a_dictionary_is_made_and_edited(page: Page, own: Server, material: Path, tmp_path: Path) -> None:
    clips = [tmp_path / "one.mp4", tmp_path / "two.mp4"]
    for clip in clips:
        shutil.copy(material / "dictionary" / "river" / "film.mp4", clip)
    with clips[1].open("ab") as file:
        file.write(b"\0")  # another file
    page.goto(own.address + "/dictionary#new")
    form = page.locator("#make")
    form.get_by_label("Name").fill("my signs")
    form.get_by_label("Word").fill("river")
    form.get_by_label("Signer").fill("Ada")
    form.get_by_label("Licence").fill("CC0")
    form.get_by_label("Films").set_input_files([str(clip) for clip in clips])
    form.locator("button").click()
    expect(page.get_by_role("heading", name="my signs")).to_be_visible()
    expect(page.locator("#words .card button")).to_have_count(2)
    page.locator("#words .card button").first.hover()
    until_true(page.locator("#words .card button").first, _MOVES)
    page.locator("#words .card button").last.click()
    editor = page.get_by_role("dialog")
    expect(editor.get_by_label("Signer")).to_have_value("Ada")
    until_true(editor.locator("input[name=end]"), "(field) => Number(field.value) > 0")
    editor.get_by_label("Variant").fill("north")
    editor.get_by_label("Word").fill("stream")
    editor.get_by_label("Consent").fill("research")
    editor.locator("input[name=start]").fill("0.2")
    editor.locator("input[name=end]").fill("0.8")
    editor.get_by_role("button", name="Save").click()
    expect(page.locator("#words")).to_contain_text("variant north")
    changed = open_dictionary(own.folder / "my signs")["stream"][0]
    assert (changed.variant, changed.signer, changed.licence, changed.consent) == ("north", "Ada", "CC0", "research")
    assert changed.segment is not None
    assert (changed.segment.start, changed.segment.end) == (0.2, 0.8)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="ELAN vocabulary").click()
    waiting.value.save_as(tmp_path / "x.ecv")
    assert set(read_vocabulary(tmp_path / "x.ecv").entries) == {"river", "stream"}
    page.locator("#words .card", has_text="stream").locator("button").click()
    editor.get_by_role("button", name="Take out").click()
    expect(page.locator("#words .card")).to_have_count(1)
    assert set(open_dictionary(own.folder / "my signs")) == {"river"}
    for name, part in (("my signs", "already"), ("../x", "cannot be"), (".x", "cannot be"), ("a/b", "cannot be")):
        answer = own.ask(
            "PUT", f"/api/dictionaries/{name.replace(' ', '%20')}/exemplar?word=a&file=a.mp4&new=true", b"x"
        )
        assert answer.status in (404, 405, 422), name
        assert answer.status != 422 or part in answer.text, name
    assert not (own.folder.parent / "x").exists()


def test_a_dictionary_of_landmarks_is_looked_at(page: Page, server: Server) -> None:
    """Skeletons move in the editor, beside each other, and beside what is verified."""
    page.goto(server.address + "/dictionary")
    page.get_by_role("button", name="Edit apple/apple").click()
    until_true(page.locator("#bones"), _DRAWN)
    page.get_by_role("button", name="Close").click()
    page.goto(server.address + "/compare?dictionary=dictionary&word=apple")
    until_true(page.locator("#side canvas"), _DRAWN)
    row = {"word": "apple", "video": "news.mp4", "time": 1.0, "start": 0.8, "end": 1.2, "score": 0.9}
    queue = server.ask("POST", "/api/queues", {"name": "apples", "dictionary": "dictionary", "rows": [row]}).json["id"]
    page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
    page.goto(f"{server.address}/verify/{queue}")
    until_true(page.locator("#model-skeleton"), _DRAWN)
    expect(page.locator("#model-name")).to_have_text("apple/apple")


def test_compare_variants_faux_amis_and_a_learner(page: Page, own: Server, material: Path) -> None:
    shutil.copytree(material / "dictionary", own.folder / "other" / "signs")
    (own.folder / "other" / "signs" / "river").rename(own.folder / "other" / "signs" / "music")
    page.wait_for_timeout(2100)  # a folder is listed every two seconds, and for the first time when its server starts
    page.goto(own.address + "/compare?dictionary=dictionary")
    page.get_by_role("combobox", name="Word").fill("riv")
    page.locator("#choices [role=option]").first.click()
    expect(page.locator("#side figure")).to_have_count(2)
    until(page, "document.querySelector('#side video').readyState > 1")
    shares = "() => [...document.querySelectorAll('#side video:not([hidden])')].map((film) => film.currentTime)"
    seen = {tuple(page.evaluate(shares)) for _ in range(12) if page.wait_for_timeout(120) is None}
    assert len(seen) > 3, "they move"
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(400)
    still = page.evaluate(shares)
    page.wait_for_timeout(300)
    assert page.evaluate(shares) == still
    page.get_by_role("button", name="Skeleton").click()
    page.get_by_role("button", name="Play").click()
    for canvas in page.locator("#side canvas").all():
        until_true(canvas, _DRAWN)
    page.locator("#faux select").select_option("other/signs")
    page.locator("#faux button").click()
    expect(page.locator("#pairs .card").first).to_contain_text("river")
    expect(page.locator("#pairs .card").first).to_contain_text("music")
    page.locator("#pairs .card").first.hover()
    until_true(page.locator("#pairs .card").first, _MOVES)
    assert "compare it" in drop(page, material / "dictionary" / "river" / "film.mp4", "me.mp4")
    expect(page.locator("#feedback")).to_be_visible()
    expect(page.locator("#differences .big")).to_contain_text("river")
    expect(page.locator("#side figure.mine")).to_have_count(1)
    page.get_by_role("combobox", name="Word").fill("apple")
    page.keyboard.press("Escape")
    drop(page, material / "dictionary" / "river" / "film.mp4", "me.mp4")
    expect(page.locator("#differences .big")).to_contain_text("“apple” is place")
    expect(page.locator("#differences")).to_contain_text("river")


def answer(page: Page, who: str, server: Server, queue: str, keys: str) -> None:
    page.add_init_script(f"localStorage.setItem('signspot-who', '{who}')")
    page.goto(f"{server.address}/verify/{queue}")
    for key in keys:
        page.locator("#work").wait_for()
        page.keyboard.press(key)
    until(page, f"localStorage.getItem('signspot-decisions-{queue}') === '[]'")


def test_items_shown_twice_give_kappa_bars_and_a_gallery(browser: Browser, page: Page, server: Server) -> None:
    queue = make_queue(server, 6, share=1.0)
    for who, keys in (("Ada", "yynnuy"), ("Ben", "yynnny")):
        context = browser.new_context()
        context.set_default_timeout(120_000)
        opened = context.new_page()
        answer(opened, who, server, queue, keys)
        context.close()
    page.goto(f"{server.address}/verify/{queue}/results")
    expect(page.locator("section", has_text="Cohen").first).to_contain_text("6 items, 83 % equal")
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
    until_true(cards.first, _MOVES)


def test_films_stand_still_when_asked_to_and_for_whom_movement_is_too_much(browser: Browser, server: Server) -> None:
    queue = make_queue(server, 2)
    still, moving = ("(film) => film.readyState > 1 && film.paused", "(film) => !film.paused && film.currentTime > 0")
    for wish, order in (("reduce", (still, moving, still)), ("no-preference", (moving, still, moving))):
        context = browser.new_context(reduced_motion=wish)
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.add_init_script("localStorage.setItem('signspot-who', 'Dee')")
        page.goto(f"{server.address}/verify/{queue}")
        for wanted in order:
            until_true(page.locator("#slot video"), wanted)
            until_true(page.locator("#model"), wanted)
            page.keyboard.press("p")
        page.goto(server.address + SPOT)
        page.locator("#rows tr button").first.click()
        for wanted in order:
            until_true(page.locator("#hit-film"), wanted)
            page.get_by_role("button", name="Play the hit and its exemplar").click()
        context.close()


def test_keys_shift_boundaries_slow_down_and_name_words(page: Page, server: Server) -> None:
    queue = make_queue(server, 2)
    page.add_init_script("localStorage.setItem('signspot-who', 'Ada')")
    page.goto(f"{server.address}/verify/{queue}")
    page.locator("#work").wait_for()
    for key in "[[].,,":
        page.keyboard.press(key)
    expect(page.locator("#span")).to_have_text("0:00.26 – 0:00.66")
    page.keyboard.press("h")
    expect(page.locator("#half")).to_have_attribute("aria-pressed", "true")
    assert page.locator("#slot video").evaluate("(film) => film.playbackRate") == 0.5
    page.keyboard.press("w")
    page.locator("#which-word").press_sequentially("app")
    option = page.locator("#choices [role=option]").first
    expect(option).to_have_text("apple")
    until_true(option.locator("img"), "(image) => image.naturalWidth > 0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, f"localStorage.getItem('signspot-decisions-{queue}') === '[]'")
    [row] = verdicts(server, queue)
    assert (row["answer"], row["word"], float(row["start"]), float(row["end"])) == ("word", "apple", 0.26, 0.66)


def test_files_dropped_on_the_library_are_uploaded(page: Page, own: Server, material: Path) -> None:
    page.goto(own.address)
    assert "Drop to add" in drop(page, material / "news.mp4", "dropped talk.mp4")
    expect(page.locator("#uploads li")).to_contain_text("there: dropped talk.mp4")
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
    shown = page.locator("section", has=page.get_by_role("heading", name="Dictionaries")).locator(".card img")
    until_true(shown, "(image) => image.naturalWidth > 0")


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
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(server.address + SPOT)
    grip = page.get_by_role("slider", name="Threshold of river")
    expect(page.locator(".peak:not(.off)")).not_to_have_count(0)
    page.wait_for_load_state("networkidle")
    grip.scroll_into_view_if_needed()
    before, scrolled = float(grip.get_attribute("aria-valuenow") or "nan"), page.evaluate("scrollY")
    box = page.locator(".grip").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = context.new_cdp_session(page)
    touch: Any = lambda kind, points: session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})  # noqa: E731
    touch("touchStart", [{"x": x, "y": y}])
    for step in range(1, 9):
        touch("touchMove", [{"x": x, "y": y + 5 * step}])
        page.wait_for_timeout(40)
    touch("touchEnd", [])
    assert float(grip.get_attribute("aria-valuenow") or "nan") < before - 0.1
    assert page.evaluate("scrollY") == scrolled
    peak = page.locator(".peak:not(.off)").first.bounding_box()
    assert peak is not None
    page.touchscreen.tap(peak["x"] + peak["width"] / 2 + 10, peak["y"] + peak["height"] / 2)  # beside it
    expect(page.locator("#rows tr[aria-selected=true]")).to_have_count(1)
    small = """() => [...document.querySelectorAll("main button, main a.button, main select, main input, label.button")]
      .filter((each) => each.offsetParent && !each.closest(".exemplars, td, .subtitles, .hidden-input"))
      .map((each) => [each.id || each.textContent, each.getBoundingClientRect().height])
      .filter(([, high]) => high < 36)"""
    assert page.evaluate(small) == [], "nothing is too small for a finger"
    context.close()


def decided(row: dict[str, Any]) -> tuple[Any, ...]:
    span = round(float(row["start"]), 2), round(float(row["end"]), 2)
    return row["answer"], row["spotted_word"], row["time"], row["word"], *span


def test_a_linguists_journey(page: Page, tmp_path: Path, stretch: Any, bench_cache: Path) -> None:
    """An empty folder: upload a film, make a dictionary of two clips, spot, correct, verify, ELAN out and in again."""
    talk, folder = tmp_path / "talk.mp4", tmp_path / "folder"
    folder.mkdir()
    film(talk, stretch.footage)
    remember(talk, stretch.footage, bench_cache)
    clips = [tmp_path / f"{word}.mp4" for word in ("river", "apple")]
    for clip in clips:
        film(clip, stretch.exemplars[clip.stem])
        remember(clip, stretch.exemplars[clip.stem], bench_cache)
    server = Server(folder=folder).start()
    page.goto(server.address)
    page.locator("#files").set_input_files(str(talk))
    expect(page.locator("#uploads li")).to_contain_text("there: talk.mp4")
    expect(page.locator("#jobs li", has_text="talk.mp4")).to_contain_text("done", timeout=300_000)
    page.get_by_role("link", name="New dictionary").click()
    form = page.locator("#make")
    form.get_by_label("Word").fill("river")
    form.get_by_label("Films").set_input_files(str(clips[0]))
    form.locator("button").click()
    add = page.locator("#add")
    add.get_by_label("Word").fill("apple")
    add.get_by_label("Films").set_input_files(str(clips[1]))
    add.locator("button").click()
    expect(page.locator("#words .card")).to_have_count(2)
    page.goto(f"{server.address}/spot?video=talk.mp4&dictionary=dictionary")
    page.get_by_role("combobox", name="Word").fill("river")
    page.get_by_role("button", name="Find").click()
    slider = page.get_by_role("slider", name="Threshold of river")
    slider.focus()
    while hits(page) < 4:
        page.keyboard.press("PageDown")
        page.wait_for_timeout(350)
    best = page.locator("#rows tr").all()[0]
    best.locator("button").click()
    before = float(page.locator("[data-edge=end]").get_attribute("aria-valuenow") or "nan")
    page.locator(".plot").scroll_into_view_if_needed()
    box = page.locator("[data-edge=end] .edge-area").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 20, box["y"] + 60, steps=3)
    page.mouse.up()
    corrected = float(page.locator("[data-edge=end]").get_attribute("aria-valuenow") or "nan")
    assert corrected != before
    page.get_by_role("button", name="Verify these").click()
    page.wait_for_url("**/verify/*")
    queues = [page.url.rpartition("/")[2]]
    (folder / "again.jsonl").write_bytes(server.ask("GET", f"/api/queues/{queues[0]}/export?format=.jsonl").body)
    same = {"name": "again", "dictionary": "dictionary", "file": "again.jsonl"}  # to read the decisions back into
    queues.append(server.ask("POST", "/api/queues", same).json["id"])
    page.get_by_label("Who").fill("Ada")
    page.keyboard.press("Enter")
    for key in "ynuv":
        page.locator("#work").wait_for()
        page.keyboard.press(key)
    until(page, f"localStorage.getItem('signspot-decisions-{queues[0]}') === '[]'")
    page.goto(f"{server.address}/verify/{queues[0]}/results")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="ELAN").click()
    waiting.value.save_as(tmp_path / "talk.eaf")
    written = read_spottings(tmp_path / "talk.eaf")
    assert any(abs(each.end - corrected) < 0.006 for each in written), "the boundary as it was dragged"
    page.goto(f"{server.address}/verify/{queues[1]}/results")
    page.locator("#back").set_input_files(str(tmp_path / "talk.eaf"))
    expect(page.locator("#told")).to_contain_text("4 decisions were read")
    one, other = (sorted(map(decided, verdicts(server, queue))) for queue in queues)
    assert one == other
    assert [row[0] for row in one] == ["no", "unsure", "variant", "yes"]
    again = server.ask("GET", f"/api/queues/{queues[1]}/export?format=.eaf")
    (tmp_path / "again.eaf").write_bytes(again.body)
    assert [
        (s.word, s.start, s.end, s.decision, s.variant, s.source) for s in read_spottings(tmp_path / "again.eaf")
    ] == [(s.word, s.start, s.end, s.decision, s.variant, s.source) for s in written]
    server.stop()
