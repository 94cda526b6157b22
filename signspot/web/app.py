"""The web application: routes, error answers, the access policy in front; and the server that runs it."""

import errno
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from signspot.errors import OptionsError, OutputError, SandboxStartError, SignspotError, StoreError, UnknownWordError
from signspot.io.files import explain_write_failure
from signspot.version import VERSION
from signspot.web import api_dictionary, api_library, api_search, api_verify, pages
from signspot.web.access import AccessPolicy, AuthMiddleware, is_loopback
from signspot.web.workbench import Workbench, WorkbenchOptions

_NO_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
_ABOUT = (
    "Every page of the workbench uses these requests, and so may scripts. Requests that change something need the "
    "header X-Signspot: 1; where tokens are used, send one as Authorization: Bearer TOKEN."
)


def create_app(options: WorkbenchOptions) -> FastAPI:
    """The application that serves one folder."""
    bench = Workbench.open(options)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        bench.jobs.start()
        yield
        bench.close()

    app = FastAPI(
        title="signspot workbench", version=VERSION, description=_ABOUT, lifespan=life, docs_url=None, redoc_url=None
    )
    app.state.bench = bench
    for part in (api_library, api_search, api_verify, api_dictionary):
        app.include_router(part.router, prefix="/api")
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=str(files("signspot.web") / "static")), name="static")
    report = Path(str(files("signspot.plots") / "page"))
    app.mount("/report", StaticFiles(directory=report), name="report")
    app.add_exception_handler(SignspotError, _tell)
    app.add_exception_handler(OSError, _tell_system)
    app.add_exception_handler(ClientDisconnect, _tell_nobody)
    app.add_exception_handler(UnicodeEncodeError, _tell_no_text)
    app.add_exception_handler(HTTPException, _tell_http)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_middleware(AuthMiddleware, access=options.access)
    pages.prepare(bench)
    return app


def status_of(error: SignspotError) -> int:
    """The HTTP status of an error: 404 for words that are not there, 507 for a full disk, 422 for the rest."""
    if isinstance(error, UnknownWordError):
        return 404
    if isinstance(error, StoreError | SandboxStartError):
        return 503
    if isinstance(error, OutputError) and not isinstance(error, OptionsError):
        return 507
    return 404 if str(error).startswith("there is no ") else 422


async def _tell(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    assert isinstance(error, SignspotError)
    root = request.app.state.bench.folder.root
    return _answer(request, status_of(error), str(error).replace(str(root), root.name))  # no path of this machine


async def _tell_system(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    """A file that is gone, or a disk that is full or may not be written; anything else is a fault of ours."""
    assert isinstance(error, OSError)
    if isinstance(error, FileNotFoundError):
        return _answer(request, 404, "there is no such file any more")
    if error.errno not in _NO_WRITING:
        raise error
    return _answer(request, 507, explain_write_failure(Path(Path(str(error.filename or "the file")).name), error))


async def _tell_nobody(request: Request, error: Exception) -> PlainTextResponse:
    return PlainTextResponse("", 499)  # whoever asked has gone


async def _tell_no_text(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    return _answer(request, 422, "the request holds halves of characters (surrogates), which are no text")


async def _tell_http(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, str(error.detail))


async def _tell_invalid(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    assert isinstance(error, RequestValidationError)
    first: Any = error.errors()[0]
    return _answer(request, 422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")


def _answer(request: Request, status: int, text: str) -> JSONResponse | PlainTextResponse:
    if request.url.path.startswith("/api"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text, status)


def serve(options: WorkbenchOptions, port: int, report: Callable[[str], None]) -> None:
    """Serve a folder until the process is interrupted.

    Args:
        options: what is served, and to whom.
        port: 0 for any that is free.
        report: called with each address at which the workbench can be opened, once it can.

    Raises:
        OptionsError: the address cannot be bound.
    """
    access = options.access
    bound = bind(access.host, port)
    app = create_app(options)
    plain = {"log_level": "warning", "access_log": False, "server_header": False, "proxy_headers": False}
    settings = uvicorn.Config(app, timeout_graceful_shutdown=5, **plain)  # type: ignore[arg-type]
    settings.load()  # before the address is told: whoever opens it at once does not wait for it
    for address in addresses(access, bound.getsockname()[1]):
        report(address)
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


def addresses(access: AccessPolicy, port: int) -> list[str]:
    """The addresses to open: one, or one for each role with its token."""
    shown = "127.0.0.1" if is_loopback(access.host) else f"[{access.host}]" if ":" in access.host else access.host
    if not access.tokens:
        return [f"http://{shown}:{port}/"]
    return [f"{role.name.lower()}: http://{shown}:{port}/?token={token}" for token, role in access.tokens.items()]
