"""The pages: rendered by the server in the visitor's language; scripts in `static/` do the rest."""

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from signspot.errors import FormatError
from signspot.formats.formats import format_names
from signspot.landmarks.landmarks import FACE_POINTS
from signspot.plots.curves import clock
from signspot.version import VERSION
from signspot.web import exports
from signspot.web.access import WASM_POLICY, Role
from signspot.web.api_library import library
from signspot.web.recordings import FILES
from signspot.web.server_state import OpenWorkbench, Workbench
from signspot.web.texts import COOKIE, language_of, languages, strings, translator
from signspot.web.verification import measure

router = APIRouter(include_in_schema=False)
_PAGES = ("library", "spot", "sign", "verify", "dictionary", "compare", "try")
_SHOWN_VIDEOS = 60  # on one page of the library


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(str(files("signspot.web") / "templates")),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clock"] = clock
    return environment


_templates = _environment()


def prepare(bench: Workbench) -> None:
    """Read the folder and compile the first page, so that the first visitor does not wait."""
    bench.folder.listing()
    _templates.get_template("library.html")


def _page(request: Request, name: str, **values: Any) -> HTMLResponse:
    language = language_of(request)
    role = request.scope.get("role", Role.LOOK)
    texts = strings(language)
    scripts = {key: text for key, text in {**strings("en"), **texts}.items() if key.startswith("js.")}
    pixels = request.app.state.bench.options.pixels
    data = {"strings": scripts, "language": language, "role": int(role), "pixels": pixels, **values.pop("data", {})}
    text = _templates.get_template(f"{name}.html").render(
        t=translator(language), page=name, pages=_PAGES, language=language, languages=languages(),
        role=int(role), version=VERSION, data=data, **values,
    )  # fmt: skip
    return HTMLResponse(text, headers={"cache-control": "no-store"})


def unavailable_page(request: Request, text: str, status: int) -> HTMLResponse:
    """The page that says why another page cannot be shown."""
    page = _page(request, "unavailable", text=text)
    page.status_code = status
    return page


@router.get("/")
@router.get("/library")
def show_library(request: Request, bench: OpenWorkbench, q: str = "", start: int = 0) -> Response:
    """The library; an empty folder opens with the page "Try it"."""
    listing = bench.folder.listing()
    if request.url.path == "/" and not (listing.videos or listing.dictionaries or listing.runs):
        return RedirectResponse("/try", 303)
    first = max(0, start) // _SHOWN_VIDEOS * _SHOWN_VIDEOS
    contents = library(bench, q, slice(first, first + _SHOWN_VIDEOS))
    return _page(
        request, "library", contents=contents, videos=contents["videos"], count=contents["count"], q=q, first=first,
        size=_SHOWN_VIDEOS, folder=bench.folder.root.name, whole=len(listing.videos),
        data={"most": bench.options.most_bytes},
    )  # fmt: skip


@router.get("/spot")
def show_spot(
    request: Request, bench: OpenWorkbench, video: str = "", dictionary: str = "", word: str = ""
) -> HTMLResponse:
    """The spot page; also for a video that was added to the folder a moment ago."""
    listing = bench.folder.listing()
    if video and video not in listing.videos:
        listing = bench.folder.listing(fresh=True)
    chosen = listing.videos.get(video)
    signs = dictionary if dictionary in listing.dictionaries else next(iter(listing.dictionaries), "")
    return _page(
        request, "spot", videos=list(listing.videos), dictionaries=list(listing.dictionaries), chosen=chosen,
        video=chosen.name if chosen else "", dictionary=signs, word=word, formats=format_names(),
        data={
            "video": chosen.name if chosen else "", "dictionary": signs, "word": word,
            "playable": bool(chosen and chosen.is_playable), "ready": bench.states.is_ready(chosen) if chosen else None,
            "subtitles": bool(chosen and chosen.subtitles),
        },
    )  # fmt: skip


def _dictionaries(bench: Workbench, name: str) -> tuple[list[str], str]:
    """The names of all dictionaries, and the one that is shown: the named one, otherwise the first."""
    names = list(bench.folder.listing().dictionaries)
    return names, name if name in names else next(iter(names), "")


@router.get("/sign")
def show_sign(request: Request, bench: OpenWorkbench, dictionary: str = "") -> HTMLResponse:
    """Sign to search; if the page estimates landmarks itself, it may run WebAssembly."""
    names, chosen = _dictionaries(bench, dictionary)
    in_page = bench.holistic is not None
    data = {"dictionary": chosen, "face_points": FACE_POINTS if in_page else None}
    page = _page(request, "sign", dictionaries=names, dictionary=chosen, in_page=in_page, data=data)
    if in_page:
        page.headers["content-security-policy"] = WASM_POLICY
    return page


@router.get("/try")
def show_try(request: Request, bench: OpenWorkbench) -> HTMLResponse:
    """A first try with the camera: two signs, then a sentence with them."""
    listing = bench.folder.listing()
    used = {*listing.dictionaries, *(path.name for path in bench.folder.root.iterdir())}
    names = (f"my signs{number}" for number in ("", *(f" {count}" for count in range(2, 1000))))
    free = next(name for name in names if name not in used)
    empty = not (listing.videos or listing.dictionaries)
    return _page(request, "try", empty=empty, data={"dictionary": free})


@router.get("/holistic/{name}")
def send_estimator(name: str, bench: OpenWorkbench) -> FileResponse:
    """A file of the package that estimates landmarks in the page, where one was given."""
    path = bench.holistic.file(name) if bench.holistic is not None else None
    if path is None:
        raise FormatError(f"there is no file '{name}' of the estimator")
    return FileResponse(path, media_type=FILES[name], headers={"cache-control": "private, max-age=3600"})


@router.get("/verify")
def show_queues(request: Request, bench: OpenWorkbench, run: str = "") -> HTMLResponse:
    """All queues."""
    listing = bench.folder.listing()
    return _page(
        request, "verify", queues=bench.queues.all(), runs=list(listing.runs),
        dictionaries=list(listing.dictionaries), run=run,
    )  # fmt: skip


@router.get("/verify/{queue}")
def show_queue(request: Request, queue: str, bench: OpenWorkbench) -> HTMLResponse:
    """The work on a queue."""
    row = bench.queues.get(queue)
    return _page(
        request, "queue", queue=row,
        data={"queue": queue, "dictionary": row["dictionary"], "name": row["name"]},
    )  # fmt: skip


@router.get("/verify/{queue}/results")
def show_results(request: Request, queue: str, bench: OpenWorkbench) -> HTMLResponse:
    """The page of measures of a queue's decisions."""
    row = bench.queues.get(queue)
    measures = measure(list(bench.queues.items(queue)), bench.queues.decisions(queue))
    return _page(
        request, "results", queue=row, measures=measures, formats=format_names(),
        others={exports.LABELS: "labels", exports.DECISIONS: "decisions_file"},
        data={"queue": queue, "dictionary": row["dictionary"]},
    )  # fmt: skip


@router.get("/dictionary")
def show_dictionary(
    request: Request, bench: OpenWorkbench, name: str = "", q: str = "", start: int = 0
) -> HTMLResponse:
    """A dictionary, to look at and to edit."""
    names, chosen = _dictionaries(bench, name)
    data = {"dictionary": chosen, "q": q, "start": start}
    return _page(request, "dictionary", dictionaries=names, dictionary=chosen, q=q, data=data)


@router.get("/compare")
def show_compare(
    request: Request, bench: OpenWorkbench, dictionary: str = "", other: str = "", word: str = ""
) -> HTMLResponse:
    """Signs side by side."""
    names, chosen = _dictionaries(bench, dictionary)
    data = {"dictionary": chosen, "other": other, "word": word}
    return _page(request, "compare", dictionaries=names, dictionary=chosen, other=other, word=word, data=data)


@router.get("/language/{name}")
def choose_language(name: str, request: Request) -> RedirectResponse:
    """Store the visitor's choice of language, and go back."""
    back = request.query_params.get("back", "/")
    safe = back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"
    answer = RedirectResponse(safe, 303)
    if name in languages():
        answer.set_cookie(COOKIE, name, max_age=31_536_000, samesite="strict", httponly=True)
    return answer


@router.get("/requests")
def show_requests(request: Request) -> HTMLResponse:
    """The HTTP API as a page; /openapi.json describes it for programs."""
    described = request.app.openapi()
    routes = [
        {"path": path, "method": method.upper(), "parameters": [], "description": "", **about}
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    return _page(request, "requests", routes=routes)
