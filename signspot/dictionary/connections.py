"""Connections of downloads: http and https only, few redirects, an end in time, and no way into other networks."""

import http.client
import ipaddress
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


class RefusedHostError(OSError):
    """A redirect leads to this machine or its network, where the user's own address did not."""


class Connections:
    """Opens addresses; what the user named may be anywhere, what a server redirects to may not.

    Args:
        timeout: seconds without a byte; an answer must begin within twice as many, however slowly it drips.
    """

    def __init__(self, timeout: float):
        self.timeout = timeout
        self._sockets: list[socket.socket] = []  # of the present request and its redirects
        self._local: bool | None = None  # whether the user's own address was local; None: not connected yet
        self._due = 0.0  # when the present step must be done
        self._opener = urllib.request.OpenerDirector()  # http and https only: no file:, ftp: or data:
        for handler in (
            urllib.request.ProxyHandler(),
            _Http(self),
            _Https(self),
            urllib.request.UnknownHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.HTTPDefaultErrorHandler(),
            _FewRedirects(),
        ):
            self._opener.add_handler(handler)

    @contextmanager
    def open(self, request: urllib.request.Request) -> Iterator[Any]:
        """Send a request; give the response once its headers are there, and close it in the end.

        Raises:
            RefusedHostError: it was redirected to where it may not go; also as the reason of a URLError.
            OSError: there is no connection.
            http.client.HTTPException: the answer is no HTTP.
            ValueError: an address is malformed.
        """
        self._sockets, self._local = [], None
        self.go_on()
        finished = threading.Event()
        threading.Thread(target=self._watch, args=(finished,), daemon=True).start()
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                yield response
        finally:
            finished.set()

    def go_on(self) -> None:
        """Begin the next step, such as reading some bytes: it has its own time."""
        self._due = time.monotonic() + 2 * self.timeout

    def _watch(self, finished: threading.Event) -> None:
        """Hang up when a step takes too long: a byte now and then would let a server hold us for ever."""
        sockets = self._sockets
        while not finished.wait(min(1.0, self.timeout / 2)):
            if time.monotonic() > self._due:
                for connection in sockets:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)

    def admit(self, connection: socket.socket) -> None:
        """Take a new connection, if it leads where the user wanted to go.

        Raises:
            RefusedHostError: it does not. Nothing was sent.
        """
        address = str(connection.getpeername()[0])
        local = is_local(address)
        if self._local is None:
            self._local = local
        if local and not self._local:
            raise RefusedHostError(f"it redirects to {address}, an address of this machine or its own network")
        self._sockets.append(connection)


def is_local(address: str) -> bool:
    """Whether an IP address belongs to this machine, its network, or to nobody in public."""
    number = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(number, "ipv4_mapped", None)
    return not (mapped or number).is_global


class _FewRedirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5
    max_repeats = 2


class _Http(urllib.request.HTTPHandler):
    def __init__(self, connections: Connections):
        super().__init__()
        self._connections = connections

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a request of the scheme http."""
        connections = self._connections

        class Connection(http.client.HTTPConnection):
            def connect(self) -> None:
                super().connect()
                _admit(connections, self)

        return self.do_open(Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, connections: Connections):
        super().__init__()
        self._connections = connections

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a request of the scheme https."""
        connections = self._connections

        class Connection(http.client.HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                _admit(connections, self)

        return self.do_open(Connection, req)


def _admit(connections: Connections, connection: http.client.HTTPConnection) -> None:
    try:
        connections.admit(connection.sock)
    except RefusedHostError:
        connection.close()
        raise
