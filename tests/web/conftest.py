"""One small prepared folder, one server and one browser for all tests of the workbench."""

import asyncio
import json
import os
import select
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, Playwright, expect, sync_playwright

from signspot.web.access import AccessPolicy
from tests.fixtures.purple import remember

CHROMIUM = "/usr/bin/chromium"
LIMIT = 180_000  # milliseconds for anything that a test waits for, on the busiest machine
expect.set_options(timeout=LIMIT)

ROOT = Path(__file__).parent.parent.parent
PROGRAM = "from signspot.cli.app import run\nif __name__ == '__main__':\n    run()"
SUBTITLES = (
    "WEBVTT\n\n00:00.000 --> 00:02.000\nA river, and apples.\n\n00:02.000 --> 00:04.000\nMy friend has a name.\n"
)


@dataclass
class Answer:
    """Answer of a server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Client:
    """Whoever asks a server."""

    address: str = ""

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """A request; a body is sent as it is if it is bytes, else as JSON. Headers: `_` stands for `-`, "" for none."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = {} if body is None or isinstance(body, bytes) else {"Content-Type": "application/json"}
        named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        all_headers = {name: value for name, value in {"X-Signspot": "1", **kind, **named_headers}.items() if value}
        request = urllib.request.Request(self.address + path, content, all_headers, method=method)
        try:
            with OPENER.open(request, timeout=LIMIT / 1000) as answer:
                return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def queue(self, *rows: dict[str, Any], **more: Any) -> str:
        """Make a queue; give its id."""
        return str(self.ask("POST", "/api/queues", {"name": "q", "rows": rows, **more}).json["id"])

    def decide(self, queue: str, item: int, answer: str = "yes", **more: Any) -> Answer:
        """Send what Ada thinks of an item."""
        decision = {"id": f"decision-{item}", "item": item, "annotator": "Ada", "answer": answer}
        return self.ask("POST", f"/api/queues/{queue}/decisions", {**decision, "start": 0.5, "end": 1.5, **more})


def spotted(**changes: Any) -> dict[str, Any]:
    """A spotting as a row of a queue."""
    return {"word": "river", "video": "news.mp4", "time": 1.0, "start": 0.5, "end": 1.5, "score": 0.9, **changes}


@dataclass
class Server(Client):
    """A workbench in a thread of the tests' own process, which has loaded everything already."""

    folder: Path = Path()
    access: AccessPolicy = field(default_factory=AccessPolicy)
    most_bytes: int = 50_000_000
    database: str | None = None
    pixels: bool = True
    port: int = 0
    sent: list[tuple[str, bytes]] = field(default_factory=list)  # path and body of every answer
    held: dict[str, threading.Semaphore] = field(default_factory=dict)  # path: each of its answers waits for a release
    holistic: Path | None = None
    _server: Any = None
    _bench: Any = None
    _thread: threading.Thread | None = None

    def start(self) -> "Server":
        import uvicorn

        from signspot.web.server import bind, create_app
        from signspot.web.server_state import WorkbenchOptions

        bound = bind("127.0.0.1", self.port)
        options = WorkbenchOptions(
            self.folder,
            (),
            self.database,
            None,
            self.most_bytes,
            self.access,
            pixels=self.pixels,
            holistic=self.holistic,
        )
        app = create_app(options)
        self._bench = app.state.bench
        settings = uvicorn.Config(self._listen(app), log_level="warning", access_log=False, timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._server.run, args=([bound],), daemon=True)
        self._thread.start()
        self.port = bound.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        return self

    def _listen(self, app: Any) -> Any:
        """The application, held where it shall be, and a copy of all that it sends."""

        async def recorded(scope: Any, receive: Any, send: Any) -> None:
            parts: list[bytes] = []

            async def recorded_send(message: Any) -> None:
                parts.append(message.get("body", b""))
                await send(message)

            if gate := self.held.get(scope.get("path", "")):
                await asyncio.to_thread(gate.acquire, timeout=LIMIT / 1000)
            await app(scope, receive, recorded_send)
            self.sent.append((scope.get("path", ""), b"".join(parts)))

        return recorded

    def recordings(self) -> int:
        """How many recordings the server holds in memory."""
        return len(self._bench.recordings._recordings)

    def stop(self) -> None:
        if self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(LIMIT / 1000)
        assert not self._thread.is_alive(), f"the server of {self.folder} does not stop"


@dataclass
class ServerProcess(Client):
    """A workbench as users run it, which can be killed."""

    folder: Path = Path()
    cache: Path = Path()
    port: int = 0
    log: int | None = None  # file descriptor for what it logs; None: as the tests' own
    prefix: tuple[str, ...] = ()  # a command that runs the server's
    flags: tuple[str, ...] = ()  # further arguments of the command
    environment: dict[str, str] | None = None  # None: with the cache
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> "ServerProcess":
        shared = {"SIGNSPOT_CACHE": str(self.cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        environment = self.environment or {**os.environ, **shared}
        command = [*self.prefix, sys.executable, "-c", PROGRAM, "serve", str(self.folder), "--port", str(self.port)]
        command += self.flags
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], LIMIT / 1000)[0]:
            self.process.kill()
            raise AssertionError(f"the server of {self.folder} does not say its address")
        self.address = self.process.stdout.readline().strip().rstrip("/")
        self.port = int(self.address.rpartition(":")[2])
        return self

    def end(self, number: int) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(number)
        try:
            self.process.wait(LIMIT / 1000)
        finally:
            self.process.kill()
            self.process.wait(LIMIT / 1000)
            self.process.stdout.close()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def render_sign(path: Path, landmarks: Any) -> None:
    from signspot_synthetic.render.appearance import make_appearance
    from signspot_synthetic.render.render import render_video

    render_video(landmarks, make_appearance(7), path, (320, 240))


@pytest.fixture(scope="session")
def bench_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all tests."""
    return tmp_path_factory.getbasetemp() / "cache"


@pytest.fixture(scope="session")
def material(tmp_path_factory: pytest.TempPathFactory, signing: Any, bench_cache: Path) -> Path:
    """A video of five signs with its landmarks beside it, subtitles, and a dictionary of four words."""
    from signspot.landmarks.pose_file import write_landmarks
    from signspot.video.writer import write_video

    folder = tmp_path_factory.mktemp("workbench") / "material"
    (folder / "dictionary").mkdir(parents=True)
    shades = (np.full((120, 160, 3), 60 + k, np.uint8) for k in range(len(signing.footage)))
    write_video(folder / "news.mp4", shades, 25)  # its landmarks lie beside it: nobody looks for a signer in it
    write_landmarks(signing.footage, folder / "news.pose")
    (folder / "news.vtt").write_text(SUBTITLES)
    for word, landmarks in signing.exemplars.items():
        (folder / "dictionary" / word).mkdir()
        part = len(landmarks) // 5 if word == "river" else 0  # its video shows all of it, and matches better
        write_landmarks(landmarks[part : len(landmarks) - part], folder / "dictionary" / word / f"{word}.pose")
    render_sign(folder / "dictionary" / "river" / "video.mp4", signing.exemplars["river"])
    remember(folder / "dictionary" / "river" / "video.mp4", signing.exemplars["river"], bench_cache)
    return folder


@pytest.fixture(scope="session")
def server(material: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for tests that leave its folder usable and confirm no signs, which would be further exemplars."""
    with served_once(material, tmp_path_factory) as started:
        yield started


@pytest.fixture(scope="session")
def confirming(material: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for tests that confirm signs: what it finds depends on which of them have run."""
    with served_once(material, tmp_path_factory) as started:
        yield started


@contextmanager
def served_once(material: Path, factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = factory.mktemp("served") / "folder"
    shutil.copytree(material, folder)
    started = Server(folder=folder).start()
    yield started
    started.stop()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers, which are stopped after the test, whatever became of it."""
    with ExitStack() as stack:

        def start(**options: Any) -> Server:
            server = Server(**options)
            stack.callback(server.stop)
            return server.start()

        yield start


@pytest.fixture
def fresh(material: Path, tmp_path: Path, serve: Callable[..., Server]) -> Server:
    """A server whose folder may be changed."""
    shutil.copytree(material, tmp_path / "folder")
    return serve(folder=tmp_path / "folder")


@pytest.fixture(scope="session")
def camera(material: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of the sign "river", as Chromium's fake camera takes it."""
    from tools.screenshots import camera_file

    return camera_file(material / "dictionary" / "river" / "video.mp4", tmp_path_factory.mktemp("camera") / "c.y4m")


@pytest.fixture(scope="session")
def player() -> Iterator[Playwright]:
    """Playwright, once in a process: it refuses a second one."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(player: Playwright, camera: Path) -> Iterator[Browser]:
    with browser_with_camera(player, camera) as opened:
        yield opened


@contextmanager
def browser_with_camera(player: Playwright, camera: Path) -> Iterator[Browser]:
    """Chromium with a fake camera that repeats a .y4m file."""
    if not Path(CHROMIUM).is_file():
        pytest.skip("Chromium is not installed (Debian: chromium)")
    flags = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    opened = player.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", *flags, f"--use-file-for-fake-video-capture={camera}"]
    )
    yield opened
    opened.close()


def until(target: Page | Locator, condition: str) -> None:
    """Wait in the page itself until a function of it, or of an element, holds."""
    target.evaluate(
        """(element) => new Promise((resolve, reject) => {
          const holds = CONDITION;
          const media = ["readyState", "networkState", "paused", "ended", "seeking", "currentTime", "error"];
          const state = (of) => of instanceof HTMLMediaElement ? ": " + media.map((name) => `${name} ${of[name]}`) : "";
          const limit = setTimeout(() => reject(new Error(`waited in vain for ${holds}` + state(element))), LIMIT);
          const turn = async () => {
            if (await holds(element)) { clearTimeout(limit); resolve(true); } else setTimeout(turn, 20);
          };
          turn();
        })""".replace("CONDITION", condition).replace("LIMIT", str(LIMIT))
    )


@contextmanager
def visitor(browser: Browser, who: str = "", **options: Any) -> Iterator[Page]:
    """A page of somebody with cookies and storage of their own."""
    context = browser.new_context(**options)
    context.set_default_timeout(LIMIT)
    page = context.new_page()
    if who:
        page.add_init_script(f"localStorage.setItem('signspot-who', {json.dumps(who)})")
    yield page
    context.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh visitor; whatever a page complains of fails the test."""
    context = browser.new_context(permissions=["camera"], accept_downloads=True)
    context.set_default_timeout(LIMIT)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))

    def refuse(dialog: Dialog) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    opened.on("dialog", refuse)
    opened.on(
        "console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None
    )
    yield opened
    context.close()
    assert complaints == []
