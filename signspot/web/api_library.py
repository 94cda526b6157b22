"""Requests about the folder: its videos with their state, uploads, media, thumbnails, skeletons, jobs."""

import re
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from signspot.dictionary.build import file_name
from signspot.errors import OptionsError
from signspot.subtitles.reading import read_subtitles
from signspot.types import Segment
from signspot.web import media, uploads
from signspot.web.folder import VideoFile
from signspot.web.server_state import OWNER, OpenWorkbench, Seconds, Workbench
from signspot.web.texts import language_of, translated


def library(bench: Workbench, q: str = "", listed: slice = slice(None)) -> dict[str, Any]:
    """Videos whose names contain `q` and that are `listed`, all dictionaries and runs, as the page shows them."""
    listing = bench.folder.listing()
    names = [name for name in listing.videos if q.casefold() in name.casefold()]
    verified, runs = bench.states.verified(bench.queues), bench.states.runs(bench.folder)
    annotated = {video for videos, _ in runs.values() for video in videos}
    return {
        "videos": [_video(bench, listing.videos[name], verified, annotated) for name in names[listed]],
        "count": len(names),
        "dictionaries": [_dictionary(bench, name) for name in listing.dictionaries],
        "runs": [{"name": name, "videos": len(videos), "problems": bad} for name, (videos, bad) in runs.items()],
    }


def _video(
    bench: Workbench, video: VideoFile, verified: dict[str, tuple[int, int]], annotated: set[str]
) -> dict[str, Any]:
    every, decided = verified.get(video.name, (0, 0))
    return {
        "name": video.name,
        "size": video.size,
        "playable": video.is_playable,
        "subtitles": video.subtitles is not None,
        "landmarks": bench.states.has_landmarks(video),
        "ready": bench.states.is_ready(video),
        "annotated": video.name.rpartition(".")[0] in annotated,
        "spottings": every,
        "verified": decided,
    }


def _dictionary(bench: Workbench, name: str) -> dict[str, Any]:
    dictionary = bench.searcher.opened_dictionary(name)
    return {
        "name": name,
        "words": None if dictionary is None else len(dictionary),
        "exemplars": None if dictionary is None else len(dictionary.exemplars),
    }


router = APIRouter(tags=["library"])
_PART = 1 << 20  # bytes of a video that are sent at once
_KINDS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}


@router.get("/library")
def show_library(bench: OpenWorkbench) -> dict[str, Any]:
    """Videos, dictionaries and runs of the folder, with their state."""
    return library(bench)


@router.put("/uploads/{name}", dependencies=[OWNER])
async def upload(name: str, request: Request, bench: OpenWorkbench) -> dict[str, Any]:
    """Take a video, a .pose file or subtitles as the raw body; it is decoded in a child process first."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > bench.options.most_bytes:
        raise OptionsError(f"'{name}' is too large: at most {bench.options.most_bytes:,} bytes are accepted")
    uploads.refuse_videos(bench.folder, name)
    path = await uploads.receive(bench.folder, name, request.stream(), bench.options.most_bytes)
    about = await run_in_threadpool(uploads.check, bench.worker, path, name)
    stored_name = await run_in_threadpool(uploads.keep, bench.folder, path, name)
    bench.folder.listing(fresh=True)
    return {"name": stored_name, **about}


@router.get("/media/{name:path}")
def play(name: str, request: Request, bench: OpenWorkbench) -> Response:
    """A video, or a range of its bytes; a copy in H.264 where browsers do not play the file."""
    video = bench.folder.video(name)
    if not video.is_playable:
        raise OptionsError(f"'{name}' has landmarks alone, or people are not shown here")
    return _send_video(bench.media.playable(video.path), request)


@router.get("/exemplar/{dictionary:path}")
def play_exemplar(dictionary: str, id: str, request: Request, bench: OpenWorkbench) -> Response:
    """The video of an exemplar."""
    video = bench.searcher.video_of(bench.searcher.exemplar(dictionary, id))
    if video is None:
        raise OptionsError(f"there is no video of the exemplar '{id}'")
    return _send_video(bench.media.playable(video), request)


def _send_video(path: Path, request: Request) -> Response:
    """A video, or a range of its bytes, at most a megabyte: no player holds a connection open for long."""
    kind, headers = (
        _KINDS.get(path.suffix.lower(), "application/octet-stream"),
        {"cache-control": "private, max-age=60"},
    )
    byte_range = re.fullmatch(r"bytes=(\d{1,18})-(\d{0,18})", request.headers.get("range", ""))
    size = path.stat().st_size
    if byte_range is None:
        return FileResponse(path, media_type=kind, headers=headers)
    if int(byte_range[1]) >= size or int(byte_range[2] or size) < int(byte_range[1]):
        return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    first = int(byte_range[1])
    last = min(int(byte_range[2] or size - 1), first + _PART - 1, size - 1)
    with path.open("rb") as file:
        file.seek(first)
        content = file.read(last - first + 1)
    headers |= {"content-range": f"bytes {first}-{first + len(content) - 1}/{size}", "accept-ranges": "bytes"}
    return Response(content, 206, headers, kind)


def _thumbnail(bench: Workbench, request: Request, path: Path, time: float | None) -> Response:
    """A thumbnail; browsers ask each time whether theirs is still valid.

    So a video that was removed, or is now shown as a skeleton, does not stay visible in their caches.
    """
    thumbnail = bench.media.thumbnail(path, time)
    headers = {"cache-control": "private, no-cache", "etag": f'"{thumbnail.stem}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return FileResponse(thumbnail, media_type="image/jpeg", headers=headers)


@router.get("/thumbnail/video/{name:path}")
def show_thumbnail(name: str, request: Request, bench: OpenWorkbench, time: Seconds | None = None) -> Response:
    """A thumbnail of a video, at a time or in the middle."""
    video = bench.folder.video(name)
    return _thumbnail(bench, request, video.path if video.is_playable else video.source, time)


@router.get("/thumbnail/exemplar/{dictionary:path}")
def show_exemplar(dictionary: str, id: str, request: Request, bench: OpenWorkbench) -> Response:
    """A thumbnail of an exemplar."""
    exemplar = bench.searcher.exemplar(dictionary, id)
    if exemplar.path is None:
        return Response(status_code=404)
    return _thumbnail(bench, request, exemplar.path, exemplar.segment.middle if exemplar.segment else None)


@router.get("/thumbnail/word/{dictionary:path}")
def show_word(dictionary: str, word: str, request: Request, bench: OpenWorkbench) -> Response:
    """A thumbnail of a word's first exemplar."""
    exemplars = bench.searcher.dictionary(dictionary)[word]
    return show_exemplar(dictionary, exemplars[0].id, request, bench)


@router.get("/thumbnail/dictionary/{dictionary:path}")
def show_dictionary(dictionary: str, request: Request, bench: OpenWorkbench) -> Response:
    """A thumbnail of a dictionary: its first exemplar with a file."""
    exemplars = (exemplar for exemplar in bench.searcher.dictionary(dictionary).exemplars if exemplar.path is not None)
    first = next(exemplars, None)
    return Response(status_code=404) if first is None else show_exemplar(dictionary, first.id, request, bench)


@router.get("/skeleton/video/{name:path}")
def show_skeleton(name: str, start: Seconds, end: Seconds, bench: OpenWorkbench) -> dict[str, Any]:
    """Body and hand points of some seconds of a video whose landmarks are known."""
    landmarks = bench.searcher.landmarks(bench.folder.video(name).source)
    return media.skeleton(landmarks, Segment(max(0.0, start), max(0.0, start, end)))


@router.get("/skeleton/exemplar/{dictionary:path}")
def show_exemplar_skeleton(dictionary: str, id: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Body and hand points of an exemplar."""
    exemplar = bench.searcher.exemplar(dictionary, id)
    if exemplar.path is None:
        raise OptionsError(f"there are no landmarks of the exemplar '{id}'")
    return media.skeleton(bench.searcher.landmarks(exemplar.path), Segment(0.0, 3600.0))


@router.get("/captions/{name:path}")
def show_captions(name: str, bench: OpenWorkbench) -> Response:
    """The subtitles of a video as WebVTT, whatever file they come from: players show them over the video."""
    video = bench.folder.video(name)
    lines = [] if video.subtitles is None else read_subtitles(video.subtitles)
    cues = [f"{_stamp(line.start)} --> {_stamp(line.end)}\n{_cue_text(line.text)}\n\n" for line in lines]
    return Response("WEBVTT\n\n" + "".join(cues), media_type="text/vtt")


def _stamp(seconds: float) -> str:
    whole = round(1000 * seconds)
    return f"{whole // 3_600_000:02d}:{whole // 60_000 % 60:02d}:{whole // 1000 % 60:02d}.{whole % 1000:03d}"


def _cue_text(text: str) -> str:
    """Text that can neither end its cue nor hold markup."""
    plain = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") or " "


class JobRequest(BaseModel):
    """A job that is asked for."""

    kind: str
    video: str = ""
    dictionary: str = ""
    name: str = Field(default="", max_length=80)
    words: list[str] = []
    language: str = "en"
    confirmed: bool = True  # annotate: signs that people confirmed are further exemplars
    steps: int = Field(default=150, ge=1, le=5000)


@router.get("/jobs")
def show_jobs(request: Request, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """Jobs, those that are not over first."""
    language = language_of(request)
    texts = ("stage", "message")
    return [{**job, **{name: translated(job[name], language) for name in texts}} for job in bench.jobs.all()]


@router.post("/jobs", dependencies=[OWNER])
def add_job(request: JobRequest, bench: OpenWorkbench) -> dict[str, str]:
    """Prepare a video (landmarks and track), annotate the folder, or adapt an encoder to it."""
    if request.kind == "prepare":
        video = bench.folder.video(request.video)
        return {"id": bench.jobs.add("prepare", video.name, {"video": video.name})}
    bench.folder.dictionary(request.dictionary)
    name = file_name(request.name or request.kind)
    spec: dict[str, Any] = {"dictionary": request.dictionary, "name": name}
    if request.kind == "annotate":
        spec |= {"words": sorted(request.words), "language": request.language, "confirmed": request.confirmed}
    else:
        spec |= {"steps": request.steps}
    return {"id": bench.jobs.add(request.kind, name, spec)}


@router.post("/jobs/prepare-all", dependencies=[OWNER])
def prepare_all(bench: OpenWorkbench) -> dict[str, int]:
    """Prepare every video that has no track yet."""
    waiting = [v for v in bench.folder.listing(fresh=True).videos.values() if not bench.searcher.is_ready(v)]
    for video in waiting:
        bench.jobs.add("prepare", video.name, {"video": video.name})
    return {"added": len(waiting)}


@router.post("/jobs/clear", dependencies=[OWNER])
def clear_jobs(bench: OpenWorkbench) -> dict[str, bool]:
    """Forget the jobs that are over."""
    bench.jobs.clear()
    return {"ok": True}


@router.post("/jobs/{job}/{what}", dependencies=[OWNER])
def change_job(
    job: str, what: Annotated[str, Field(pattern="^(cancel|resume)$")], bench: OpenWorkbench
) -> dict[str, Any]:
    """Cancel a job, or resume one that was cancelled or failed."""
    change = bench.jobs.cancel if what == "cancel" else bench.jobs.resume
    change(job)
    return bench.jobs.get(job)
