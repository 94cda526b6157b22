"""A tiny real video, a tiny `.pose` file, and a web server on this machine that misbehaves on request."""

import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.video.writer import write_video


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two seconds of noise, about 150 kB: enough to be cut off in the middle."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("video") / "video.mp4"
    write_video(path, (rng.integers(0, 255, (64, 96, 3), dtype=np.uint8) for _ in range(50)), 25.0)
    return path.read_bytes()


@pytest.fixture(scope="session")
def pose(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    frames = 3
    path = tmp_path_factory.mktemp("pose") / "a.pose"
    landmarks = Landmarks(
        body=np.full((frames, 33, 4), 0.5, np.float32),
        left_hand=np.full((frames, 21, 3), 0.5, np.float32),
        right_hand=np.full((frames, 21, 3), 0.5, np.float32),
        face=np.full((frames, len(FACE_POINTS), 3), 0.5, np.float32),
        face_points=FACE_POINTS,
        times=np.arange(frames) / 25,
        size=(640, 480),
    )
    write_landmarks(landmarks, path)
    return path.read_bytes()


@pytest.fixture
def put(tmp_path: Path, video: bytes, pose: bytes) -> Any:
    """Lay files into a folder: videos and `.pose` files by their names, or any bytes."""

    def put(*names: str, folder: str = "signs", content: bytes | None = None) -> Path:
        base = tmp_path / folder
        base.mkdir(exist_ok=True)
        for name in names:
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if content is not None else pose if name.endswith(".pose") else video)
        return base

    return put


@dataclass
class Server:
    """Files and behaviour of the server, and the requests that it got."""

    address: str = ""
    content: bytes = b""
    etag: str = '"one"'
    last_modified: str = ""
    drops: list[int] = field(default_factory=list)  # bytes of the body after which the next answers break off
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)  # the next answers
    announce: int | None = None  # a lie about the length
    length_text: str = ""  # stands for the length
    takes_ranges: bool = True
    heeds_if_range: bool = True
    chunked: bool = False
    redirects: dict[str, str] = field(default_factory=dict)
    kind: str = "video/mp4"
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def ranges(self) -> list[str | None]:
        return [headers.get("Range") for _, headers in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plan: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        plan = self.plan
        plan.requests.append((self.path, dict(self.headers)))
        self.close_connection = True
        if self.path in plan.redirects:
            return self.head(302, {"Location": plan.redirects[self.path], "Content-Length": "0"})
        if plan.statuses:
            status, headers = plan.statuses.pop(0)
            return self.head(status, {"Content-Length": "0"} | headers)
        start, status, headers = 0, 200, {"Content-Type": plan.kind}
        headers |= {"ETag": plan.etag} if plan.etag else {}
        headers |= {"Last-Modified": plan.last_modified} if plan.last_modified else {}
        asked_range = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        valid = self.headers.get("If-Range") in (None, plan.etag, plan.last_modified) or not plan.heeds_if_range
        if asked_range and plan.takes_ranges and valid:
            start, status = int(asked_range[1]), 206
            if start >= len(plan.content):
                return self.head(416, {"Content-Range": f"bytes */{len(plan.content)}", "Content-Length": "0"})
            headers["Content-Range"] = f"bytes {start}-{len(plan.content) - 1}/{len(plan.content)}"
        body = plan.content[start:]
        if plan.chunked:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = str(plan.announce if plan.announce is not None else len(body))
        headers |= {"Content-Length": plan.length_text} if plan.length_text else {}
        self.head(status, headers)
        self.body(body)

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def body(self, body: bytes) -> None:
        end = self.plan.drops.pop(0) if self.plan.drops else None
        sent = body[:end]
        if not self.plan.chunked:
            self.wfile.write(sent)
            return
        if sent:
            self.wfile.write(f"{len(sent):x}\r\n".encode() + sent + b"\r\n")
        if end is None:
            self.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def server(video: bytes) -> Iterator[Server]:
    plan = Server(content=video)
    handler = type("PlannedHandler", (Handler,), {"plan": plan})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        plan.address = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield plan
        http.shutdown()
        thread.join()


@dataclass
class Clock:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
            self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()
