"""Strangers' videos in a process that can be ended: headers and tables are tried there, and frames decoded there.

Nothing of FFmpeg sees a video's content in the user's own process. What hangs is ended once no frame has been decoded
for a while; what goes on for ever is ended by `limits`.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from signspot.errors import VideoError, VideoLimitError
from signspot.io.bounded_process import BoundedProcesses, EndedError
from signspot.io.bounded_server import show_life
from signspot.types import Segment
from signspot.video.clock import TimedFrame, Timing, resample, sample_times
from signspot.video.containers import check_file, open_container
from signspot.video.decoding import RgbConverter, lands_near, timed_frames
from signspot.video.probing import Image, Orientation, Source, VideoInfo, end_of_packets, probe

_MEMORY = 3 << 30  # bytes: a few pictures of 8K, in any depth of colour
_SECONDS = 30.0  # for any file, and for any frame
_RATE = 5e6  # and a second for so many bytes, since some must be read to their end
_processes = BoundedProcesses("signspot.video.trial:answer", memory=_MEMORY)


@dataclass(frozen=True, slots=True)
class Wish:
    """Frames of a video that are wanted, and their size."""

    segment: Segment | None = None
    fps: float | None = None  # None: every frame, at its own time
    at: float | None = None  # the one frame that is shown at this time
    max_side: int | None = None  # pixels


def try_source(path: Path) -> Source:
    """Probe a file in the other process.

    Raises:
        VideoLimitError: it takes too long or too much memory, or breaks the reader.
        VideoError: as `probe`.
    """
    return _source(_ask("source", path), path)


def try_header(path: Path) -> bool:
    """Open a file in the other process; say whether its header gives pictures a size.

    Raises:
        VideoError: as `try_source`.
    """
    return bool(_ask("header", path))


def try_to_the_end(path: Path) -> float:
    """Read all packets of a file in the other process; give the end of the last picture, in seconds since the first.

    Raises:
        VideoError: as `try_source`.
    """
    return float(_ask("end", path))


def try_near(source: Source, time: float) -> bool:
    """Whether a reading can begin near `time` seconds, without decoding all that comes before it.

    Raises:
        VideoError: as `try_source`.
    """
    return bool(_ask("near", source.info.path, {"source": _as_json(source), "time": time}))


def read_frames(source: Source, wish: Wish) -> Iterator[tuple[float, Image]]:
    """Decode frames in the other process: seconds, and (H, W, 3) RGB, upright; a frame that is shown again is shared.

    Raises:
        VideoLimitError: no frame comes for long, or the decoder breaks down or takes too much memory.
        VideoError: the file cannot be read any more.
    """
    path, image = source.info.path, np.empty((0, 0, 3), np.uint8)
    check_file(path)
    request = ["frames", _absolute(path), str(path), {"source": _as_json(source), "wish": asdict(wish)}]
    try:
        with closing(_processes.stream(request, _SECONDS)) as parts:
            for (time, shape), data in parts:
                image = image if shape is None else np.frombuffer(data, np.uint8).reshape(shape)
                yield time, image
    except EndedError as error:
        raise _ended(path, error) from error


def _ask(what: str, path: Path, more: Any = None) -> Any:
    check_file(path)  # its own words come first, and cost nothing
    try:
        seconds = _SECONDS + path.stat().st_size / _RATE
        return _processes.ask([what, _absolute(path), str(path), more], seconds)
    except EndedError as error:
        raise _ended(path, error) from error


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 (a link keeps its own name in messages)


def _ended(path: Path, error: EndedError) -> VideoLimitError:
    return VideoLimitError(f"{path} cannot be read: {error}. Encode it again, or leave it out.")


def answer(request: list[Any]) -> Any:
    """In the other process: what is asked of the file at an absolute path, which users call by another name."""
    what, absolute, name, more = request
    path = Path(absolute)
    if what == "frames":
        return _pictures(path, name, more)
    try:
        if what == "source":
            return _as_json(probe(path))
        if what == "end":
            return end_of_packets(path)
        if what == "near":
            return lands_near(_source(more["source"], path), more["time"])
        with open_container(path, parallel=False) as (_, stream):
            return stream.codec_context.width > 0
    except VideoError as error:
        raise type(error)(str(error).replace(absolute, name)) from error


def _pictures(path: Path, name: str, more: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Frames as parts of an answer: time and shape, and the bytes; no shape and no bytes for a frame shown again."""
    source, segment = _source(more["source"], path), more["wish"].pop("segment")
    wish = Wish(segment and Segment(**segment), **more["wish"])
    convert, last = RgbConverter(source, wish.max_side), None
    try:
        for frame in _wanted(source, wish):
            image = convert(frame.picture)
            yield (frame.time, None if image is last else image.shape), None if image is last else image.data
            last = image
    except VideoError as error:
        raise type(error)(str(error).replace(str(path), name)) from error


def _wanted(source: Source, wish: Wish) -> Iterator[TimedFrame]:
    """The frames that are asked for, not yet converted."""
    tolerance = source.timing.tolerance
    if wish.at is not None:
        return _shown_at(_living(timed_frames(source, wish.at)), wish.at + tolerance)
    if wish.fps is not None:
        wanted = sample_times(wish.fps, wish.segment, tolerance)
        return resample(_living(timed_frames(source, wanted.origin)), wanted)
    return _within(_living(timed_frames(source, wish.segment.start if wish.segment else 0.0)), wish.segment)


def _living(frames: Iterable[TimedFrame]) -> Iterator[TimedFrame]:
    """The same frames; each is a sign of life, be it wanted or not."""
    for frame in frames:
        show_life()
        yield frame


def _shown_at(frames: Iterable[TimedFrame], latest: float) -> Iterator[TimedFrame]:
    shown: TimedFrame | None = None
    for frame in frames:
        if shown and frame.time > latest:
            break
        shown = frame
    if shown is not None:
        yield shown


def _within(frames: Iterable[TimedFrame], segment: Segment | None) -> Iterator[TimedFrame]:
    for frame in frames:
        if segment is None or frame.time in segment:
            yield frame
        elif frame.time >= segment.end:
            return


_FRACTIONS = ("time_base", "origin")


def _as_json(source: Source) -> dict[str, Any]:
    found = {**asdict(source), "info": {**asdict(source.info), "path": ""}}
    exact = {name: getattr(source.timing, name).as_integer_ratio() for name in _FRACTIONS}
    return {**found, "timing": {**found["timing"], **exact}}


def _source(found: dict[str, Any], path: Path) -> Source:
    timing = {name: Fraction(*found["timing"][name]) for name in _FRACTIONS}
    return Source(
        VideoInfo(**{**found["info"], "path": path}),
        Timing(**{**found["timing"], **timing}),
        Orientation(**found["orientation"]),
    )
