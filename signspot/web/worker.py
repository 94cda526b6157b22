"""Work on untrusted files in child processes with limits: the only module in which the server decodes videos.

`Worker` is the server's side; every other function runs in a child. A child that cannot be started raises
`SandboxStartError`: the request is answered 503, nothing is decoded in the server, and the next request tries again.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, select, update

from signspot.annotation.store import Database
from signspot.errors import EmptyVideoError, FormatError, LandmarksError, SandboxStartError, SignspotError, VideoError
from signspot.io.checks import parse_json, quoted
from signspot.io.progress import Progress, silent
from signspot.io.sandbox import Limits, Sandbox
from signspot.landmarks.estimators import Tracker, join_frames
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import is_pose_file, open_landmarks
from signspot.landmarks.video_estimation import MAX_SIDE, estimate_landmarks
from signspot.subtitles.reading import SUFFIXES as SUBTITLE_SUFFIXES
from signspot.subtitles.reading import read_subtitles
from signspot.types import Exemplar, Segment
from signspot.video.containers import MOST_PIXELS, open_container
from signspot.video.probing import probe
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter
from signspot.web import database_tables as tables
from signspot.web.folder import ENCODERS, RUNS, ServedFolder

LIMITS = Limits(seconds=120.0, memory=8 << 30, file_size=8 << 30)  # of one piece of work without progress
_CHILDREN = 3  # that work for requests at the same time
_CHECKED_FRAMES = 200  # of an upload that are decoded before it is accepted
_MOST_TEXT = 20 << 20  # bytes of subtitles
_JPEG = b"\xff\xd8\xff"
_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # JPEG markers that give height and width
_SCAN = 0xDA  # the JPEG marker after which there are no headers
_NO_LENGTH = frozenset({0x00, 0x01, 0xFF, *range(0xD0, 0xD8)})  # JPEG markers, and bytes of data, without a length
_BLANK = (480, 640, 3)  # of the frame with which the models are loaded
_REPORT = 0.3  # seconds between two progress reports of a job
_STOP = 30.0  # seconds within which calls end whose child was ended

logger = logging.getLogger(__name__)


class Worker:
    """Child processes that serve requests, each one call at a time; they start on demand."""

    def __init__(self, children: int = _CHILDREN, limits: Limits = LIMITS):
        self._idle = [Sandbox(limits) for _ in range(children)]
        self._all = tuple(self._idle)
        self._free = threading.Semaphore(children)
        self._closed = False

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Run a function of this module in a child; `progress` and `seconds` as `Sandbox.call` takes them.

        Raises:
            SandboxStartError: no child can be started, or the server stops; nothing was read.
            SandboxLimitError: it took too long or too much memory, or crashed.
        """
        with self._free:
            if self._closed:
                raise SandboxStartError("the server stops: nothing was read")
            sandbox = self._idle.pop()
            try:
                return sandbox.call(f"{function.__module__}:{function.__name__}", *args, **options)
            finally:
                self._idle.append(sandbox)

    def close(self) -> None:
        """End the children and the calls that wait for them; later calls are refused."""
        self._closed = True
        deadline = time.monotonic() + _STOP
        while True:
            for sandbox in self._all:
                sandbox.close()
            if len(self._idle) == len(self._all):
                return
            if time.monotonic() > deadline:
                logger.warning("work on %d files did not end in %g s", len(self._all) - len(self._idle), _STOP)
                return
            time.sleep(0.05)


def check_upload(path: Path, name: str) -> dict[str, Any]:
    """Read the beginning of an upload to check that it can be used; `name` is its name on the sender's machine."""
    suffix = path.suffix.lower()
    try:
        if suffix in SUBTITLE_SUFFIXES:
            if path.stat().st_size > _MOST_TEXT:
                raise FormatError(f"{path}: subtitles of more than {_MOST_TEXT:,} bytes are refused")
            return {"kind": "subtitles", "lines": len(read_subtitles(path))}
        if suffix == ".pose":
            return {"kind": "landmarks", "seconds": open_landmarks(path).duration}
        info = probe(path).info
        with open_container(path, parallel=False) as (container, stream):
            frames = sum(1 for _, frame in zip(range(_CHECKED_FRAMES), container.decode(stream), strict=False) if frame)
        if not frames:
            raise EmptyVideoError(f"{path} holds no frame that can be decoded")
        return {"kind": "video", "seconds": info.duration, "width": info.width, "height": info.height}
    except (VideoError, FormatError) as error:
        raise type(error)(str(error).replace(str(path), f"'{name}'")) from None


def estimate(path: Path, cache: Path | None, progress: Progress = silent) -> Landmarks:
    """The landmarks of a video; stored in the cache if there is one."""
    return estimate_landmarks(path, progress, cache=cache)


def cache_landmarks(path: Path, cache: Path, progress: Progress = silent) -> None:
    """Put the landmarks of a video into the cache."""
    estimate_landmarks(path, progress, cache=cache)


def make_thumbnail(path: Path, time: float | None, height: int) -> NDArray[np.uint8]:
    """(height, W, 3) RGB, the frame at a time, or in the middle."""
    from signspot.video.clips import thumbnail

    return thumbnail(path, time, height)


def is_playable(path: Path) -> bool:
    """Whether every browser plays a video without a copy."""
    from signspot.plots.result_page import is_played

    return is_played(probe(path).info)


def copy_video(path: Path, target: Path, progress: Progress = silent) -> None:
    """Write a copy of a video in H.264, which every browser plays."""
    from signspot.plots.result_page import write_copy

    write_copy(probe(path).info, target, progress)


def cut_video(path: Path, segment: Segment, target: Path, progress: Progress = silent) -> None:
    """Write a part of a video to a new file, at 25 frames per second."""
    with open_video(path) as video, VideoWriter(target, 25.0) as writer:
        for done, frame in enumerate(video.resampled(25.0, segment), start=1):
            writer.add(frame.image)
            progress(done, None)


def embed_video(path: Path, encoder: str | None, device: str, progress: Progress = silent) -> None:
    """Put the track of a video, and its landmarks, into the cache."""
    from signspot.spotting.spotter import load

    load(encoder, device=device).embed(path, progress=progress)


def embed_exemplars(exemplars: list[Exemplar], encoder: str | None, device: str, progress: Progress = silent) -> None:
    """Put the embeddings of exemplars into the cache."""
    from signspot.spotting.spotter import load

    load(encoder, device=device).gallery(exemplars, progress=progress)


_tracker: Tracker | None = None  # of the recording whose frames this child processes


def begin_recording() -> float:
    """Load the models for a new recording; return the seconds of processor that it took."""
    global _tracker
    began = time.process_time()
    if _tracker is not None:
        _tracker.__exit__(None, None, None)
    _tracker = Tracker()
    _tracker.see(np.zeros(_BLANK, np.uint8))  # loads the models before the first frame
    return time.process_time() - began


def see_frame(content: bytes, at: float) -> tuple[Landmarks, float]:
    """Landmarks of the next frame of a recording, a JPEG, and the seconds of processor that it took.

    Raises:
        LandmarksError: it is not a JPEG, or the recording did not begin in this child.
    """
    if _tracker is None:
        raise LandmarksError("the recording was interrupted: start another one")
    began = time.process_time()
    image = read_jpeg(content)
    landmarks = join_frames([_tracker.see(image)], [at], (image.shape[1], image.shape[0]))
    return landmarks, time.process_time() - began


def read_jpeg(content: bytes) -> NDArray[np.uint8]:
    """(H, W, 3) RGB of a JPEG, scaled down to what the models use."""
    if not content.startswith(_JPEG):
        raise LandmarksError("a frame of a recording is a JPEG")
    if _pixels(content) > MOST_PIXELS:
        raise LandmarksError(f"a frame of a recording has at most {MOST_PIXELS:,} pixels")
    try:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:
        raise LandmarksError("a frame of a recording cannot be decoded: it is too large") from error
    if image is None:
        raise LandmarksError("a frame of a recording cannot be decoded")
    share = MAX_SIDE / max(image.shape[:2])
    if share < 1:
        image = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def _pixels(content: bytes) -> int:
    """Pixels by the largest frame header of a JPEG; counted before any memory is allocated."""
    position, most = content.find(b"\xff", 2), 0
    while 0 <= position < len(content) - 9 and (marker := content[position + 1]) != _SCAN:
        if marker in _NO_LENGTH:
            position += 1
        else:
            if marker in _FRAME_HEADERS:
                high, wide = (int.from_bytes(content[position + at : position + at + 2], "big") for at in (5, 7))
                most = max(most, high * wide)
            position += 2 + int.from_bytes(content[position + 2 : position + 4], "big")
        position = content.find(b"\xff", position)
    return most


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Settings that every job is given."""

    folder: str
    database: str | None = None  # URL; None: SQLite in the folder
    encoder: str | None = None
    device: str = "cpu"


class _CancelledError(Exception):
    """The job was cancelled, perhaps by another server."""


@dataclass(frozen=True)
class _Job:
    """One job in its child: the functions that the commands run, with progress written to the database."""

    id: str
    folder: ServedFolder
    database: Database
    settings: JobSettings

    def report(self, **values: Any) -> None:
        here = and_(tables.jobs.c.id == self.id, tables.jobs.c.state == "running")
        changed = update(tables.jobs).where(here).values(**values)
        if not self.database.run(lambda connection: connection.execute(changed).rowcount):
            raise _CancelledError

    @contextmanager
    def stage(self, title: str) -> Iterator[Progress]:
        """Report the progress of one stage."""
        self.report(stage=title, done=0, total=0)
        last = time.monotonic()

        def report(done: int, total: int | None) -> None:
            nonlocal last
            if time.monotonic() - last > _REPORT or done == total:
                last = time.monotonic()
                self.report(done=done, total=total or 0)

        yield report


def run_job(job: str, settings: JobSettings) -> None:
    """Run one job, and record how it ended."""
    folder = ServedFolder(Path(settings.folder))
    database = tables.open_database(settings.database, folder.state)
    work = _Job(job, folder, database, settings)
    query = select(tables.jobs).where(tables.jobs.c.id == job)
    try:
        row = database.run(lambda connection: connection.execute(query).mappings().one())
        if row["kind"] not in KINDS:
            raise FormatError(f"a job is {', '.join(KINDS)}; got {quoted(row['kind'])}")
        message = KINDS[row["kind"]](work, parse_json(row["spec"], "the job"))
        work.report(state="done", message=message, ended=time.time())
    except _CancelledError:
        return
    except SignspotError as error:
        work.report(state="failed", message=str(error), ended=time.time())
    finally:
        database.close()


def _prepare(work: _Job, spec: Mapping[str, Any]) -> str:
    """Landmarks and track of a video, into the cache that all commands use."""
    from signspot.landmarks.cache import default_cache
    from signspot.spotting.spotter import load

    video = work.folder.video(spec["video"])
    source = video.source
    if not is_pose_file(source):
        with work.stage("estimating landmarks") as progress:
            estimate_landmarks(source, progress, cache=default_cache())
    with work.stage("embedding the video") as progress:
        track = load(work.settings.encoder, device=work.settings.device).embed(source, progress=progress)
    return f"{track.grid.frames / track.grid.fps:.1f} s of video"


def _annotate(work: _Job, spec: Mapping[str, Any]) -> str:
    """An annotation run of the whole folder, as `signspot annotate` makes it, with the signs that people confirmed."""
    from signspot.annotation.run import AnnotationJob, annotate
    from signspot.annotation.run_options import AnnotateOptions
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.io.processes import WorkerPool
    from signspot.web.verification import Queues, confirmed_exemplars

    out = work.folder.new_file(f"{RUNS}/{spec['name']}", "the run")
    out.mkdir(parents=True, exist_ok=True)
    settings, dictionary = work.settings, open_dictionary(work.folder.dictionary(spec["dictionary"]))
    if spec.get("confirmed", True):
        exemplars = dictionary.exemplars
        further = confirmed_exemplars(Queues(work.database), work.folder, spec["dictionary"], exemplars)
        dictionary = dictionary.with_exemplars([*exemplars, *(sign for sign in further if sign.word in dictionary)])
    job = AnnotationJob(
        work.folder.root,
        dictionary,
        out,
        tuple(spec.get("words", ())),
        encoder=settings.encoder,
        device=settings.device,
    )
    report = annotate(job, AnnotateOptions(language=spec.get("language", "en")), WorkerPool(1), work.stage)
    done = report.annotated + report.unchanged
    return f"videos: {done}, candidates: {report.candidates}, failed: {len(report.failed)}"


def _adapt(work: _Job, spec: Mapping[str, Any]) -> str:
    """An encoder adapted to the folder's subtitled videos, as `signspot adapt` makes it."""
    from signspot.corpus.corpus import open_corpus
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.models.checkpoints import save_encoder
    from signspot.spotting.spotter import load
    from signspot.training.adaptation import adapt
    from signspot.training.adaptation_data import AdaptOptions

    out = work.folder.new_file(f"{ENCODERS}/{spec['name']}", "the encoder")
    out.mkdir(parents=True, exist_ok=True)
    dictionary = open_dictionary(work.folder.dictionary(spec["dictionary"]))
    options = AdaptOptions(steps=int(spec.get("steps", 150)))
    corpus = open_corpus(work.folder.root)
    command = f"signspot serve: adapt {spec['name']}"
    spotter = load(work.settings.encoder, device=work.settings.device)
    result = adapt(spotter, corpus, dictionary, out, options, stage=work.stage, command=command)
    if result.encoder is None:
        return "no gain on held-out footage: nothing was written"
    save_encoder(result.encoder, out / f"{out.name}.safetensors", half=True)
    return f"{ENCODERS}/{out.name}/{out.name}.safetensors"


KINDS: Mapping[str, Callable[[_Job, Mapping[str, Any]], str]] = {
    "prepare": _prepare,
    "annotate": _annotate,
    "adapt": _adapt,
}
