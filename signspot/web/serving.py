"""The server: an address is bound, then requests are answered until somebody presses Ctrl-C."""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from signspot.errors import MissingExtraError, OptionsError
from signspot.web.guard import Door, is_loopback

if TYPE_CHECKING:
    from signspot.web.workbench import WorkbenchOptions

Told = Callable[[str], None]


def serve(options: "WorkbenchOptions", port: int, told: Told) -> None:
    """Serve a folder until the process is interrupted.

    Args:
        options: what is served, and to whom.
        port: 0 for any that is free.
        told: called with each address at which the workbench can be opened, once it can.

    Raises:
        OptionsError: the address cannot be bound.
        MissingExtraError: FastAPI or uvicorn is not installed.
    """
    try:
        import uvicorn

        from signspot.web.app import create_app
    except ModuleNotFoundError as error:
        name = (error.name or "").split(".")[0]
        if name in ("fastapi", "uvicorn", "jinja2", "starlette", "sqlalchemy", "threadpoolctl"):
            raise MissingExtraError(name, "serve", "the workbench") from None
        raise
    door = options.door
    bound = bind(door.host, port)
    app = create_app(options)
    plain = {"log_level": "warning", "access_log": False, "server_header": False, "proxy_headers": False}
    settings = uvicorn.Config(app, timeout_graceful_shutdown=5, **plain)  # type: ignore[arg-type]
    settings.load()  # before the address is told: whoever opens it at once does not wait for it
    for address in addresses(door, bound.getsockname()[1]):
        told(address)
    uvicorn.Server(settings).run(sockets=[bound])


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        OptionsError: the address is not this machine's, or the port is taken.
    """
    bound = None
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen(2048)  # whoever comes before the server is ready waits
    except OSError as error:
        if bound is not None:
            bound.close()
        raise OptionsError(
            f"cannot serve at {host}, port {port}: {error.strerror or error}. Choose another --port, or --host"
        ) from error
    return bound


def addresses(door: Door, port: int) -> list[str]:
    """The addresses to open: one, or one for each role with its token."""
    shown = "127.0.0.1" if is_loopback(door.host) else f"[{door.host}]" if ":" in door.host else door.host
    if not door.tokens:
        return [f"http://{shown}:{port}/"]
    return [f"{role.name.lower()}: http://{shown}:{port}/?token={token}" for token, role in door.tokens.items()]
