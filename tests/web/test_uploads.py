"""Uploads: bounded, decoded elsewhere, never in place of another file."""

import errno
import http.client
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from signspot.errors import VideoLimitError
from signspot.io.sandbox import Limits
from signspot.web import uploads
from signspot.web.server_state import Workbench, WorkbenchOptions
from signspot.web.worker import Worker

from .conftest import Server

_RECEIVE = """
import asyncio, os, signal, sys
from pathlib import Path
from signspot.web.folder import ServedFolder
from signspot.web.uploads import receive

async def body():
    yield b"a part of a video"
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(receive(ServedFolder(Path(sys.argv[1])), "me.mp4", body()))
"""


def left_over(server: Server) -> list[str]:
    folder = server.folder / ".signspot" / "uploads"
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def test_a_video_comes_in_and_replaces_nothing(server: Server, material: Path) -> None:
    content = (material / "news.mp4").read_bytes() + b"\0\0\0\x09freex"
    before = (server.folder / "news.mp4").read_bytes()
    answer = server.ask("PUT", "/api/uploads/news.mp4", content)
    assert (answer.status, answer.json["name"], answer.json["kind"]) == (200, "news-2.mp4", "video")
    assert (server.folder / "news-2.mp4").read_bytes() == content
    assert (server.folder / "news.mp4").read_bytes() == before
    assert "news-2.mp4" in [video["name"] for video in server.ask("GET", "/api/library").json["videos"]]
    again = server.ask("PUT", "/api/uploads/news.mp4", content)
    assert again.json["name"] == "news-2.mp4", "sent again, since the answer was lost: it is there already"
    assert not (server.folder / "news-3.mp4").exists()
    (server.folder / "news-2.mp4").unlink()
    assert left_over(server) == []


def test_what_a_killed_server_was_sent_is_removed_by_the_next(tmp_path: Path) -> None:
    """Recordings show people: none stays in a folder that nobody looks at."""
    dead = subprocess.run([sys.executable, "-c", _RECEIVE, str(tmp_path)], capture_output=True, text=True, timeout=180)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    (left,) = (tmp_path / ".signspot" / "uploads").iterdir()
    mine = left.with_name("kept by hand.mp4")
    mine.write_bytes(b"")
    Workbench.open(WorkbenchOptions(tmp_path)).close()
    assert [path.name for path in left.parent.iterdir()] == [mine.name]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("fake.mp4", b"this is not a video at all" * 100),
        ("page.html", b"<script>alert(1)</script>"),
        ("empty.mp4", b""),
        ("playlist.mp4", b"#EXTM3U\nfile:///etc/passwd\n"),
        ("bad.pose", b"\0" * 300),
        ("x.sqlite", b"SQLite format 3\0"),
    ],
)
def test_what_is_no_video_is_refused(server: Server, name: str, content: bytes) -> None:
    before = sorted(path.name for path in server.folder.iterdir())
    answer = server.ask("PUT", f"/api/uploads/{name}", content)
    assert answer.status == 422
    assert "\n" not in answer.json["error"]
    assert str(server.folder) not in answer.json["error"], "no path of this machine"
    assert sorted(path.name for path in server.folder.iterdir()) == before
    assert left_over(server) == []


@pytest.mark.parametrize("name", ["..%2f..%2fevil.mp4", "%2ftmp%2fevil.mp4", "..%5cevil.mp4", ".hidden.mp4"])
def test_names_lead_nowhere_else(server: Server, material: Path, name: str) -> None:
    answer = server.ask("PUT", f"/api/uploads/{name}", (material / "news.mp4").read_bytes())
    if answer.status == 200:
        stored = server.folder / answer.json["name"]
        assert stored.parent == server.folder
        assert not stored.name.startswith(".")
        stored.unlink()
    else:
        assert answer.status in (404, 405, 422)
    assert not (server.folder.parent / "evil.mp4").exists()
    assert not Path("/tmp/evil.mp4").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("..mp4", "_.mp4"), ("long" * 50 + ".mp4", "long" * 20 + ".mp4"), (".hidden.mp4", "hidden.mp4")],
)
def test_names_keep_their_suffix_and_come_into_view(fresh: Server, name: str, expected: str) -> None:
    video = (fresh.folder / "news.mp4").read_bytes()
    assert fresh.ask("PUT", f"/api/uploads/{quote(name)}", video).json["name"] == expected
    assert expected in [video["name"] for video in fresh.ask("GET", "/api/library").json["videos"]]


def test_size_is_limited_with_or_without_a_length(tmp_path: Path, serve: Callable[..., Server]) -> None:
    small = serve(folder=tmp_path, most_bytes=100_000)
    answer = small.ask("PUT", "/api/uploads/big.mp4", b"x" * 110_000)
    assert (answer.status, "too large" in answer.json["error"]) == (422, True)
    pieces = (b"x" * 30_000 for _ in range(4))  # in chunks, so that no length is sent
    with closing(http.client.HTTPConnection("127.0.0.1", small.port, timeout=60)) as connection:
        connection.request("PUT", "/api/uploads/big.mp4", pieces, {"X-Signspot": "1"}, encode_chunked=True)
        cut = connection.getresponse()
        assert (cut.status, b"too large" in cut.read()) == (422, True)
    assert left_over(small) == []


@pytest.mark.parametrize("limits", [Limits(memory=1 << 20), Limits(seconds=0.0)], ids=["memory", "time"])
def test_decoding_has_limits(material: Path, tmp_path: Path, limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "video.mp4"
    path.write_bytes((material / "news.mp4").read_bytes())
    monkeypatch.setattr(uploads, "_SECONDS", limits.seconds)
    worker = Worker(1, limits)
    with closing(worker), pytest.raises(VideoLimitError):
        uploads.check(worker, path, "video.mp4")
    assert not path.exists()


def test_nothing_is_decoded_where_no_process_can_start(
    fresh: Server, material: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 with a sentence, no part files; and when processes can start again, all is well."""
    content = (material / "dictionary" / "river" / "video.mp4").read_bytes() + b"\0\0\0\x09freex"
    with monkeypatch.context() as patch:
        patch.setattr("signspot.io.sandbox.subprocess.Popen", _no_process)
        for address in ("/api/uploads/new.mp4", "/api/clips/news.mp4?name=new.mp4", "/api/sign?dictionary=dictionary"):
            answer = fresh.ask("PUT", address, content)
            assert (answer.status, "cannot be started" in answer.json["error"]) == (503, True), address
        assert fresh.ask("GET", "/api/thumbnail/video/news.mp4").status == 503
        assert left_over(fresh) == []
    assert fresh.ask("PUT", "/api/uploads/new.mp4", content).status == 200


def _no_process(*_: object, **__: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")
