"""Requests that search: words of a dictionary, a clip, or a sign made into the camera."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import torch
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from threadpoolctl import threadpool_limits

from signspot.applications.archive_search import Archive, nearest_locations
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import OptionsError
from signspot.formats.spotting_rows import from_row, to_row
from signspot.io.progress import silent
from signspot.landmarks.landmarks import BODY_POINTS, DEFAULT_FPS, FACE_POINTS, HAND_POINTS, Landmarks
from signspot.landmarks.pose_file import is_pose_file, open_landmarks
from signspot.landmarks.signing import check_signing
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.subtitles.reading import read_subtitles
from signspot.types import Exemplar, Segment, Spotting
from signspot.web import exports, uploads
from signspot.web.media import share_with_hands
from signspot.web.recordings import MOST_BYTES, MOST_LANDMARK_BYTES, read_frames, read_landmarks
from signspot.web.server_state import VERIFIER, OpenWorkbench, Seconds, Workbench
from signspot.web.worker import estimate
from signspot.words.match import WordMatcher

router = APIRouter(tags=["search"])
T = TypeVar("T")
_RECORDING = Exemplar(word="", id="recording")
_WORDS, _LOCATIONS = 12, 24  # of one answer
_STEPS = ("landmarks", "words", "locations")  # of a search, whose durations are reported
_PROPOSED = 60  # locations in all videos that embeddings propose and alignment decides

# PyTorch chooses its number of threads when a thread first uses it; that must happen before it is limited.
_worker = ThreadPoolExecutor(1, "signspot-answers", torch.get_num_threads)


@router.get("/words/{dictionary:path}")
def complete(dictionary: str, bench: OpenWorkbench, q: str = "") -> dict[str, Any]:
    """Words of a dictionary that a person may mean."""
    return bench.searcher.complete(dictionary, q[:100])


@router.get("/spot/{video:path}")
def spot(
    video: str,
    dictionary: str,
    bench: OpenWorkbench,
    word: Annotated[list[str] | None, Query()] = None,
    confirmed: bool = True,
) -> dict[str, Any]:
    """Search a video for words of a dictionary; without a word, for all of them.

    Up to six words come with the curve of every exemplar and every peak, so that a page can move the threshold; more
    words come with the spottings above their default thresholds. With `confirmed`, signs that people confirmed in
    queues of the dictionary are further exemplars.
    """
    return bench.searcher.search(bench.folder.video(video), dictionary, word or [], confirmed=confirmed)


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
    """The position in an exemplar, from 0 to 1, for each frame of a hit, so that both play in step."""
    span = Segment(max(0.0, start), max(0.0, start, end))
    shares = bench.searcher.aligned(bench.folder.video(video), dictionary, exemplar, span, mirrored=mirrored)
    return {"shares": shares}


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
    """Search a video for the sign that a clip shows; the clip is the raw body, and is not stored."""
    video_file = bench.folder.video(video)
    async with uploads.clip(bench.folder, bench.worker, name, request.stream()) as path:
        return await run_in_threadpool(bench.searcher.search_clip, video_file, path, name)


def on_one_thread(work: Callable[[], T]) -> T:
    """Run on one thread, with matrix products that use no further threads."""
    return _worker.submit(_limited, work).result()


def _limited(work: Callable[[], T]) -> T:
    with threadpool_limits(1):  # BLAS for the process, PyTorch's OpenMP for this thread alone
        return work()


def clip_landmarks(bench: Workbench, path: Path) -> Landmarks:
    """The landmarks of an uploaded clip; nothing of it is cached."""
    if is_pose_file(path):
        return open_landmarks(path)
    landmarks: Landmarks = bench.worker.call(estimate, path, None, progress=silent)
    return landmarks


def search_sign(
    bench: Workbench, get_landmarks: Callable[[], Landmarks], dictionary: str, span: Segment | None
) -> dict[str, Any]:
    """Look a recorded sign up in a dictionary and in all videos whose track is there.

    Args:
        bench: the workbench.
        get_landmarks: gives the landmarks of the recording, not mirrored, perhaps after a while.
        dictionary: its name.
        span: the part of the recording that is searched for; None: all.

    Raises:
        LandmarksError: no signer or no hand is in view.
    """
    clocks = [_clocks()]
    landmarks = get_landmarks()
    if span is not None:
        cut = landmarks.between(span)
        landmarks = replace(cut, times=cut.times - cut.times[0]) if len(cut) > 4 else landmarks
    check_signing(landmarks, "the recording")
    clocks.append(_clocks())
    spotter = bench.searcher.spotter
    gallery = bench.searcher.gallery(dictionary, ())
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = on_one_thread(lambda: embedder.embed_source(landmarks, mirror=True))
    words = on_one_thread(lambda: spotter.identify_views(views, gallery, SpotOptions()))[:_WORDS]
    exemplars = {exemplar.id: exemplar for exemplar in gallery.exemplars}
    playable = [bench.searcher.is_playable(exemplars[match.exemplar]) for match in words]
    clocks.append(_clocks())
    archive = bench.searcher.archive()
    locations = on_one_thread(lambda: find_locations(spotter, archive, sign_gallery([_RECORDING], [views])))
    clocks.append(_clocks())
    seconds, processor = (
        {name: round(after[k] - before[k], 3) for name, before, after in zip(_STEPS, clocks, clocks[1:], strict=False)}
        for k in range(2)
    )
    return {
        "dictionary": dictionary,
        "known": not words or words[0].is_known,
        "hands": round(share_with_hands(landmarks), 3),
        "words": [{**asdict(match), "playable": shows} for match, shows in zip(words, playable, strict=True)],
        "locations": [to_row(location) for location in locations],
        "seconds": seconds,
        "processor": processor,
    }


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def warm_up(bench: Workbench, dictionary: str) -> dict[str, int]:
    """Search for an empty sign, so that networks, exemplars and tracks are loaded before the first real one.

    Returns:
        The number of exemplars and of tracks.
    """
    spotter, gallery, archive = bench.searcher.spotter, bench.searcher.gallery(dictionary, ()), bench.searcher.archive()
    shapes = ((BODY_POINTS, 4), (HAND_POINTS, 3), (HAND_POINTS, 3), (len(FACE_POINTS), 3))
    body, left, right, face = (np.full((32, *shape), 0.5, np.float32) for shape in shapes)
    nobody = Landmarks(body, left, right, face, np.arange(32) / DEFAULT_FPS, (640, 480))
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = on_one_thread(lambda: embedder.embed_source(nobody, mirror=True))
    on_one_thread(
        lambda: spotter.identify_views(views, gallery, SpotOptions())
    )  # caches the corrections of the exemplars
    on_one_thread(lambda: find_locations(spotter, archive, sign_gallery([_RECORDING], [views])))
    return {"exemplars": len(gallery.exemplars), "tracks": len(archive.tracks)}


def search_recordings(bench: Workbench, signs: Sequence[tuple[str, Landmarks]], sentence: Landmarks) -> dict[str, Any]:
    """Search the recording of a sentence for recorded signs; nothing is cached.

    Args:
        bench: the workbench.
        signs: word and landmarks of each recorded sign.
        sentence: landmarks.

    Raises:
        LandmarksError: no signer or no hand is visible in one of them.
    """
    for word, landmarks in signs:
        check_signing(landmarks, f"the recording of '{word}'")
    check_signing(sentence, "the recording of the sentence")
    spotter = bench.searcher.spotter
    embedder = ExemplarEmbedder(spotter.encoder, None)
    views = [embedder.embed_source(landmarks, mirror=True) for _, landmarks in signs]
    exemplars = [Exemplar(word, f"{word} {number}") for number, (word, _) in enumerate(signs, start=1)]
    result = bench.searcher.search_track(spotter.track(sentence), sign_gallery(exemplars, views))
    return bench.searcher.as_json(result, "", "")


def sign_gallery(exemplars: Sequence[Exemplar], views: Sequence[SignViews]) -> Gallery:
    """A gallery of recorded signs, each with its mirror image."""
    codes = [view.codes for view in views if view.codes is not None]
    return Gallery.of(exemplars, np.stack([view.embeddings for view in views]), np.stack(codes) if codes else None)


def find_locations(spotter: Spotter, archive: Archive, gallery: Gallery) -> list[Spotting]:
    """Locations of a sign, best first: embeddings of windows propose, alignment decides.

    Args:
        spotter: whose encoder made the tracks.
        archive: the tracks in which to search; there may be none.
        gallery: of the one sign.
    """
    if not archive.tracks:
        return []
    located = nearest_locations(spotter, archive, gallery, _PROPOSED, threads=1)[_RECORDING.word]
    named = [replace(location, video=archive.tracks[number].video) for number, location in located]
    return _apart(named)[:_LOCATIONS]


def _apart(spottings: list[Spotting]) -> list[Spotting]:
    """Of spottings that overlap in one video, the best."""
    chosen: list[Spotting] = []
    for spotting in spottings:
        if not any(other.video == spotting.video and other.segment.overlap(spotting.segment) > 0 for other in chosen):
            chosen.append(spotting)
    return chosen


@router.put("/sign")
async def sign(
    dictionary: str,
    request: Request,
    bench: OpenWorkbench,
    name: str = "sign.webm",
    start: Seconds = 0.0,
    end: Seconds | None = None,
) -> dict[str, Any]:
    """Rank the words that a recorded sign may be, and its locations in the folder; the recording is not stored."""
    async with uploads.clip(bench.folder, bench.worker, name, request.stream()) as path:
        landmarks = partial(clip_landmarks, bench, path)
        return await run_in_threadpool(search_sign, bench, landmarks, dictionary, _span(start, end))


def _span(start: float, end: float | None) -> Segment | None:
    return None if end is None else Segment(max(0.0, start), max(0.0, start, end))


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
    confidence: str = ""
    false_alarms_per_hour: float | None = None
    licence: str = ""
    consent: str = ""
    mouthed: float | None = None
    note: str = Field(default="", max_length=2000)

    def spotting(self) -> Spotting:
        """The spotting, checked as every file's is."""
        return from_row(self.model_dump(), "the request")


class ExportRequest(BaseModel):
    """Spottings that are to be written."""

    name: str = Field(default="spottings", max_length=100)
    format: str
    rows: list[SpottingRow] = Field(max_length=100_000)


class EditedSign(SpottingRow):
    """A sign on a video's timeline that a person added, or a spotting that a person changed or deleted."""

    id: str = Field(min_length=1, max_length=64)
    origin: str = Field(default="", max_length=700)  # of a spotting: word and time as they were found
    deleted: bool = False


class SignList(BaseModel):
    """All edited signs of a video, and the version that they are based on."""

    version: int = Field(ge=0, lt=2**31)
    signs: list[EditedSign] = Field(max_length=20_000)


@router.get("/signs/{video:path}")
def show_signs(video: str, bench: OpenWorkbench) -> dict[str, Any]:
    """The signs of a video that people added, changed or deleted by hand."""
    version, signs = bench.signs.get(bench.folder.video(video).name)
    return {"version": version, "signs": signs}


@router.put("/signs/{video:path}", dependencies=[VERIFIER])
def save_signs(video: str, request: SignList, bench: OpenWorkbench) -> dict[str, int]:
    """Replace the edited signs of a video; 409 if somebody else changed them since this version was read."""
    for sign in request.signs:
        sign.spotting()  # checked as in every file
    rows = [sign.model_dump() for sign in request.signs]
    version = bench.signs.put(bench.folder.video(video).name, request.version, rows)
    if version is None:
        raise HTTPException(409, "Somebody else changed the signs of this video. Reload the page to see them.")
    return {"version": version}


@router.post("/export")
def export(request: ExportRequest) -> Response:
    """Write spottings, as the page shows them now, in a format."""
    file = exports.export([row.spotting() for row in request.rows], request.name, request.format)
    return download(file)


def download(export: exports.Export) -> Response:
    """A file that browsers save instead of showing it."""
    plain = export.name.encode("ascii", "replace").decode().replace('"', "_").replace("?", "_")
    headers = {"content-disposition": f'attachment; filename="{plain}"', "cache-control": "no-store"}
    return Response(export.content, media_type=export.kind, headers=headers)


@router.post("/recordings")
def begin(bench: OpenWorkbench, all_frames: bool = False) -> dict[str, str]:
    """Start a recording; the models that estimate landmarks are loaded while the person gets ready.

    With `all_frames` no frame is left out where the processor is slow: the answer takes longer.
    """
    return {"id": bench.recordings.open(all_frames=all_frames)}


@router.put("/recordings/{recording}/frames")
async def add_frames(recording: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Accept the next frames, and report whether a person and hands are visible.

    The raw body holds frame after frame: milliseconds since the recording began as a signed 32-bit number,
    little-endian (negative in the countdown: processed, but not searched for), bytes of the frame as an unsigned 32-bit
    number, and the frame as a JPEG. No frame is stored.
    """
    opened = bench.recordings.get(recording)
    return opened.add(read_frames(await _body(request, MOST_BYTES, "frames")))


@router.post("/recordings/{recording}/search")
async def search(
    recording: str, dictionary: str, bench: OpenWorkbench, start: Seconds = 0.0, end: Seconds | None = None
) -> dict[str, Any]:
    """Rank the words that the recorded sign, or a part of it, may be, and its locations in the folder."""
    opened = bench.recordings.get(recording)
    result = await run_in_threadpool(search_sign, bench, opened.landmarks, dictionary, _span(start, end))
    frames = {"sent": opened.sent, "left_out": opened.left_out, "processor": round(opened.processor, 3)}
    return {**result, "frames": frames}


@router.post("/recordings/{recording}/end")
async def end(recording: str, bench: OpenWorkbench) -> dict[str, float]:
    """End a recording and wait for its landmarks; refused if no signing is visible."""
    landmarks = await run_in_threadpool(bench.recordings.get(recording).landmarks)
    check_signing(landmarks, "the recording")
    return {"seconds": round(landmarks.duration, 3), "hands": round(share_with_hands(landmarks), 3)}


class RecordedSign(BaseModel):
    """A recording of one sign of a word."""

    word: str = Field(min_length=1, max_length=200)
    recording: str


class Trial(BaseModel):
    """Recordings of some signs, and of a sentence that may contain them."""

    signs: list[RecordedSign] = Field(min_length=1, max_length=12)
    sentence: str


@router.post("/trial")
async def search_sentence(request: Trial, bench: OpenWorkbench) -> dict[str, Any]:
    """Search a recorded sentence for recorded signs; nothing of it is stored."""

    def work() -> dict[str, Any]:
        signs = [(sign.word.strip(), bench.recordings.get(sign.recording).landmarks()) for sign in request.signs]
        return search_recordings(bench, signs, bench.recordings.get(request.sentence).landmarks())

    return await run_in_threadpool(work)


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
    """Rank the words and locations of a sign whose landmarks were estimated in the browser.

    The raw body holds frame after frame, each of 439 little-endian 32-bit numbers with fractions: seconds since the
    recording began; x, y, z and visibility of 33 points of the body; x, y and z of 21 points of the left hand, 21 of
    the right hand and 60 of the face, in the order of MediaPipe's and of signspot's face points. A part that is not
    visible is NaN. `width` and `height` are those of the video, in pixels.
    """
    content = await _body(request, MOST_LANDMARK_BYTES, "landmarks")
    landmarks = await run_in_threadpool(read_landmarks, content, (width, height))
    return await run_in_threadpool(search_sign, bench, lambda: landmarks, dictionary, _span(start, end))


async def _body(request: Request, most: int, kind: str) -> bytes:
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            raise OptionsError(f"at most {most:,} bytes of {kind} are taken at once")
    return content


@router.delete("/recordings/{recording}")
def forget(recording: str, bench: OpenWorkbench) -> dict[str, bool]:
    """Remove a recording and its landmarks."""
    bench.recordings.forget(recording)
    return {"ok": True}
