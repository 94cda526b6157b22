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
from signspot.web.workbench import OWNER, OpenWorkbench, Seconds, Workbench


def library(bench: Workbench, q: str = "", start: int = 0, size: int | None = None) -> dict[str, Any]:
    """Videos, dictionaries and runs, as the page shows them.

    Args:
        bench: the workbench.
        q: only videos whose names hold this.
        start: the first of them that is told about.
        size: how many are; all, if None.
    """
    listing = bench.folder.listing()
    names = [name for name in listing.videos if q.casefold() in name.casefold()]
    shown = names[start:] if size is None else names[start : start + size]
    verified, annotated = bench.states.verified(bench.queues), bench.states.annotated(bench.folder)
    return {
        "videos": [_video(bench, listing.videos[name], verified, annotated) for name in shown],
        "count": len(names),
        "dictionaries": [_dictionary(bench, name) for name in listing.dictionaries],
        "runs": [{"name": name, **bench.states.run(name)} for name in listing.runs],
    }


def _video(
    bench: Workbench, video: VideoFile, verified: dict[str, tuple[int, int]], annotated: dict[str, int]
) -> dict[str, Any]:
    every, decided = verified.get(video.name, (0, 0))
    return {
        "name": video.name,
        "size": video.size,
        "film": video.is_shown,
        "subtitles": video.subtitles is not None,
        "landmarks": bench.states.has_landmarks(video),
        "ready": bench.states.is_ready(video),
        "annotated": bool(annotated.get(video.name.rpartition(".")[0])),
        "spottings": every,
        "verified": decided,
    }


def _dictionary(bench: Workbench, name: str) -> dict[str, Any]:
    known = bench.searcher.known_dictionary(name)
    return {
        "name": name,
        "words": None if known is None else len(known),
        "exemplars": None if known is None else len(known.exemplars),
    }


router = APIRouter(tags=["library"])
_PART = 1 << 20  # bytes of a film that are given at once
_KINDS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}


@router.get("/library")
def show_library(bench: OpenWorkbench) -> dict[str, Any]:
    """Videos, dictionaries and runs of the folder, with their state."""
    return library(bench)


@router.put("/uploads/{name}", dependencies=[OWNER])
async def upload(name: str, request: Request, bench: OpenWorkbench, below: str = "") -> dict[str, Any]:
    """Take a video, a .pose file or subtitles as the raw body; it is decoded in a process of its own first."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > bench.options.most_bytes:
        raise OptionsError(f"'{name}' is too large: at most {bench.options.most_bytes:,} bytes are taken")
    uploads.refuse_pictures(bench.folder, name)
    path = await uploads.receive(bench.folder, name, request.stream(), bench.options.most_bytes)
    about = await run_in_threadpool(uploads.check, bench.worker, path, name)
    kept = await run_in_threadpool(uploads.keep, bench.folder, path, name, below)
    bench.folder.listing(fresh=True)
    return {"name": kept, **about}


@router.get("/media/{name:path}")
def play(name: str, request: Request, bench: OpenWorkbench) -> Response:
    """The film of a video, in parts if they are asked for; a copy where browsers do not play it."""
    video = bench.folder.video(name)
    if not video.is_shown:
        raise OptionsError(f"'{name}' holds landmarks, not pictures, or people are not shown here")
    return _film(media.playable(video.path, bench.pictures, bench.worker), request)


@router.get("/exemplar/{dictionary:path}")
def play_exemplar(dictionary: str, id: str, request: Request, bench: OpenWorkbench) -> Response:
    """The film of an exemplar."""
    exemplar = bench.searcher.exemplar(dictionary, id)
    if exemplar.path is None or exemplar.path.suffix.lower() == ".pose" or not bench.options.pixels:
        raise OptionsError(f"there is no film of the exemplar '{id}'")
    return _film(media.playable(exemplar.path, bench.pictures, bench.worker), request)


def _film(path: Path, request: Request) -> Response:
    """A film, or the part of it that is asked for, at most a megabyte: no player holds a connection open for long."""
    kind, headers = (
        _KINDS.get(path.suffix.lower(), "application/octet-stream"),
        {"cache-control": "private, max-age=60"},
    )
    wanted = re.fullmatch(r"bytes=(\d{1,18})-(\d{0,18})", request.headers.get("range", ""))
    size = path.stat().st_size
    if wanted is None:
        return FileResponse(path, media_type=kind, headers=headers)
    if int(wanted[1]) >= size or int(wanted[2] or size) < int(wanted[1]):
        return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    first = int(wanted[1])
    last = min(int(wanted[2] or size - 1), first + _PART - 1, size - 1)
    with path.open("rb") as file:
        file.seek(first)
        content = file.read(last - first + 1)
    headers |= {"content-range": f"bytes {first}-{first + len(content) - 1}/{size}", "accept-ranges": "bytes"}
    return Response(content, 206, headers, kind)


def _thumbnail(bench: Workbench, request: Request, path: Path, time: float | None) -> Response:
    """A small picture, which browsers ask for each time whether it is still the one that they have.

    What is forgotten, or shown as a skeleton from now on, is not shown out of their caches.
    """
    kept = media.PictureCache(bench.pictures, bench.landmarks, bench.worker, bench.options.pixels)
    picture = media.thumbnail_of(path, time, kept)
    headers = {"cache-control": "private, no-cache", "etag": f'"{picture.stem}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return FileResponse(picture, media_type="image/jpeg", headers=headers)


@router.get("/thumbnail/video/{name:path}")
def show_thumbnail(name: str, request: Request, bench: OpenWorkbench, time: Seconds | None = None) -> Response:
    """A small picture of a video, at a time or in the middle."""
    video = bench.folder.video(name)
    return _thumbnail(bench, request, video.path if video.is_shown else video.landmarks or video.path, time)


@router.get("/thumbnail/exemplar/{dictionary:path}")
def show_exemplar(dictionary: str, id: str, request: Request, bench: OpenWorkbench) -> Response:
    """A small picture of an exemplar."""
    exemplar = bench.searcher.exemplar(dictionary, id)
    if exemplar.path is None:
        return Response(status_code=404)
    return _thumbnail(bench, request, exemplar.path, exemplar.segment.middle if exemplar.segment else None)


@router.get("/thumbnail/word/{dictionary:path}")
def show_word(dictionary: str, word: str, request: Request, bench: OpenWorkbench) -> Response:
    """A small picture of a word's first exemplar."""
    exemplars = bench.searcher.dictionary(dictionary)[word]
    return show_exemplar(dictionary, exemplars[0].id, request, bench)


@router.get("/thumbnail/dictionary/{dictionary:path}")
def show_dictionary(dictionary: str, request: Request, bench: OpenWorkbench) -> Response:
    """A small picture of a dictionary: its first sign that can be shown."""
    shown = (each for each in bench.searcher.dictionary(dictionary).exemplars if each.path is not None)
    first = next(shown, None)
    return Response(status_code=404) if first is None else show_exemplar(dictionary, first.id, request, bench)


@router.get("/skeleton/video/{name:path}")
def show_skeleton(name: str, start: Seconds, end: Seconds, bench: OpenWorkbench) -> dict[str, Any]:
    """Body and hand points of some seconds of a video whose landmarks are known."""
    video = bench.folder.video(name)
    if video.landmarks is None and video.is_film and not bench.searcher.is_ready(video):
        raise OptionsError(f"the landmarks of '{name}' are not there yet: prepare it first")
    return media.skeleton(video.landmarks or video.path, bench.landmarks, Segment(max(0.0, start), max(start, end)))


@router.get("/skeleton/exemplar/{dictionary:path}")
def show_exemplar_skeleton(dictionary: str, id: str, bench: OpenWorkbench) -> dict[str, Any]:
    """Body and hand points of an exemplar."""
    exemplar = bench.searcher.exemplar(dictionary, id)
    if exemplar.path is None:
        raise OptionsError(f"there are no landmarks of the exemplar '{id}'")
    return media.skeleton(exemplar.path, bench.landmarks, Segment(0.0, 3600.0))


@router.get("/subtitles/{name:path}")
def show_subtitles(name: str, bench: OpenWorkbench) -> list[dict[str, Any]]:
    """The subtitles of a video."""
    video = bench.folder.video(name)
    if video.subtitles is None:
        return []
    return [{"start": line.start, "end": line.end, "text": line.text} for line in read_subtitles(video.subtitles)]


@router.get("/captions/{name:path}")
def show_captions(name: str, bench: OpenWorkbench) -> Response:
    """The subtitles of a video as WebVTT, whatever file they come from: players show them over the film."""
    video = bench.folder.video(name)
    lines = [] if video.subtitles is None else read_subtitles(video.subtitles)
    cues = [f"{_stamp(each.start)} --> {_stamp(each.end)}\n{_cue_text(each.text)}\n\n" for each in lines]
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
    steps: int = Field(default=150, ge=1, le=5000)


@router.get("/jobs")
def show_jobs(bench: OpenWorkbench) -> list[dict[str, Any]]:
    """Jobs, those that are not over first."""
    return bench.jobs.all()


@router.post("/jobs", dependencies=[OWNER])
def add_job(wanted: JobRequest, bench: OpenWorkbench) -> dict[str, str]:
    """Prepare a video (landmarks and track), annotate the folder, or adapt an encoder to it."""
    if wanted.kind == "prepare":
        video = bench.folder.video(wanted.video)
        return {"id": bench.jobs.add("prepare", video.name, {"video": video.name})}
    bench.folder.dictionary(wanted.dictionary)
    name = file_name(wanted.name or wanted.kind)
    spec: dict[str, Any] = {"dictionary": wanted.dictionary, "name": name}
    if wanted.kind == "annotate":
        spec |= {"words": sorted(wanted.words), "language": wanted.language}
    else:
        spec |= {"steps": wanted.steps}
    return {"id": bench.jobs.add(wanted.kind, name, spec)}


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
    if what == "cancel":
        bench.jobs.cancel(job)
    elif what == "resume":
        bench.jobs.resume(job)
    else:
        raise OptionsError(f"a job is cancelled or resumed; got '{what}'")
    return bench.jobs.get(job)
