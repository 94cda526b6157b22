"""Screenshots of every page of the workbench at 1200 and 400 pixels, and those of the docs: `make screenshots`.

Every page goes to build/screenshots/pages, to be looked at; those that the docs show go to docs/images, made smaller.
The folder that is shown is made by the demo, with subtitles, a queue and decisions of two people. Chromium is driven by
Playwright; its camera is a video of one sign.

Example: python tools/screenshots.py --work build/screenshots
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from signspot.io.progress import quiet
from signspot.video.reader import open_video
from signspot_synthetic.demo import run_demo

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
SUBTITLES = """WEBVTT

00:00.500 --> 00:03.500
An apple in the house of a friend by the river.

00:03.500 --> 00:07.000
Yesterday their language got a name, and there was music.

00:07.000 --> 00:10.000
The teacher of science and her friend in the winter garden.
"""
_LOADED = """
[...document.images].every((image) => image.complete || !image.offsetParent) &&
[...document.querySelectorAll("video")].every((video) => !video.src || !video.offsetParent || video.readyState > 1) &&
[...document.querySelectorAll("video[poster]")].every((video) => performance.getEntriesByName(video.poster).length)
"""
PAGES = ("library", "try", "spot", "sign", "verify", "queue", "results", "dictionary", "compare", "requests")
WIDTHS = {"": (1200, 900), "-phone": (400, 800)}
_SHOWN = {
    "spot": 1330,
    "sign": 771,
    "results": 1000,
}  # pages in the docs, and the pixels of their height that are shown
_WIDE, _COLOURS = 900, 256  # of a frame in the docs
_LIMIT = 600_000  # milliseconds that a page may take, beside whatever else runs


def make_folder(work: Path) -> Path:
    """The demo's video and dictionary in a folder of their own."""
    run_demo(work / "demo", quiet, workers=1)
    folder = work / "my-videos"
    if not folder.is_dir():
        folder.mkdir(parents=True)
        shutil.copy2(work / "demo" / "sentence.mp4", folder / "sentence.mp4")
        shutil.copytree(work / "demo" / "dictionary", folder / "dictionary")
        (folder / "sentence.vtt").write_text(SUBTITLES, encoding="utf-8")
    return folder


def camera_file(source: Path, target: Path) -> Path:
    """A video as Chromium's fake camera takes it (.y4m); it is played again and again."""
    with open_video(source, max_side=480) as video:
        return write_camera_file((frame.image for frame in video.resampled(25.0)), target)


def write_camera_file(images: Iterable[Any], target: Path) -> Path:
    """(H, W, 3) images at 25 frames per second, as a .y4m file."""
    with target.open("wb") as file:
        for number, frame in enumerate(images):
            image = frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]
            if not number:
                file.write(f"YUV4MPEG2 W{image.shape[1]} H{image.shape[0]} F25:1 Ip A1:1 C420jpeg\n".encode())
            file.write(b"FRAME\n" + _planes(image))
    return target


def _planes(image: Any) -> bytes:
    import cv2

    planes = cv2.cvtColor(image, cv2.COLOR_RGB2YUV_I420)
    return bytes(planes.tobytes())


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server for the folder; give its address."""
    command = [sys.executable, "-c", "from signspot.cli.app import run; run()", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip().rstrip("/")
    finally:
        server.terminate()
        server.wait(20)


def ask(method: str, address: str, body: Any = None) -> Any:
    """A request as a script sends it."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"X-Signspot": "1", "Content-Type": "application/json"}
    request = urllib.request.Request(address, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def make_queue(address: str) -> str:
    """A queue of everything found in the video, most of it decided by two people; an earlier one is shown again."""
    queues = ask("GET", f"{address}/api/queues")
    if queues:
        return str(queues[0]["id"])
    words = "&".join(f"word={word}" for word in ("apple", "friend", "language", "name", "science"))
    result = ask("GET", f"{address}/api/spot/sentence.mp4?dictionary=dictionary&{words}")
    rows = [hit for word in result["words"] for hit in sorted(word["hits"], key=lambda hit: -hit["score"])[:5]]
    body = {"name": "sentence", "dictionary": "dictionary", "rows": rows, "share": 1.0}
    queue = str(ask("POST", f"{address}/api/queues", body)["id"])
    for who in ("Ada", "Ben"):
        for item in ask("POST", f"{address}/api/queues/{queue}/next?annotator={who}&count=16"):
            spotting = item["spotting"]
            answer = "yes" if spotting["score"] > 0.8 else "unsure" if item["item"] % 5 == 4 and who == "Ben" else "no"
            body = {"id": f"{who}-{item['item']:08d}", "item": item["item"], "annotator": who, "answer": answer}
            span = {"start": spotting["start"], "end": spotting["end"], "seconds": 1.4 + item["item"] % 3}
            ask("POST", f"{address}/api/queues/{queue}/decisions", {**body, **span})
    return queue


def shoot(browser: Browser, address: str, queue: str, target: Path, pages: Sequence[str] = PAGES) -> None:
    """Pages at both widths."""
    for suffix, (width, height) in WIDTHS.items():
        context = browser.new_context(viewport={"width": width, "height": height}, permissions=["camera"])
        context.set_default_timeout(_LIMIT)
        page = context.new_page()
        page.add_init_script("localStorage.setItem('signspot-who', 'Cem')")
        for name in pages:
            _visit(page, name, address, queue)
            page.screenshot(path=target / f"workbench-{name}{suffix}.png", full_page=name not in ("requests",))
        context.close()


def _visit(page: Page, name: str, address: str, queue: str) -> None:
    addresses = {
        "library": "/library",
        "spot": "/spot?video=sentence.mp4&dictionary=dictionary&word=apple",
        "queue": f"/verify/{queue}",
        "results": f"/verify/{queue}/results",
        "compare": "/compare?dictionary=dictionary&word=apple",
    }
    page.goto(address + addresses.get(name, f"/{name}"))
    if name == "spot":
        page.locator("#rows tr button").first.click()
        page.locator("#show-skeleton").click()
    elif name == "sign":
        page.locator("#record").click()
        page.locator("#words .card").first.wait_for()
    elif name in ("dictionary", "compare", "queue"):
        page.locator(
            {"dictionary": "#words .card", "compare": "#side figure", "queue": "#slot video"}[name]
        ).first.wait_for()
    page.wait_for_load_state("networkidle")
    for _ in range(300):  # images and videos are loaded
        if page.evaluate(_LOADED):
            break
        time.sleep(0.2)
    if name == "spot":  # in the middle of the hit, whatever was played meanwhile
        page.evaluate("document.querySelectorAll('video').forEach((video) => video.pause())")
        page.evaluate(
            "document.getElementById('video').currentTime = document.getElementById('hit-video').currentTime = 1.44"
        )
    time.sleep(1.2)


def show_in_docs(pages: Path, names: Sequence[str], target: Path) -> None:
    """The upper part of some pages, small enough for the docs."""
    for name in _SHOWN.keys() & set(names):
        with Image.open(pages / f"workbench-{name}.png") as whole:
            part = whole.crop((0, 0, whole.width, min(whole.height, _SHOWN[name])))
        small = part.resize((_WIDE, round(part.height * _WIDE / part.width)), Image.Resampling.LANCZOS)
        small.quantize(_COLOURS, kmeans=1).save(target / f"workbench-{name}.png", optimize=True)


def main() -> None:
    """Make the folder, serve it, take the screenshots."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "screenshots")
    parser.add_argument("--out", type=Path, help="for every page (default: pages/ in the folder of --work)")
    parser.add_argument("--docs", type=Path, default=IMAGES, help="for the images of the docs")
    parser.add_argument("--only", nargs="+", choices=PAGES, default=PAGES, help="these pages alone")
    options = parser.parse_args()
    out = options.out or options.work / "pages"
    out.mkdir(parents=True, exist_ok=True)
    folder = make_folder(options.work)
    camera = camera_file(folder / "dictionary" / "friend" / "friend_2.mp4", options.work / "camera.y4m")
    flags = [
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-video-capture={camera}",
    ]
    with serving(folder) as address, sync_playwright() as player, nullcontext():
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *flags])
        shoot(browser, address, make_queue(address), out, options.only)
        browser.close()
    show_in_docs(out, options.only, options.docs)
    print(f"screenshots of the workbench in {out}, those of the docs in {options.docs}")


if __name__ == "__main__":
    main()
