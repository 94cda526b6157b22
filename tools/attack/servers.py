"""Servers that lie, drip and never end, on loopback alone; and files that change while they are fetched."""

import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from tools.attack import AttackOptions, Outcome

_LONGEST = 20.0  # seconds for one download, on a busy machine
_OK = b"HTTP/1.1 200 OK\r\n"
Talk = Callable[[socket.socket], None]


def says(text: bytes) -> Talk:
    """A server that sends this, whatever it is asked."""

    def talk(line: socket.socket) -> None:
        line.sendall(text)

    return talk


def _drips(head: bytes, drop: bytes) -> Talk:
    def talk(line: socket.socket) -> None:
        line.sendall(head)
        while True:
            line.sendall(drop)
            time.sleep(0.05)

    return talk


def _pours(head: bytes, flood: bytes) -> Talk:
    def talk(line: socket.socket) -> None:
        line.sendall(head)
        while True:
            line.sendall(flood)

    return talk


SERVERS: dict[str, Talk] = {
    "says nothing": lambda line: time.sleep(3),
    "closes": says(b""),
    "no HTTP": says(b"220 mail.example ESMTP\r\n"),
    "drips a status": _drips(b"HTTP/1.1 ", b"2"),
    "drips headers": _drips(_OK, b"X: y\r\n"[:1]),
    "never-ending headers": _pours(_OK, b"X-Y: " + b"z" * 1000 + b"\r\n"),
    "never-ending continue": _drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a flood of continue": _pours(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "drips a body": _drips(_OK + b"Content-Length: 100000\r\n\r\n", b"\0"),
    "drips without a length": _drips(_OK + b"\r\n", b"\0"),
    "never-ending body": _pours(_OK + b"\r\n", bytes(10_000)),
    "negative chunk": _pours(_OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", bytes(10_000)),
    "more negative chunk": _pours(_OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n", bytes(10_000)),
    "giant chunk": _drips(_OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", b"\0"),
    "no chunk": says(_OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "drips a chunk length": _drips(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "strange length": says(_OK + "Content-Length: \u00b2\r\n\r\n".encode() + bytes(100)),
    "negative length": says(_OK + b"Content-Length: -1\r\n\r\n" + bytes(100)),
    "strange part": says(b"HTTP/1.1 206 Partial\r\nContent-Range: bytes \xb2-/\xb2\r\n\r\n" + bytes(100)),
    "strange status": says(b"HTTP/1.1 -99999999999999999999 OK\r\n\r\n"),
    "redirect to itself": says(b"HTTP/1.1 302 Found\r\nLocation: /a.mp4\r\nContent-Length: 0\r\n\r\n"),
    "redirect to nowhere": says(b"HTTP/1.1 302 Found\r\nLocation: http://[::/\r\nContent-Length: 0\r\n\r\n"),
    "redirect to a file": says(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/hosts\r\nContent-Length: 0\r\n\r\n"),
    "compressed": says(_OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"),
    "a page": says(_OK + b"Content-Length: 15\r\n\r\n<!doctype html>"),
}


@contextmanager
def lying_server(talk: Talk, host: str = "127.0.0.1") -> Iterator[str]:
    """A server of one kind, on an address of this machine; gives where it is."""
    with socket.create_server((host, 0)) as ear:
        threading.Thread(target=_serve, args=(ear, talk), daemon=True).start()
        yield f"http://{host}:{ear.getsockname()[1]}"
        with suppress(OSError):
            ear.shutdown(socket.SHUT_RDWR)


def _serve(ear: socket.socket, talk: Talk) -> None:
    while True:
        try:
            line, _ = ear.accept()
        except OSError:
            return
        threading.Thread(target=_talk, args=(line, talk), daemon=True).start()


def _talk(line: socket.socket, talk: Talk) -> None:
    with line, suppress(OSError):
        line.settimeout(10)
        line.recv(65_536)
        talk(line)


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Every lying server; files that change between two parts."""
    for name, act in (("lies", _lies), ("changing files", _change)):
        if not options.only or name in options.only:
            yield act(options)


def _lies(options: AttackOptions) -> Outcome:
    from signspot.dictionary.download import Download, Downloader, DownloadOptions
    from signspot.errors import DownloadError
    from signspot.video.probing import video_problem

    outcome = Outcome("lies", len(SERVERS))
    manners = DownloadOptions(retries=1, timeout=1.0, slow_after=1.0, delay=0.0, backoff=0.0, max_bytes=2_000_000)
    for name, talk in SERVERS.items():
        before, target = time.perf_counter(), options.folder / "lie.mp4"
        with lying_server(talk) as address:
            try:
                Downloader(manners).fetch(Download(address + "/a.mp4", "a.mp4"), target, video_problem)
                outcome.failures.append(f"{name}: accepted")
            except DownloadError:
                pass
            except Exception as error:
                outcome.failures.append(f"{name}: {type(error).__name__}: {error}")
        seconds = time.perf_counter() - before
        outcome.worst_seconds = max(outcome.worst_seconds, seconds)
        if seconds > _LONGEST:
            outcome.failures.append(f"{name}: {seconds:.0f} s")
    return outcome


class _Versions(BaseHTTPRequestHandler):
    """A server that breaks off, changes its file, and may or may not say so."""

    protocol_version = "HTTP/1.1"
    videos: list[bytes]
    draw: random.Random
    slow = 0.0  # seconds between two pieces
    breaks = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Send a file, or the part of one that was asked for, perhaps of another version."""
        version = self.draw.randrange(len(self.videos))
        video = self.videos[version]
        wanted = self.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
        start = int(wanted) if wanted else 0
        self.send_response(206 if wanted else 200)
        if self.draw.random() < 0.8:
            self.send_header("ETag", f'"{version}"')
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(video) - 1}/{len(video)}")
        self.send_header("Content-Length", str(len(video) - start))
        self.end_headers()
        end = self.draw.randrange(start + 1, len(video) + 20_000) if self.breaks else len(video)
        for place in range(start, min(end, len(video)), 8000):
            self.wfile.write(video[place : min(end, place + 8000)])
            time.sleep(self.slow)
        self.close_connection = True


@contextmanager
def versions(videos: list[bytes], seed: int, **settings: object) -> Iterator[str]:
    """A server that sends any of some files, breaks off and goes on, as `settings` of `_Versions` say."""
    handler = type("Handler", (_Versions,), {"videos": videos, "draw": random.Random(seed), **settings})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def make_videos(folder: Path, count: int) -> list[bytes]:
    """Videos of one length in bytes and of different noise, so that a mixture of two passes for a video."""
    from signspot.video.writer import write_video

    videos = []
    for seed in range(count):
        draw = np.random.default_rng(seed)
        path = folder / f"video-{seed}.mp4"
        write_video(path, (draw.integers(0, 255, (64, 96, 3), dtype=np.uint8) for _ in range(30)), 25.0)
        videos.append(path.read_bytes())
    longest = max(map(len, videos)) + 8
    return [
        video + (longest - len(video)).to_bytes(4, "big") + b"free" + bytes(longest - len(video) - 8)
        for video in videos
    ]


def _change(options: AttackOptions) -> Outcome:
    from signspot.dictionary.download import Download, Downloader, DownloadOptions
    from signspot.errors import DownloadError

    videos = make_videos(options.folder, 2)
    known = {hashlib.sha256(video).hexdigest() for video in videos}
    manners = DownloadOptions(retries=20, timeout=5.0, delay=0.0, backoff=0.0)
    outcome, whole = Outcome("changing files", options.count), 0
    for number in range(options.count):
        before = time.perf_counter()
        with versions(videos, options.seed + number) as address:
            try:
                digest = Downloader(manners).fetch(Download(address + "/a.mp4", "a"), options.folder / f"c{number}.mp4")
                whole += 1
                if digest not in known:
                    outcome.failures.append(f"seed {options.seed + number}: a mixture of two files was accepted")
            except DownloadError:
                pass
            except Exception as error:
                outcome.failures.append(f"seed {options.seed + number}: {type(error).__name__}: {error}")
        outcome.worst_seconds = max(outcome.worst_seconds, time.perf_counter() - before)
    outcome.accepted = whole
    return outcome
