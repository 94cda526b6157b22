"""The defences of the workbench, each asked over HTTP as an attacker would."""

import hmac
import http.client
import os
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from signspot.web.access import MOST_UPLOADS, AccessPolicy, Role
from signspot.web.server import addresses, bind
from tests.fixtures.limits import wait_until

from .conftest import Server

PAGES = ("/", "/spot?video=news.mp4", "/sign", "/verify", "/dictionary", "/compare", "/requests")


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "192.168.1.20", ""),
        *("[::1", "[zz]", "evil.example@127.0.0.1", "127.0.0.1#evil.example", "127.0.0.1:80:80", "127.0.0.1/x"),
    ],
)
def test_foreign_hosts_are_refused(server: Server, host: str) -> None:
    """A page of another site whose name was made to lead here (DNS rebinding) still sends its own name."""
    with closing(http.client.HTTPConnection("127.0.0.1", urlsplit(server.address).port, timeout=60)) as connection:
        connection.putrequest("GET", "/api/library", skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        assert b"news" not in answer.read()
        assert answer.status in (400, 421)


def test_cross_site_requests_are_refused(server: Server) -> None:
    body = {"kind": "prepare", "video": "none.mp4"}  # nothing happens, should it be let in
    assert server.ask("POST", "/api/jobs", body).status == 404
    assert server.ask("POST", "/api/jobs", body, Origin="http://evil.example").status == 403
    assert server.ask("POST", "/api/jobs", body, Origin="http://[::1").status == 403
    assert server.ask("POST", "/api/jobs", body, Origin=server.address).status == 404
    assert server.ask("POST", "/api/jobs", body, Sec_Fetch_Site="cross-site").status == 403
    assert server.ask("POST", "/api/jobs/clear", X_Signspot="").status == 403, "what a form can send"
    assert server.ask("GET", "/api/media/news.mp4", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
    assert server.ask("GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200, "a link"


class Inline(HTMLParser):
    """Notes everything that a strict policy forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self.found.append("inline script")
        if tag == "style":
            self.found.append("inline style")
        self.found += [f"{tag} {name}" for name in values if name.startswith("on") or name == "style"]
        for name in ("src", "href"):
            if re.match(r"(?:[a-z]+:)?//|javascript:", values.get(name) or ""):
                self.found.append(f"{tag} {name}={values[name]}")


@pytest.mark.parametrize("path", [*PAGES, "/nowhere", "/api/nowhere", "/static/spot.js"])
def test_every_answer_carries_a_strict_policy(server: Server, path: str) -> None:
    answer = server.ask("GET", path)
    policy = answer.headers.get("content-security-policy", "")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    if path in PAGES:
        parser = Inline()
        parser.feed(answer.text)
        assert answer.status == 200
        assert not parser.found


@pytest.fixture
def traps(server: Server, tmp_path: Path) -> Iterator[Path]:
    """Links out of the folder, by file, by folder, in a dictionary; and files that no page shows."""
    secret = tmp_path / "secret.mp4"
    secret.write_bytes(b"top secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "inner.mp4").write_bytes(b"top secret")
    links = [server.folder / "link.mp4", server.folder / "below", server.folder / "dictionary" / "linked"]
    links[0].symlink_to(secret)
    links[1].symlink_to(tmp_path / "outside")
    links[2].symlink_to(tmp_path / "outside")
    (server.folder / "notes.txt").write_text("top secret")
    yield secret
    for path in (*links, server.folder / "notes.txt"):
        path.unlink()


def test_no_path_outside_can_be_read(server: Server, traps: Path) -> None:
    names = [
        "../secret.mp4", "..%2fsecret.mp4", "%2e%2e/secret.mp4", "..%5csecret.mp4", "%252e%252e%252fsecret.mp4",
        str(traps), str(traps).replace("/", "%2f"), "%2f" + str(traps).lstrip("/"), "link.mp4", "below/inner.mp4",
        "./../" + "../" * 20 + str(traps).lstrip("/"), "notes.txt", ".signspot/web.sqlite", "news.mp4%00.txt",
        "dictionary/linked/inner.mp4",
    ]  # fmt: skip
    for name in names:
        for kind in ("media", "thumbnail/video", "captions"):
            answer = server.ask("GET", f"/api/{kind}/{name}")
            assert answer.status in (400, 404, 422), (kind, name, answer.status)
            assert b"top secret" not in answer.body
    for path in (
        "/static/../../../../secret.mp4",
        "/static/%2e%2e/app.py",
        "/report/%2e%2e/report.py",
        "/static/..%2fapp.py",
    ):
        assert server.ask("GET", path).status == 404
    assert "link.mp4" not in [video["name"] for video in server.ask("GET", "/api/library").json["videos"]]


def test_exemplars_behind_links_are_refused(server: Server, tmp_path: Path, material: Path) -> None:
    video = tmp_path / "far.mp4"
    video.write_bytes((material / "news.mp4").read_bytes())
    link = server.folder / "dictionary" / "far"
    link.mkdir()
    (link / "far.mp4").symlink_to(video)
    os.utime(server.folder / "dictionary")
    try:
        answer = server.ask("GET", "/api/exemplar/dictionary?id=far/far")
        assert (answer.status, b"leads out" in answer.body) == (422, True)
    finally:
        (link / "far.mp4").unlink()
        link.rmdir()
        os.utime(server.folder / "dictionary")


@pytest.fixture(scope="module")
def guarded(material: Path) -> Iterator[Server]:
    started = Server(folder=material, access=AccessPolicy.create("127.0.0.1", token=True)).start()
    yield started
    started.stop()


def test_tokens_and_roles(guarded: Server) -> None:
    by_role = {line.partition(":")[0]: line.partition("token=")[2] for line in addresses(guarded.access, 80)}
    assert set(by_role) == {"own", "verify", "look"}
    assert guarded.ask("GET", "/").status == 401
    assert guarded.ask("GET", "/", Authorization="Bearer nonsense").status == 401
    expected = {"look": (200, 403, 403), "verify": (200, 422, 403), "own": (200, 422, 200)}
    for role, token in by_role.items():
        headers = {"Authorization": f"Bearer {token}"}
        statuses = (
            guarded.ask("GET", "/", **headers).status,
            guarded.ask("POST", "/api/queues/none/decisions", {}, **headers).status,
            guarded.ask("POST", "/api/jobs/clear", **headers).status,
        )
        assert statuses == expected[role], role
    entered = guarded.ask("GET", f"/verify?token={by_role['look']}")
    assert (entered.status, entered.headers["location"]) == (303, "/verify")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guarded.ask("GET", "/", Cookie=cookie.partition(";")[0]).status == 200


def test_a_client_sends_few_files_at_once(server: Server) -> None:
    """Uploads that hang use up neither processes nor files; those that are broken off leave nothing."""
    parts = urlsplit(server.address)
    head = f"PUT /api/uploads/x.mp4 HTTP/1.1\r\nHost: {parts.netloc}\r\nX-Signspot: 1\r\nContent-Length: 9\r\n\r\nx"
    hanging = [socket.create_connection((parts.hostname, parts.port)) for _ in range(MOST_UPLOADS)]
    try:
        for connection in hanging:
            connection.sendall(head.encode())
        wait_until(lambda: server.ask("PUT", "/api/uploads/x.txt", b"x").status == 429, "all uploads to arrive")
    finally:
        for connection in hanging:
            connection.close()
    wait_until(lambda: server.ask("PUT", "/api/uploads/x.txt", b"x").status == 422, "the uploads to be given up")
    left = server.folder / ".signspot" / "uploads"
    wait_until(lambda: not list(left.iterdir()), "the files of uploads to be removed")


def test_other_addresses_need_tokens() -> None:
    assert AccessPolicy.create("127.0.0.1") == AccessPolicy()
    assert not AccessPolicy().tokens
    assert not AccessPolicy.create("::1").tokens
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.org"):
        access = AccessPolicy.create(host)
        assert sorted(access.tokens.values()) == [Role.LOOK, Role.VERIFY, Role.OWN]
        assert all(len(token) >= 30 for token in access.tokens)
        assert access.role_of("") is None
        assert not access.is_known_host("evil.example")
        assert all("token=" in line for line in addresses(access, 80))
    assert AccessPolicy.create("0.0.0.0", frozenset({"lab.example"})).is_known_host("lab.example:8321")
    assert AccessPolicy.create("0.0.0.0").is_known_host("192.168.1.5:8321"), (
        "an address is not a name that can be rebound"
    )


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest
    monkeypatch.setattr("signspot.web.access.hmac.compare_digest", lambda a, b: (calls.append((a, b)), real(a, b))[1])
    access = AccessPolicy.create("0.0.0.0")
    first = next(iter(access.tokens))
    assert access.role_of(first) is Role.OWN
    assert len(calls) == 3, "with every token, also after one has matched"


def test_a_taken_port_is_reported_in_one_line() -> None:
    from signspot.errors import OptionsError

    with bind("127.0.0.1", 0) as bound, pytest.raises(OptionsError, match=r"cannot serve at 127\.0\.0\.1"):
        bind("127.0.0.1", bound.getsockname()[1])


def test_language_links_lead_nowhere_else(server: Server) -> None:
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        answer = server.ask("GET", f"/language/de?back={back}")
        assert (answer.status, answer.headers["location"]) == (303, "/")


def test_the_command_binds_to_this_machine(tmp_path: Path) -> None:
    """As people run it, without an address."""
    from typer.testing import CliRunner

    from signspot.cli.app import app

    bound: list[tuple[str, int]] = []

    def run(self: object, sockets: list[socket.socket]) -> None:
        bound.extend(listening.getsockname() for listening in sockets)
        for listening in sockets:
            listening.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.Server.run", run)
        CliRunner().invoke(app, ["serve", str(tmp_path), "--port", "0"], catch_exceptions=False)
    assert [host for host, _ in bound] == ["127.0.0.1"]


SEARCHES = {  # what everybody may send who may look: it changes nothing
    ("PUT", "/api/clips/{video}"), ("PUT", "/api/sign"), ("PUT", "/api/feedback"), ("POST", "/api/warm"),
    ("POST", "/api/export"), ("POST", "/api/recordings"), ("PUT", "/api/recordings/{recording}/frames"),
    ("POST", "/api/recordings/{recording}/search"), ("DELETE", "/api/recordings/{recording}"),
    ("POST", "/api/sign/landmarks"), ("POST", "/api/recordings/{recording}/end"), ("POST", "/api/trial"),
}  # fmt: skip
DECIDES = {
    ("POST", "/api/queues/{queue}/next"), ("POST", "/api/queues/{queue}/decisions"),
    ("POST", "/api/queues/{queue}/undo"), ("PUT", "/api/queues/{queue}/import"),
    ("PUT", "/api/signs/{video}"),
}  # fmt: skip


def test_every_change_needs_a_role(guarded: Server) -> None:
    tokens = {role: {"Authorization": f"Bearer {token}"} for token, role in guarded.access.tokens.items()}
    paths = guarded.ask("GET", "/openapi.json", **tokens[Role.LOOK]).json["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods} - SEARCHES
    changes = {route for route in routes if route[0] != "GET"}
    assert len(changes) > 15
    assert changes >= DECIDES
    for method, path in sorted(changes):
        address = re.sub(r"\{\w+\}", "none", path)
        assert guarded.ask(method, address, {}, **tokens[Role.LOOK]).status == 403, (method, path)
        if (method, path) not in DECIDES:
            assert guarded.ask(method, address, {}, **tokens[Role.VERIFY]).status == 403, (method, path)


def test_files_of_spottings_are_read_in_the_folder_alone(server: Server) -> None:
    outside = server.folder.parent / "outside.jsonl"
    outside.write_text('{"word": "secret", "video": "x", "time": 1, "start": 0.5, "end": 1.5, "score": 0.9}\n')
    for name in ("../outside.jsonl", str(outside)):
        answer = server.ask("POST", "/api/queues", {"name": "q", "file": name})
        assert answer.status == 422, name
        assert str(server.folder.parent) not in answer.text.replace(name, ""), "no path of this machine"
    outside.unlink()


def test_markup_in_names_stays_text(server: Server, material: Path) -> None:
    """In pages as they are sent, whatever scripts do later."""
    hostile = "</script><img src=x onerror=alert(1)>\"'><b>"
    for address in ("/?q=", "/spot?video=news.mp4&word=", "/compare?word=", "/dictionary?q="):
        answer = server.ask("GET", address + quote(hostile))
        assert answer.status == 200
        assert "<img src=x" not in answer.text, address
        assert "onerror=alert(1)>" not in answer.text, address
