"""Requests that search: words of a dictionary, a clip, or a sign made into the camera."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from signspot.errors import OptionsError
from signspot.formats.rows import from_row
from signspot.subtitles.reading import read_subtitles
from signspot.types import Segment, Spotting
from signspot.web import exports, uploads
from signspot.web.recordings import MOST_BYTES, MOST_LANDMARK_BYTES, read_landmarks, read_pictures
from signspot.web.sign_search import identify_sign, search_sign, warm_up
from signspot.web.workbench import OWNER, OpenWorkbench, Seconds
from signspot.words.match import WordMatcher

router = APIRouter(tags=["search"])
MOST_CLIP = 60 << 20  # bytes of a clip that is searched for


@router.get("/words/{dictionary:path}")
def complete(dictionary: str, bench: OpenWorkbench, q: str = "", most: int = 12) -> dict[str, Any]:
    """Words of a dictionary that a person may mean."""
    return bench.searcher.complete(dictionary, q[:100], max(1, min(most, 100)))


@router.get("/spot/{video:path}")
def spot(video: str, dictionary: str, word: Annotated[list[str], Query()], bench: OpenWorkbench) -> dict[str, Any]:
    """Look for words in a video: curves of every exemplar, all peaks, and what scores mean there."""
    return bench.searcher.search(bench.folder.video(video), dictionary, word)


@router.get("/alignment/{video:path}")
def alignment(
    video: str,
    dictionary: str,
    exemplar: str,
    start: Seconds,
    end: Seconds,
    bench: OpenWorkbench,
    mirrored: bool = False,
) -> dict[str, Any]:
    """The moment of an exemplar, from 0 to 1, for each frame of a hit: both can be played in time."""
    span = Segment(max(0.0, start), max(0.0, start, end))
    found = bench.searcher.aligned(bench.folder.video(video), dictionary, exemplar, span, mirrored=mirrored)
    return {"shares": found}


@router.get("/mentions/{video:path}")
def mentions(video: str, dictionary: str, bench: OpenWorkbench, language: str = "en") -> list[dict[str, Any]]:
    """The subtitles of a video, with the words of a dictionary that they name, in any form."""
    subtitles = bench.folder.video(video).subtitles
    if subtitles is None:
        return []
    matcher = WordMatcher(bench.searcher.dictionary(dictionary), language)
    return [
        {
            "start": line.start,
            "end": line.end,
            "text": line.text,
            "words": [{"word": m.word, "start": m.start, "end": m.end} for m in matcher.find(line.text)],
        }
        for line in read_subtitles(subtitles)
    ]


@router.put("/clips/{video:path}")
async def spot_clip(video: str, name: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Look in a video for the sign that a clip shows; the clip is the raw body, and is not kept."""
    found = bench.folder.video(video)
    path = await uploads.receive(bench.folder, name, request.stream(), MOST_CLIP)
    await run_in_threadpool(uploads.check, bench.worker, path, name)
    try:
        return await run_in_threadpool(bench.searcher.search_clip, found, path, name)
    finally:
        path.unlink(missing_ok=True)


@router.put("/sign")
async def sign(
    dictionary: str,
    request: Request,
    bench: OpenWorkbench,
    name: str = "sign.webm",
    start: Seconds = 0.0,
    end: Seconds | None = None,
) -> dict[str, Any]:
    """Say which words a recorded sign may be, and where it occurs in the folder; the recording is not kept."""
    path = await uploads.receive(bench.folder, name, request.stream(), MOST_CLIP)
    await run_in_threadpool(uploads.check, bench.worker, path, name)
    span = None if end is None else Segment(max(0.0, start), max(start, end))
    try:
        return await run_in_threadpool(identify_sign, bench, path, dictionary, span)
    finally:
        path.unlink(missing_ok=True)


@router.post("/warm")
def warm(dictionary: str, bench: OpenWorkbench) -> dict[str, int]:
    """Embed the exemplars of a dictionary and open the tracks of the folder, so that the next search is quick."""
    return warm_up(bench, dictionary)


class SpottingRow(BaseModel):
    """A spotting as the pages hold it."""

    word: str = Field(max_length=500)
    video: str = Field(max_length=1000)
    time: Seconds
    start: Seconds
    end: Seconds
    score: float
    exemplar: str = ""
    variant: str = ""
    mirrored: bool = False
    source: str = "D"
    decision: str = ""
    false_alarms_per_hour: float | None = None
    licence: str = ""
    consent: str = ""
    mouthed: float | None = None

    def spotting(self) -> Spotting:
        """The spotting, checked as every file's is."""
        return from_row(self.model_dump(), "the request")


class ExportRequest(BaseModel):
    """Spottings that are to be written."""

    name: str = Field(default="spottings", max_length=100)
    format: str
    rows: list[SpottingRow] = Field(max_length=100_000)


@router.get("/formats")
def formats() -> dict[str, str]:
    """Every format of spottings: its name by the suffix of its files."""
    return exports.kinds()


@router.post("/export")
def export(wanted: ExportRequest) -> Response:
    """Write spottings, as the page shows them now, in a format."""
    made = exports.export([row.spotting() for row in wanted.rows], wanted.name, wanted.format)
    return download(made)


@router.post("/save", dependencies=[OWNER])
def save(wanted: ExportRequest, bench: OpenWorkbench) -> dict[str, list[str]]:
    """Write spottings into the folder `exports` of the served one."""
    if not wanted.rows:
        raise OptionsError("there is nothing to save: no spotting was given")
    rows = [row.spotting() for row in wanted.rows]
    return {"files": exports.save(rows, bench.folder, wanted.name, wanted.format)}


def download(made: exports.Export) -> Response:
    """A file that browsers keep instead of showing."""
    plain = made.name.encode("ascii", "replace").decode().replace('"', "_").replace("?", "_")
    headers = {"content-disposition": f'attachment; filename="{plain}"', "cache-control": "no-store"}
    return Response(made.content, media_type=made.kind, headers=headers)


@router.post("/recordings")
def begin(bench: OpenWorkbench) -> dict[str, str]:
    """Begin a recording: what estimates landmarks is loaded while the person gets ready."""
    return {"id": bench.recordings.open()}


@router.put("/recordings/{recording}/pictures")
async def add_pictures(recording: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Take the next pictures, and say whether a person and hands are in view.

    The raw body holds one picture after the other: milliseconds since the recording began as a signed 32-bit number,
    little-endian (below 0 in the countdown: looked at, and not searched for), bytes of the picture as an unsigned
    32-bit number, and the picture as a JPEG. No picture is kept.
    """
    known = bench.recordings.get(recording)
    return known.add(read_pictures(await _body(request, MOST_BYTES, "pictures")))


@router.post("/recordings/{recording}/search")
async def search(
    recording: str, dictionary: str, bench: OpenWorkbench, start: Seconds = 0.0, end: Seconds | None = None
) -> dict[str, Any]:
    """Say which words the recorded sign, or a part of it, may be, and where it occurs in the folder."""
    known = bench.recordings.get(recording)
    span = None if end is None else Segment(max(0.0, start), max(start, end))
    found = await run_in_threadpool(search_sign, bench, known.landmarks, dictionary, span)
    pictures = {"sent": known.sent, "left_out": known.left_out, "processor": round(known.processor, 3)}
    return {**found, "pictures": pictures}


@router.post("/sign/landmarks")
async def search_landmarks(
    dictionary: str,
    width: int,
    height: int,
    request: Request,
    bench: OpenWorkbench,
    start: Seconds = 0.0,
    end: Seconds | None = None,
) -> dict[str, Any]:
    """Say which words a sign may be whose landmarks were estimated elsewhere, and where it occurs in the folder.

    The raw body holds frame after frame, each of 439 little-endian 32-bit numbers with fractions: seconds since the
    recording began; x, y, z and visibility of 33 points of the body; x, y and z of 21 points of the left hand, 21 of
    the right hand and 60 of the face, in the order of MediaPipe's and of signspot's face points. A part that is not
    seen is NaN. `width` and `height` are the picture's, in pixels.
    """
    content = await _body(request, MOST_LANDMARK_BYTES, "landmarks")
    seen = await run_in_threadpool(read_landmarks, content, (width, height))
    span = None if end is None else Segment(max(0.0, start), max(start, end))
    return await run_in_threadpool(search_sign, bench, lambda: seen, dictionary, span)


async def _body(request: Request, most: int, what: str) -> bytes:
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            raise OptionsError(f"at most {most:,} bytes of {what} are taken at once")
    return content


@router.delete("/recordings/{recording}")
def forget(recording: str, bench: OpenWorkbench) -> dict[str, bool]:
    """Forget a recording and all that was seen in it."""
    bench.recordings.forget(recording)
    return {"ok": True}
