"""The web application: routes put together, errors told in one line, the guard in front."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from signspot.errors import OptionsError, OutputError, SignspotError, StoreError, UnknownWordError
from signspot.version import VERSION
from signspot.web import (
    api_compare,
    api_dictionary,
    api_library,
    api_recordings,
    api_search,
    api_verify,
    pages,
)
from signspot.web.guard import Guard
from signspot.web.workbench import Workbench, WorkbenchOptions

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
    for part in (api_library, api_search, api_recordings, api_verify, api_dictionary, api_compare):
        app.include_router(part.router, prefix="/api")
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=str(files("signspot.web") / "static")), name="static")
    report = Path(str(files("signspot.plots") / "page"))
    app.mount("/report", StaticFiles(directory=report), name="report")
    app.add_exception_handler(SignspotError, _tell)
    app.add_exception_handler(FileNotFoundError, _tell_gone)
    app.add_exception_handler(HTTPException, _tell_http)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_middleware(Guard, door=options.door)
    pages.prepare(bench)
    return app


def status_of(error: SignspotError) -> int:
    """The HTTP status of an error: 404 for words that are not there, 507 for a full disk, 422 for the rest."""
    if isinstance(error, UnknownWordError):
        return 404
    if isinstance(error, StoreError):
        return 503
    if isinstance(error, OutputError) and not isinstance(error, OptionsError):
        return 507
    return 404 if str(error).startswith("there is no ") else 422


async def _tell(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    assert isinstance(error, SignspotError)
    root = request.app.state.bench.folder.root
    return _answer(request, status_of(error), str(error).replace(str(root), root.name))  # no path of this machine


async def _tell_gone(request: Request, error: Exception) -> JSONResponse | PlainTextResponse:
    return _answer(request, 404, "there is no such file any more")


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
