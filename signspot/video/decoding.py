"""Frames with their times, from the beginning or from the keyframe before a time: the same either way."""

import logging
from collections.abc import Generator, Iterator
from itertools import dropwhile

import av

from signspot.video.clock import Clock, TimedFrame
from signspot.video.containers import decode_packets, open_container
from signspot.video.probing import Source

_log = logging.getLogger(__name__)

# Seconds before the wanted time at which a keyframe is sought, in turn, before reading from the start.
_STEPS_BACK = (0.0, 1.0, 4.0, 16.0, 64.0)


def timed_frames(source: Source, start: float = 0.0) -> Iterator[TimedFrame]:
    """Decode forward from a frame at or before `start` seconds (the first one, if none is).

    The frames are those of a full decode from some keyframe on. Indexes of files go by decoding time, are
    coarse (.ts) or missing (.webm from a browser), so that a seek may land too late: then it is tried further
    back. Memory is bounded.
    """
    for back in _STEPS_BACK:
        if start - back <= 0 or not source.timing.seekable:
            break
        frames = _from_keyframe(source, start - back)
        first = next(frames, None)
        if first is not None and first.time <= start:
            yield first
            yield from frames
            return
        frames.close()
    yield from _from_beginning(source)


def _from_beginning(source: Source) -> Iterator[TimedFrame]:
    path, clock = source.info.path, Clock(source.timing)
    frame = None
    with open_container(path) as (container, stream):
        for picture in decode_packets(path, container, stream):
            frame = clock.timed(picture)
            yield frame
    missing = source.info.duration - (frame.end if frame else 0.0)
    if missing > max(1.0, 0.05 * source.info.duration):
        _log.warning("%s is cut off: the last %.1f s that it announces are missing.", path, missing)


def _from_keyframe(source: Source, start: float) -> Generator[TimedFrame, None, None]:
    """Frames from a keyframe near `start`; none if there is no way to get there, or it has no timestamp."""
    path, clock = source.info.path, Clock(source.timing)
    with open_container(path) as (container, stream):
        try:
            container.seek(source.timing.ticks(start), stream=stream, backward=True)
        except av.error.FFmpegError as error:
            _log.debug("%s cannot be sought: %s", path, error)
            return
        pictures = dropwhile(lambda picture: not picture.key_frame, decode_packets(path, container, stream))
        for number, picture in enumerate(pictures):
            if number == 0 and picture.pts is None:
                return
            yield clock.timed(picture)
