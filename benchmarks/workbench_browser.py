"""The workbench as a browser sees it: a threshold dragged over an hour's curve, a sign recorded."""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.material import landmark_encoder, sign
from benchmarks.workbench_server import Row, make_hours, make_small, serving
from signspot.embedding.tracks import track_entry, write_track
from signspot.io.files import content_digest
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video
from tools.screenshots import CHROMIUM, camera_file

_FRAMES, _SECONDS = 60, 2.0  # per second, while a threshold is dragged; from the end of a recording to the answer
_SCREEN = 0.985  # of them count as all: a screen of 60 Hz is a little slower
_DRAG = """
async (seconds) => {
  const grip = document.querySelector(".grip-holder"), frames = [], scripts = [];
  const box = document.querySelector(".plot").getBoundingClientRect(), began = performance.now();
  let next;
  const turn = (now) => {
    frames.push(now);
    const y = box.top + 40 + 60 * (1 + Math.sin(frames.length / 9)), before = performance.now();
    const where = { clientX: box.right - 20, clientY: y, pointerId: 1, bubbles: true };
    grip.dispatchEvent(new PointerEvent("pointermove", where));
    scripts.push(performance.now() - before);
    if (now - began < 1000 * seconds) requestAnimationFrame(turn); else next();
  };
  await new Promise((resolve) => { next = resolve; requestAnimationFrame(turn); });
  return { frames, scripts };
}
"""


@contextmanager
def browsing(*flags: str) -> Iterator[Page]:
    """A page of Debian's Chromium; what goes wrong in it is raised at the end."""
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *flags])
        page = browser.new_context(permissions=["camera"], viewport={"width": 1200, "height": 900}).new_page()
        page.set_default_timeout(600_000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        browser.close()
        assert not errors, errors


def drag_threshold(work: Path, options: argparse.Namespace) -> Row:
    """Frames per second while the threshold of an hour's curve is dragged, and the main thread's work per frame."""
    from benchmarks.material import random_track

    folder, cache, encoder = work / "folder", work / "cache", landmark_encoder()
    folder.mkdir()
    make_small(folder)
    (folder / "hour.mp4").write_bytes((folder / "news.mp4").read_bytes() + b"\0")
    entry = track_entry(cache, encoder.hash, content_digest(folder / "hour.mp4"), 1)
    entry.parent.mkdir(parents=True)
    write_track(random_track(encoder, 3600), entry)
    with serving(folder, cache) as served, browsing() as page:
        page.goto(f"{served.address}/spot?video=hour.mp4&dictionary=dictionary&word=word1")
        page.locator(".grip-holder").wait_for()
        time.sleep(2)
        box = page.locator(".grip-holder").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
        page.mouse.down()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = _work(session)
        measured = page.evaluate(_DRAG, 4)
        worked = _work(session) - before
        page.mouse.up()
        hits = page.locator(".peak").count()
    steps = [b - a for a, b in zip(measured["frames"], measured["frames"][1:], strict=False)]
    rate = 1000 / (sum(steps) / len(steps))
    return Row(
        f"threshold dragged over an hour's curve with {hits} peaks",
        f"{rate:.0f} frames per second",
        f"at least {_FRAMES}",
        rate >= _SCREEN * _FRAMES,
        f"median step {median(steps):.1f} ms; script {median(measured['scripts']):.2f} ms per frame, "
        f"{quantiles(measured['scripts'], n=20)[-1]:.2f} ms for 95 %; main thread "
        f"{1000 * worked / len(steps):.1f} ms of processor per frame",
    )


def _work(session: Any) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def sign_to_search(work: Path, options: argparse.Namespace) -> Row:
    """Seconds from the end of a recording to the answer, on a real server, with a video of a signer as the camera."""
    folder, cache, encoder = work / "folder", work / "cache", landmark_encoder()
    folder.mkdir()
    make_hours(folder, cache, encoder, options.hours, options.signs)
    render_video(sign(3.0, (320, 240)), make_appearance(7), work / "video.mp4", (320, 240))
    camera = camera_file(work / "video.mp4", work / "camera.y4m")
    flags = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    lines, durations = [], []
    with serving(folder, cache) as served, browsing(*flags, f"--use-file-for-fake-video-capture={camera}") as page:
        served.ask("POST", "/api/warm?dictionary=dictionary")
        page.goto(f"{served.address}/sign")
        for number in range(3):
            with page.expect_response(lambda answer: answer.url.partition("?")[0].endswith("/search")) as waiting:
                page.get_by_role("button", name="Record").click()
            answer = waiting.value.json()
            page.locator(f'#timing[data-turn="{number + 1}"]').wait_for(state="attached")
            took = page.locator("#timing").get_attribute("data-seconds") or "nan"
            durations.append(float(took))
            frames, worked, waited = answer["frames"], answer["processor"], answer["seconds"]
            processed = frames["sent"] - frames["left_out"]
            lines.append(
                f"{took} s (waited for landmarks {waited['landmarks']}, words {waited['words']}, locations "
                f"{waited['locations']}; processor: words {worked['words']}, locations {worked['locations']}, "
                f"{1000 * frames['processor'] / max(1, processed):.0f} ms a frame, {frames['left_out']} of "
                f"{frames['sent']} left out)"
            )
    return Row(
        f"sign to search, {options.signs} words, {options.hours} h of tracks, after a recording of 3 s",
        f"{max(durations):.2f} s, the slowest of {len(durations)}",
        f"under {_SECONDS:g} s",
        max(durations) < _SECONDS,
        "; ".join(lines),
    )
