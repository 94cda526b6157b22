"""The web application: routes, error answers, the access policy in front; and the server that runs it."""

import errno
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
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
from signspot.web.server_state import Workbench, WorkbenchOptions
from signspot.web.texts import DEFAULT, language_of, strings, translated

_NO_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
_OF_STATUS = {  # what the framework calls them
    "Not Found": "there is no such page or request",
    "Method Not Allowed": "this address does not take such requests",
}


def create_app(options: WorkbenchOptions) -> FastAPI:
    """The application that serves one folder."""
    bench = Workbench.open(options)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        bench.jobs.start()
        yield
        bench.close()

    app = FastAPI(
        title="signspot workbench",
        version=VERSION,
        description=strings(DEFAULT)["requests.about"],
        lifespan=life,
        docs_url=None,
        redoc_url=None,
    )
    app.state.bench = bench
    for part in (api_library, api_search, api_verify, api_dictionary):
        app.include_router(part.router, prefix="/api")
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=str(files("signspot.web") / "static")), name="static")
    report = Path(str(files("signspot.plots") / "page"))
    app.mount("/report", StaticFiles(directory=report), name="report")
    for kind in (SignspotError, OSError, ClientDisconnect, UnicodeEncodeError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answer_error)
    app.add_middleware(AuthMiddleware, access=options.access)
    pages.prepare(bench)
    return app


def status_of(error: SignspotError) -> int:
    """The HTTP status of an error: 404 for missing things, 503 to try again, 507 for a full disk, 422 otherwise."""
    if isinstance(error, UnknownWordError):
        return 404
    if isinstance(error, StoreError | SandboxStartError):
        return 503
    if isinstance(error, OutputError) and not isinstance(error, OptionsError):
        return 507
    return 404 if str(error).startswith("there is no ") else 422


async def _answer_error(request: Request, error: Exception) -> Response:
    """Every error as a status and one line in the visitor's language; JSON for the API, a page for people."""
    status, english = _describe(error, request.app.state.bench.folder.root)
    text = translated(english, language_of(request))
    if request.url.path.startswith("/api"):
        return JSONResponse({"error": text}, status)
    if "text/html" in request.headers.get("accept", ""):
        return pages.unavailable_page(request, text, status)
    return PlainTextResponse(text, status)


def _describe(error: Exception, root: Path) -> tuple[int, str]:
    """The HTTP status and the message of an error; an unexpected one is raised again, as it is a fault of ours."""
    if isinstance(error, SignspotError):
        return status_of(error), str(error).replace(str(root), root.name)  # no path of this machine
    if isinstance(error, HTTPException):
        return error.status_code, _OF_STATUS.get(str(error.detail), str(error.detail))
    if isinstance(error, RequestValidationError):
        first: Any = error.errors()[0]
        return 422, f"the request does not fit: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if isinstance(error, UnicodeEncodeError):
        return 422, "the request contains unpaired surrogates, which are not text. Remove them"
    if isinstance(error, ClientDisconnect):
        return 499, ""
    if isinstance(error, FileNotFoundError):
        return 404, "the file was removed while the request was answered. Reload the page"
    if isinstance(error, OSError) and error.errno in _NO_WRITING:
        return 507, explain_write_failure(Path(Path(str(error.filename or "the file")).name), error)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return 503, "the server has too many files open just now. Try again later"
    raise error


def serve(options: WorkbenchOptions, port: int, report: Callable[[str], None]) -> None:
    """Serve a folder until the process is interrupted.

    Args:
        options: what is served, and to whom.
        port: 0 for any that is free.
        report: called with each address of the workbench once it can be opened.

    Raises:
        OptionsError: the address cannot be bound.
    """
    access = options.access
    bound = bind(access.host, port)
    app = create_app(options)
    plain = {"log_level": "warning", "access_log": False, "server_header": False, "proxy_headers": False}
    settings = uvicorn.Config(app, timeout_graceful_shutdown=5, **plain)  # type: ignore[arg-type]
    settings.load()  # before the address is reported: whoever opens it at once does not wait
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
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(2048)  # requests before the server is ready wait
    except OSError as error:
        if bound is not None:
            bound.close()
        raise OptionsError(
            f"cannot serve at {host}, port {port}: {error.strerror or error}. Choose another --port, or --host"
        ) from error
    return bound


def addresses(access: AccessPolicy, port: int) -> list[str]:
    """The addresses to open: one, or one for each role with its token."""
    host = "127.0.0.1" if is_loopback(access.host) else f"[{access.host}]" if ":" in access.host else access.host
    if not access.tokens:
        return [f"http://{host}:{port}/"]
    return [f"{role.name.lower()}: http://{host}:{port}/?token={token}" for token, role in access.tokens.items()]
