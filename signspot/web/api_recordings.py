"""Requests of somebody who signs into the camera: pictures while they sign, and the search when they have."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool

from signspot.errors import OptionsError
from signspot.types import Segment
from signspot.web import page_landmarks
from signspot.web.recordings import MOST_BYTES, read_pictures
from signspot.web.requests import OpenWorkbench
from signspot.web.sign_search import search_sign

router = APIRouter(tags=["recordings"])


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
    recording: str, dictionary: str, bench: OpenWorkbench, start: float = 0.0, end: float | None = None
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
    start: float = 0.0,
    end: float | None = None,
) -> dict[str, Any]:
    """Say which words a sign may be whose landmarks were estimated elsewhere, and where it occurs in the folder.

    The raw body holds frame after frame, each of 439 little-endian 32-bit numbers with fractions: seconds since the
    recording began; x, y, z and visibility of 33 points of the body; x, y and z of 21 points of the left hand, 21 of
    the right hand and 60 of the face, in the order of MediaPipe's and of signspot's face points. A part that is not
    seen is NaN. `width` and `height` are the picture's, in pixels.
    """
    content = await _body(request, page_landmarks.MOST_BYTES, "landmarks")
    seen = await run_in_threadpool(page_landmarks.read_landmarks, content, (width, height))
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
