"""Each defence taken away for a moment: the test that guards it must fail then, else it guards nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from signspot.errors import SignspotError
from signspot.web import exports, folder, guard, page_landmarks, pages, serving, uploads
from signspot.web.folder import ServedFolder, VideoFile
from signspot.web.guard import Door, Guard, Role
from signspot.web.serving import bind

from . import test_guard, test_page_landmarks, test_uploads, test_verification
from .conftest import Server
from .test_guard import guarded, traps  # noqa: F401 (fixtures)
from .test_page_landmarks import estimating, river  # noqa: F401 (fixtures)
from .test_verification import answered, sqlite  # noqa: F401 (fixtures)

Patch = Callable[[pytest.MonkeyPatch], None]
Run = Callable[[pytest.FixtureRequest], None]


def put(owner: Any, name: str, value: Any) -> Patch:
    return lambda patch: patch.setattr(owner, name, value)


def without_refusal(kind: str) -> Patch:
    """A guard that does not look at one of the headers of a request."""
    real = Guard._refusal

    def blind(self: Guard, scope: Any, headers: Any) -> Any:
        safe = {"x-signspot": "1"} if kind == "x-signspot" else {}
        return real(self, scope, {name: value for name, value in headers.items() if name != kind} | safe)

    return put(Guard, "_refusal", blind)


def trusting_video(self: ServedFolder, name: str) -> VideoFile:
    path = self.root / name
    return VideoFile(name, path, path.stat().st_size, 0, path if name.endswith(".txt") else None)


def following_links(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folder, "inside", lambda root, name, what: root / name)

    class Entry:
        def __init__(self, entry: "os.DirEntry[str]"):
            self._entry, self.name, self.path = entry, entry.name, entry.path

        def is_dir(self, **_: Any) -> bool:
            return self._entry.is_dir()

        def is_file(self, **_: Any) -> bool:
            return self._entry.is_file()

        def stat(self) -> Any:
            return self._entry.stat()

    class Found:
        def __init__(self, place: Any):
            self._found = list(map(Entry, os.scandir(place)))

        def __enter__(self) -> Any:
            return iter(self._found)

        def __exit__(self, *_: Any) -> None: ...

    class Os:
        scandir, DirEntry = Found, os.DirEntry

    patch.setattr(folder, "os", Os)


def unescaped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pages._templates, "autoescape", False)
    pages._templates.cache = {}


def plain_data(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(pages._templates.filters, "tojson", lambda value: Markup(json.dumps(value)))
    pages._templates.cache = {}


def with_server(test: Callable[..., None], *values: Any) -> Run:
    return lambda request: test(request.getfixturevalue("server"), *values)


def named(test: Callable[..., None], *fixtures: str) -> Run:
    return lambda request: test(*map(request.getfixturevalue, fixtures))


def constant(request: pytest.FixtureRequest) -> None:
    with pytest.MonkeyPatch.context() as patch:
        test_guard.test_tokens_are_compared_in_constant_time(patch)


def quick_compare(self: Door, token: str) -> Role | None:
    return self.tokens.get(token) if self.tokens else Role.OWN


def any_role(self: Door, token: str) -> Role | None:
    return Role.OWN if not self.tokens or token in self.tokens else None


async def keep_all(app_folder: ServedFolder, name: str, body: Any, most: int = 0) -> Path:
    target = app_folder.own / "uploads" / f"x{Path(name).suffix}"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(b"".join([piece async for piece in body]))
    return target


def limits(request: pytest.FixtureRequest) -> None:
    with pytest.MonkeyPatch.context() as patch:
        values = request.getfixturevalue("material"), request.getfixturevalue("tmp_path"), patch
        test_uploads.test_decoding_happens_in_a_process_with_limits(*values)


def check_here(path: Path, name: str) -> dict[str, Any]:
    try:
        return uploads.decode([str(path), name])
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def check_nothing(path: Path, name: str) -> dict[str, Any]:
    return {"kind": "video"}


GUARD, UPLOADS, ESTIMATED = test_guard, test_uploads, test_page_landmarks
DEFENCES: dict[str, tuple[Patch, Run]] = {
    "this machine only, unless told otherwise": (
        put(serving, "bind", lambda host, port: bind("0.0.0.0", port)),
        lambda request: GUARD.test_the_verb_binds_to_this_machine(request.getfixturevalue("tmp_path")),
    ),
    "other addresses need tokens": (
        put(guard, "is_loopback", lambda host: True),
        lambda _: GUARD.test_other_addresses_need_tokens(),
    ),
    "a token is needed": (
        put(Door, "role_of", lambda self, token: Role.OWN),
        named(GUARD.test_tokens_and_roles, "guarded"),
    ),
    "roles": (put(Door, "role_of", any_role), named(GUARD.test_every_change_needs_a_role, "guarded")),
    "constant time": (put(Door, "role_of", quick_compare), constant),
    "tokens leave the address": (
        put(Guard, "_token", lambda self, scope, headers: ("x", False)),
        named(GUARD.test_tokens_and_roles, "guarded"),
    ),
    "foreign hosts": (
        put(Door, "knows_host", lambda self, header: True),
        with_server(GUARD.test_foreign_hosts_are_refused, "evil.example"),
    ),
    "origin": (without_refusal("origin"), with_server(GUARD.test_cross_site_requests_are_refused)),
    "site of a request": (without_refusal("sec-fetch-site"), with_server(GUARD.test_cross_site_requests_are_refused)),
    "header that forms cannot send": (
        without_refusal("x-signspot"),
        with_server(GUARD.test_cross_site_requests_are_refused),
    ),
    "content security policy": (
        put(guard, "_HEADERS", ()),
        with_server(GUARD.test_every_answer_carries_a_strict_policy, "/"),
    ),
    "no inline script": (
        put(
            guard,
            "_HEADERS",
            tuple(
                (k, v.replace(b"script-src 'self'", b"script-src 'self' 'unsafe-inline'")) for k, v in guard._HEADERS
            ),
        ),
        with_server(GUARD.test_every_answer_carries_a_strict_policy, "/"),
    ),
    "files of the estimator": (
        put(page_landmarks.HolisticPackage, "file", lambda self, name: self.folder / (name or "secret.txt")),
        named(ESTIMATED.test_only_files_of_the_list_are_served, "server", "estimating"),
    ),
    "links out of the estimator": (
        put(Path, "is_relative_to", lambda self, other: True),
        lambda request: ESTIMATED.test_a_folder_that_is_no_whole_package_is_refused(
            request.getfixturevalue("tmp_path_factory").mktemp("package")
        ),
    ),
    "numbers of landmarks": (
        put(page_landmarks, "_points", lambda part: part),
        lambda request: ESTIMATED.test_every_number_is_checked(
            request.getfixturevalue("river"), (1, 5), float("inf"), "points"
        ),
    ),
    "policy of the page that estimates": (
        put(pages, "WASM_POLICY", guard.WASM_POLICY.replace("wasm-unsafe-eval", "unsafe-eval")),
        named(ESTIMATED.test_only_the_sign_page_may_run_webassembly_and_only_when_asked, "server", "estimating"),
    ),
    "paths are looked up": (
        put(ServedFolder, "video", trusting_video),
        named(GUARD.test_no_path_outside_can_be_read, "server", "traps"),
    ),
    "links": (following_links, named(GUARD.test_no_path_outside_can_be_read, "server", "traps")),
    "links of exemplars": (
        put(ServedFolder, "contains", lambda self, path: True),
        named(GUARD.test_exemplars_behind_links_are_refused, "server", "tmp_path", "material"),
    ),
    "new files lie in the folder": (
        put(ServedFolder, "new_file", lambda self, name, what: self.root / name),
        named(GUARD.test_nothing_is_written_or_read_elsewhere, "server", "material", "tmp_path"),
    ),
    "size of uploads": (put(uploads, "receive", keep_all), named(UPLOADS.test_size_is_limited_told_or_not, "tmp_path")),
    "uploads are decoded": (
        put(uploads, "check", check_nothing),
        with_server(UPLOADS.test_what_is_no_film_is_refused, "fake.mp4", b"this is no film at all" * 100),
    ),
    "in a process of its own, with a deadline": (put(uploads, "check", check_here), limits),
    "with little memory": (
        put(uploads, "_MEMORY", 300 << 30),
        named(UPLOADS.test_memory_of_decoding_is_limited, "material", "tmp_path"),
    ),
    "names of uploads": (
        put(uploads, "file_name", lambda name: name),
        with_server(UPLOADS.test_hidden_names_come_into_view),
    ),
    "markup in names": (unescaped, named(GUARD.test_markup_in_names_stays_text, "server", "material")),
    "markup in data": (plain_data, named(GUARD.test_markup_in_names_stays_text, "server", "material")),
    "formulas in tables": (
        put(exports, "_unformula", lambda value: value),
        named(test_verification.test_history_and_labels, "answered"),
    ),
}


@pytest.mark.parametrize("name", list(DEFENCES))
def test_without_it_its_test_fails(name: str, request: pytest.FixtureRequest, server: Server) -> None:
    """The server is this process's own: what is patched here is what answers."""
    take_away, run = DEFENCES[name]
    run(request)
    try:
        with pytest.MonkeyPatch.context() as patch:
            take_away(patch)
            with pytest.raises((AssertionError, pytest.fail.Exception, SignspotError)):
                run(request)
    finally:
        pages._templates.cache = {}  # templates that were compiled meanwhile
        server.ask("GET", "/api/library")
