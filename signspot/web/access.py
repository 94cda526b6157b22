"""Access control: whose requests are answered, in which role, and what pages may load."""

import asyncio
import hmac
import ipaddress
import re
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import IntEnum
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection

from signspot.web.texts import language_of, translated

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "signspot-token"
REQUEST_HEADER = (
    "x-signspot"  # a header that forms cannot send, and pages of other sites only after a preflight request
)
_SAFE = frozenset({"GET", "HEAD"})
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")  # of a Host header
MOST_UPLOADS = 16  # that one client may send at the same time
_SILENT = 60.0  # seconds without data after which an upload is aborted
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
WASM_POLICY = POLICY.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")  # of the page that estimates
_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(self), microphone=(), geolocation=()"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)


class Role(IntEnum):
    """Role of a visitor; each role includes those before it."""

    LOOK = 1  # read, search and export
    VERIFY = 2  # decide about spottings, edit signs on a timeline
    OWN = 3  # upload, run jobs, change dictionaries


@dataclass(frozen=True)
class AccessPolicy:
    """Who may use the server."""

    host: str = "127.0.0.1"  # the address that is bound
    names: frozenset[str] = frozenset()  # further host names by which people reach it
    tokens: Mapping[str, Role] = field(default_factory=dict)  # empty: everybody on this machine has the role OWN

    @classmethod
    def create(cls, host: str, names: frozenset[str] = frozenset(), *, token: bool = False) -> "AccessPolicy":
        """The policy of an address; with a fresh token for each role unless it is loopback and no token is wanted."""
        if not token and is_loopback(host):
            return cls(host, names)
        return cls(host, names, {secrets.token_urlsafe(24): role for role in (Role.OWN, Role.VERIFY, Role.LOOK)})

    def is_known_host(self, header: str) -> bool:
        """Whether a Host header names this server: a loopback name, its address, or a name given by its owner.

        A page of another site whose name resolves to this machine (DNS rebinding) sends that other name.
        """
        parsed = _HOST.fullmatch(header)
        if parsed is None:
            return False
        name = parsed["name"].strip("[]").rstrip(".").lower()
        if name in self.names or name == "localhost" or is_loopback(name):
            return True
        if not self.tokens:
            return False
        return name == self.host or _is_address(name)

    def role_of(self, token: str) -> Role | None:
        """The role of a token; compared in constant time with every one."""
        if not self.tokens:
            return Role.OWN
        matched = None
        for valid_token, role in self.tokens.items():
            if hmac.compare_digest(valid_token.encode(), token.encode("utf-8", "replace")):
                matched = role
        return matched


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class AuthMiddleware:
    """Refuses unauthorised requests before they reach a route, and adds security headers to every answer."""

    def __init__(self, app: App, access: AccessPolicy):
        self._app, self._access = app, access
        self._uploads: Counter[str] = Counter()  # client → uploads that it sends now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        token, is_in_address = self._token(scope, headers)
        role = self._access.role_of(token)
        if refusal is not None:
            await _refuse(send, scope, *refusal)
        elif role is None:
            await _refuse(send, scope, 401, "A token is required: open the address that signspot serve printed.")
        elif is_in_address and scope["method"] in _SAFE:
            await _enter(send, scope, token)
        elif scope["method"] == "PUT":
            scope["role"] = role
            await self._upload(scope, receive, send)
        else:
            scope["role"] = role
            await self._app(scope, receive, _with_headers(send))

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive a file: a limited number per client at once, each with a timeout between two pieces."""
        client = (scope.get("client") or ("", 0))[0]
        if self._uploads[client] >= MOST_UPLOADS:
            await _refuse(
                send,
                scope,
                429,
                f"At most {MOST_UPLOADS} uploads of one client are accepted at a time. Try again when one has ended.",
            )
            return
        self._uploads[client] += 1

        async def receiving() -> MutableMapping[str, Any]:
            try:
                return await asyncio.wait_for(receive(), _SILENT)
            except (TimeoutError, asyncio.CancelledError):  # silent, or the server stops
                return {"type": "http.disconnect"}

        try:
            await self._app(scope, receiving, _with_headers(send))
        finally:
            self._uploads[client] -= 1
            if not self._uploads[client]:
                del self._uploads[client]

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._access.is_known_host(host):
            return 421, "The server is not reachable by this name. Add it with: signspot serve --name NAME"
        site, origin = headers.get("sec-fetch-site", ""), headers.get("origin")
        if origin not in (None, "null") and (origin or "").partition("://")[2] != host:
            return 403, "Requests from other sites are refused."
        is_visit = scope["method"] in _SAFE and headers.get("sec-fetch-mode") == "navigate"
        if site in ("cross-site", "same-site") and not is_visit:
            return 403, "Requests from other sites are refused."
        if scope["method"] not in _SAFE and REQUEST_HEADER not in headers:
            return 403, f"Requests that change something need the header {REQUEST_HEADER}: 1"
        return None

    def _token(self, scope: Scope, headers: Mapping[str, str]) -> tuple[str, bool]:
        """The token of a request, and whether it came in the address."""
        named = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
        if named and self._access.tokens:
            return named[0], True
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return bearer.strip(), False
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        return (cookie.value if cookie else ""), False


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message.get("headers", ())}
            missing = [pair for pair in _HEADERS if pair[0] not in present]
            message = {**message, "headers": [*message.get("headers", ()), *missing]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *more]
    sending = _with_headers(send)
    await sending({"type": "http.response.start", "status": status, "headers": headers})
    await sending({"type": "http.response.body", "body": text.encode()})


async def _refuse(send: Send, scope: Scope, status: int, text: str) -> None:
    """Answer with a message in the visitor's language."""
    await _answer(send, status, translated(text, language_of(HTTPConnection(scope))))


async def _enter(send: Send, scope: Scope, token: str) -> None:
    """Store the token of an address in a cookie that scripts cannot read, and redirect to the address without it."""
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"
    path = scope.get("raw_path", b"/").split(b"?")[0]
    path = b"/" + path.lstrip(b"/\\")  # never `//host`
    await _answer(send, 303, "", (b"location", path), (b"set-cookie", cookie.encode("latin-1")))
