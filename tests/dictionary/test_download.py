import json
import resource
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from signspot.dictionary import download as connections
from signspot.dictionary.download import Downloader, DownloadOptions
from signspot.errors import DownloadError, OutputError
from signspot.video.probing import page_problem, video_problem
from tests.fixtures.limits import LIMIT
from tests.fixtures.servers import SERVERS, lying_server, says

QUICK = ("closes", "drips headers", "giant chunk", "negative length", "never-ending body", "redirect to a file")


def downloader(clock: Any, **changes: Any) -> Downloader:
    return Downloader(DownloadOptions(sleep=clock.sleep, clock=clock, **({"timeout": LIMIT} | changes)))


@pytest.fixture
def fetch(server: Any, clock: Any, tmp_path: Path) -> Any:
    def fetch(path: str = "/a.mp4", **changes: Any) -> str:
        return downloader(clock, **changes).fetch(server.address + path, tmp_path / "a.mp4", video_problem)

    return fetch


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class TestWhole:
    def test_at_once(self, fetch: Any, server: Any, tmp_path: Path) -> None:
        assert fetch() == server.sha256
        assert (tmp_path / "a.mp4").read_bytes() == server.content
        assert files(tmp_path) == {"a.mp4"}
        (path, headers), *more = server.requests
        assert not more
        assert (path, headers["Accept-Encoding"]) == ("/a.mp4", "identity")
        assert headers["User-Agent"].startswith("signspot")

    def test_without_a_length(self, fetch: Any, server: Any) -> None:
        server.chunked = True
        assert fetch() == server.sha256

    def test_through_redirects(self, fetch: Any, server: Any) -> None:
        server.redirects = {"/a.mp4": "/b.mp4", "/b.mp4": server.address + "/c.mp4"}
        assert fetch() == server.sha256

    def test_addresses_with_spaces_and_accents(self, fetch: Any, server: Any) -> None:
        fetch("/café au lait.mp4?x=1&y=a%20b")
        assert server.requests[0][0] == "/caf%C3%A9%20au%20lait.mp4?x=1&y=a%20b"


class TestGoingOn:
    @pytest.mark.parametrize("chunked", [False, True])
    def test_dropped_connections(self, fetch: Any, server: Any, clock: Any, chunked: bool) -> None:
        server.drops, server.chunked = [1000, 2000, 0], chunked
        assert fetch() == server.sha256
        assert server.ranges == [None, "bytes=1000-", "bytes=3000-", "bytes=3000-"]
        assert server.requests[1][1]["If-Range"] == '"one"'
        assert clock.slept == [1.0, 2.0, 4.0]  # the delay of 1 s towards the host is in them

    def test_progress_forgives_failures(self, fetch: Any, server: Any) -> None:
        server.content += b"\0\1\x86\xa0free" + bytes(100_000 - 8)
        server.drops = [70_000] * 3
        assert fetch(retries=0) == server.sha256

    def test_in_a_later_run(self, fetch: Any, server: Any, tmp_path: Path) -> None:
        server.drops = [5000]
        with pytest.raises(DownloadError, match=r"a\.mp4"):
            fetch(retries=0)
        assert files(tmp_path) == {"a.mp4.part", "a.mp4.part.json"}
        assert fetch() == server.sha256
        assert server.ranges == [None, "bytes=5000-"]
        assert files(tmp_path) == {"a.mp4"}

    def test_a_server_that_knows_no_ranges(self, fetch: Any, server: Any) -> None:
        server.takes_ranges, server.drops = False, [4000]
        assert fetch() == server.sha256

    def test_a_file_that_changed_meanwhile(self, fetch: Any, server: Any, video: bytes) -> None:
        server.content, server.drops = b"\0" * 4 + b"ftyp" + bytes(9000), [4000]
        with pytest.raises(DownloadError):
            fetch(retries=0)
        server.content, server.etag = video, '"two"'
        assert fetch() == server.sha256

    def test_a_file_that_changed_without_a_word(self, fetch: Any, server: Any, video: bytes) -> None:
        """Without a mark nobody could see that the halves do not fit: it is fetched from the start."""
        server.content, server.etag, server.drops = b"\0" * len(video), "", [4000]
        with pytest.raises(DownloadError):
            fetch(retries=0)
        server.content = video
        assert fetch() == server.sha256
        assert server.ranges == [None, None]

    @pytest.mark.parametrize(("etag", "modified"), [('"two"', ""), ("", ""), ('W/"one"', "")])
    def test_a_part_of_another_version_is_never_appended(
        self, fetch: Any, server: Any, video: bytes, etag: str, modified: str
    ) -> None:
        """A server that sends the rest of what it has now, whatever it was asked for.

        Both versions, and any mixture of them, are the same video with a filling behind it: no look at them tells.
        """
        before, after = (video + b"\0\0\x10\x08free" + filling * 4096 for filling in (b"1", b"2"))
        server.content, server.drops, server.heeds_if_range = before, [len(video) + 1000, 0], False
        with pytest.raises(DownloadError):
            fetch(retries=0)
        server.content, server.etag, server.last_modified = after, etag, modified
        assert fetch() == server.sha256
        remaining = f"bytes={len(video) + 1000}-"
        assert server.ranges == [None, remaining, remaining, None]

    def test_a_part_of_a_file_of_another_size_is_never_appended(self, fetch: Any, server: Any, video: bytes) -> None:
        """A server that gives every version the same mark: the whole size still tells."""
        box = b"\0\0\x10\x08free"
        server.content, server.drops = video + box + b"1" * 4096, [len(video) + 1000, 0]
        with pytest.raises(DownloadError):
            fetch(retries=0)
        server.content = video + 2 * (box + b"2" * 4096)
        assert fetch() == server.sha256
        remaining = f"bytes={len(video) + 1000}-"
        assert server.ranges == [None, remaining, remaining, None]

    def test_by_date_where_there_is_no_tag(self, fetch: Any, server: Any) -> None:
        server.etag, server.last_modified, server.drops = 'W/"weak"', "Mon, 01 Jan 2024 00:00:00 GMT", [4000]
        assert fetch() == server.sha256
        assert server.requests[1][1]["If-Range"] == server.last_modified

    def test_what_is_left_of_another_file_is_not_used(self, fetch: Any, server: Any, tmp_path: Path) -> None:
        (tmp_path / "a.mp4.part").write_bytes(b"x" * 100)
        (tmp_path / "a.mp4.part.json").write_text(json.dumps({"address": "http://elsewhere/"}))
        assert fetch() == server.sha256
        assert server.ranges == [None]

    @pytest.mark.parametrize("note", ["7", "[[1]]", '{"etag": 7}', '{"etag": "\\"a\\"\\r\\nX: y"}', "[" * 5000])
    def test_a_damaged_note_is_as_none(self, fetch: Any, server: Any, tmp_path: Path, note: str) -> None:
        (tmp_path / "a.mp4.part").write_bytes(server.content[:100])
        head = json.dumps({"address": server.address + "/a.mp4"})[:-1]
        (tmp_path / "a.mp4.part.json").write_text(f"{head}, {note[1:]}" if note.startswith("{") else note)
        assert fetch() == server.sha256
        assert server.ranges == [None]

    @pytest.mark.parametrize(("more", "requests"), [(b"", 1), (b"more", 2)])
    def test_all_was_there_already_or_more(
        self, fetch: Any, server: Any, tmp_path: Path, more: bytes, requests: int
    ) -> None:
        (tmp_path / "a.mp4.part").write_bytes(server.content + more)
        (tmp_path / "a.mp4.part.json").write_text(
            json.dumps({"address": server.address + "/a.mp4", "etag": server.etag})
        )
        assert fetch() == server.sha256  # the server answers 416
        assert len(server.requests) == requests


class TestLies:
    def test_a_length_too_great(self, fetch: Any, server: Any, tmp_path: Path) -> None:
        """All that there is has come: the server itself says so when it is asked for the rest."""
        server.announce = len(server.content) + 5000
        assert fetch() == server.sha256

    def test_a_length_too_great_without_ranges(self, fetch: Any, server: Any, tmp_path: Path) -> None:
        server.announce, server.takes_ranges = len(server.content) + 5000, False
        with pytest.raises(DownloadError):
            fetch(retries=2)
        assert not (tmp_path / "a.mp4").exists()
        assert len(server.requests) == 1 + 3  # the first brought something

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_a_length_too_small(self, fetch: Any, server: Any, tmp_path: Path, share: float) -> None:
        server.announce = int(len(server.content) * share)
        with pytest.raises(DownloadError):
            fetch()
        assert files(tmp_path) == set()

    @pytest.mark.parametrize(
        "page", [b"<!DOCTYPE html><html>gone</html>", b"\n <HTML>", b"\xef\xbb\xbf<?xml ?>", b'{"error": 1}']
    )
    def test_a_page_for_a_video(self, fetch: Any, server: Any, tmp_path: Path, page: bytes) -> None:
        server.content = page
        with pytest.raises(DownloadError):
            fetch()
        assert len(server.requests) == 1
        assert files(tmp_path) == set()

    @pytest.mark.parametrize("content", [b"", bytes(range(256)) * 50])
    def test_something_else_for_a_video(self, fetch: Any, server: Any, tmp_path: Path, content: bytes) -> None:
        server.content = content
        with pytest.raises(DownloadError):
            fetch()
        assert not (tmp_path / "a.mp4").exists()

    @pytest.mark.parametrize("chunked", [False, True])
    def test_too_much(self, fetch: Any, server: Any, tmp_path: Path, chunked: bool) -> None:
        server.chunked = chunked
        with pytest.raises(DownloadError, match="limit"):
            fetch(max_bytes=1000)
        assert not (tmp_path / "a.mp4").exists()


class TestAnswers:
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 501])
    def test_no_is_no(self, fetch: Any, server: Any, status: int) -> None:
        server.statuses = [(status, {})]
        with pytest.raises(DownloadError, match=str(status)):
            fetch()
        assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_later_is_later(self, fetch: Any, server: Any, clock: Any, status: int) -> None:
        server.statuses = [(status, {}), (status, {"Retry-After": "7"})]
        assert fetch() == server.sha256
        assert clock.slept == [1.0, 7.0]

    def test_a_date_to_come_back(self, fetch: Any, server: Any, clock: Any) -> None:
        server.statuses = [(503, {"Retry-After": formatdate(time.time() + 60, usegmt=True)})]
        fetch()
        assert 55 < clock.slept[0] <= 60

    def test_too_much_later(self, fetch: Any, server: Any, clock: Any) -> None:
        server.statuses = [(503, {"Retry-After": "9999"})]
        with pytest.raises(DownloadError, match="9999"):
            fetch()
        assert clock.slept == []

    def test_it_gives_up(self, fetch: Any, server: Any, clock: Any) -> None:
        server.statuses = [(503, {})] * 10
        with pytest.raises(DownloadError):
            fetch(retries=3, longest_wait=3.0)
        assert len(server.requests) == 4
        assert clock.slept == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize(
        "redirects",
        [{"/a.mp4": "/b.mp4", "/b.mp4": "/a.mp4"}, {"/a.mp4": "/0"} | {f"/{n}": f"/{n + 1}" for n in range(20)}],
    )
    def test_too_many_redirects(self, fetch: Any, server: Any, redirects: dict[str, str]) -> None:
        server.redirects = redirects
        with pytest.raises(DownloadError, match=r"/a\.mp4"):
            fetch()
        assert len(server.requests) <= 6

    @pytest.mark.parametrize(
        "target",
        [
            *("file:///etc/passwd", "ftp://127.0.0.1:1/x", "data:,x"),
            *("http://a..b/x", "http://[::1/x", "http://127.0.0.1:99999/", "http://"),
        ],
    )
    def test_to_something_that_is_no_web_address(self, fetch: Any, server: Any, target: str, tmp_path: Path) -> None:
        server.redirects = {"/a.mp4": target}
        with pytest.raises(DownloadError):
            fetch(retries=0)
        assert not (tmp_path / "a.mp4").exists()


class TestManners:
    @pytest.mark.parametrize("header", ["²", "-5", "9" * 5000, "1e3"])
    def test_lengths_that_are_none(self, fetch: Any, server: Any, header: str) -> None:
        server.length_text = header
        assert fetch(retries=0) == server.sha256

    @pytest.mark.parametrize("after", ["²", "9" * 400, "Mon, 01 Jan 99999 00:00:00 GMT", "Mon, 99 Foo", "\0"])
    def test_waits_beyond_reason(self, fetch: Any, server: Any, after: str) -> None:
        server.statuses = [(503, {"Retry-After": after})]
        assert fetch() == server.sha256

    @pytest.mark.parametrize(
        "url",
        ["http://a..b/x", f"http://{'a' * 70}.test/x", "http://[::1/x", "http://a b/x", "http://\u2488.test/x"],
    )
    def test_hosts_that_cannot_be(self, tmp_path: Path, clock: Any, url: str) -> None:
        with pytest.raises(DownloadError):
            downloader(clock, retries=0).fetch(url, tmp_path / "a")

    @pytest.mark.parametrize(
        "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in sorted(SERVERS)]
    )
    def test_servers_that_drip_lie_and_never_end(self, tmp_path: Path, name: str) -> None:
        """Each is left in time, with a reason, and without a file."""
        options = DownloadOptions(retries=0, timeout=0.5, slow_after=0.5, delay=0, max_bytes=300_000)
        with lying_server(SERVERS[name]) as address, pytest.raises(DownloadError):
            Downloader(options).fetch(address + "/a.mp4", tmp_path / "a.mp4", video_problem)
        assert not (tmp_path / "a.mp4").exists()

    def test_redirects_lead_into_no_other_network(
        self, server: Any, clock: Any, tmp_path: Path, monkeypatch: Any
    ) -> None:
        """Of two addresses of this machine one stands for a public host."""
        monkeypatch.setattr(connections, "is_local", lambda address: address == "127.0.0.1")
        redirect = f"HTTP/1.1 302 Found\r\nLocation: {server.address}/a.mp4\r\nContent-Length: 0\r\n\r\n".encode()
        with lying_server(says(redirect), "127.0.0.2") as public:
            with pytest.raises(DownloadError, match=r"127\.0\.0\.1"):
                downloader(clock, retries=0).fetch(public + "/a.mp4", tmp_path / "a")
            assert not server.requests
        server.redirects = {"/in": server.address + "/a.mp4"}
        assert downloader(clock).fetch(server.address + "/in", tmp_path / "b") == server.sha256


@pytest.mark.parametrize(
    ("address", "local"),
    [
        *(("127.0.0.1", True), ("10.1.2.3", True), ("192.168.0.1", True), ("169.254.169.254", True), ("0.0.0.0", True)),
        *(("::1", True), ("fe80::1%eth0", True), ("fd00::1", True), ("::ffff:10.0.0.1", True)),
        *(("8.8.8.8", False), ("2001:4860:4860::8888", False), ("::ffff:8.8.8.8", False)),
    ],
)
def test_local_addresses(address: str, local: bool) -> None:
    assert connections.is_local(address) == local


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y", "data:,x", "a.mp4", "", "http://", "http://[x", "http://x:99999999/"]
)
def test_only_web_addresses(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError):
        Downloader().fetch(url, tmp_path / "a")


def test_nobody_there(clock: Any, tmp_path: Path, server: Any) -> None:
    """After three files that cannot be fetched the host is left alone."""
    one = downloader(clock, retries=1)
    for _ in range(3):
        with pytest.raises(DownloadError):
            one.fetch("http://127.0.0.1:9/x.mp4", tmp_path / "x")
    waited = len(clock.slept)
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:9"):
        one.fetch("http://127.0.0.1:9/y.mp4", tmp_path / "y")
    assert len(clock.slept) == waited
    assert one.fetch(server.address + "/a.mp4", tmp_path / "a") == server.sha256


def test_a_pause_between_two_requests_to_one_host(clock: Any, server: Any, tmp_path: Path) -> None:
    one = downloader(clock, delay=2.5)
    for name in "abc":
        one.fetch(f"{server.address}/{name}", tmp_path / name)
    assert clock.slept == [2.5, 2.5]
    clock.now += 100
    one.fetch(f"{server.address}/d", tmp_path / "d")
    assert clock.slept == [2.5, 2.5]


def test_a_place_that_cannot_be_written(clock: Any, server: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        downloader(clock).fetch(server.address + "/a", tmp_path / "file" / "a.mp4")


def test_a_video_is_no_page(video: bytes) -> None:
    assert page_problem(video) is None
    assert page_problem(b"") is None


def test_a_full_disk(clock: Any, server: Any, tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: writing fails in the same way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(OutputError):
            downloader(clock).fetch(server.address + "/a", tmp_path / "a.mp4")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "a.mp4").exists()
    assert downloader(clock).fetch(server.address + "/a", tmp_path / "a.mp4") == server.sha256
