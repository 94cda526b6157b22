"""Streams of landmarks for a wake sign: a camera, a video or a `.pose` file; and a picture of what a stream scored."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

import numpy as np
from matplotlib.figure import Figure

from signspot.applications.wake import WakeEvent
from signspot.applications.wake_detector import WakeSign
from signspot.embedding.inputs import is_pose_file
from signspot.errors import NotAVideoError
from signspot.landmarks.estimate import stream_landmarks
from signspot.landmarks.landmarks import DEFAULT_FPS, Landmarks
from signspot.landmarks.pose_file import stream_pose_file
from signspot.plots.curves import COLOURS
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.video.reader import open_video

_CHUNK = 50  # frames of a file at once
_CAMERA = "camera:"


def is_camera(source: str) -> bool:
    """Whether a source is a camera, not a file."""
    return source.startswith(_CAMERA)


def open_stream(source: str) -> Iterator[Landmarks]:
    """Landmarks of a camera (`camera:0`), a video or a `.pose` file, as they come.

    Raises:
        NotAVideoError: there is no such camera.
        VideoError: the video cannot be read.
    """
    if is_camera(source):
        yield from _camera(source.removeprefix(_CAMERA))
    elif is_pose_file(source):
        yield from stream_pose_file(source, _CHUNK)
    else:
        with open_video(source) as video:
            yield from stream_landmarks(video, DEFAULT_FPS)


def _camera(number: str) -> Iterator[Landmarks]:
    import cv2

    from signspot.landmarks.holistic import Tracker, join_sights

    device = Path(f"/dev/video{number}")
    if not number.isdecimal() or (sys.platform == "linux" and not device.exists()):
        raise NotAVideoError(f"there is no camera '{number}'. The first is {_CAMERA}0")
    camera = cv2.VideoCapture(int(number))
    try:
        if not camera.isOpened():
            raise NotAVideoError(f"the camera '{number}' cannot be opened. Is another program using it?")
        began = monotonic()
        with Tracker() as tracker:
            while True:
                taken, image = camera.read()
                if not taken:
                    return
                seen = tracker.see(cv2.cvtColor(image, cv2.COLOR_BGR2RGB))
                yield join_sights([seen], [monotonic() - began], (image.shape[1], image.shape[0]))
    finally:
        camera.release()


def draw_wake(spotter: Spotter, sign: WakeSign, source: str, events: Sequence[WakeEvent]) -> Figure:
    """The score over a file, by the same recordings, with threshold and events."""
    found = spotter.search(source, sign.gallery, SpotOptions(threshold=sign.threshold))
    scores = np.max([found.curve(number) for number in range(len(sign.gallery.exemplars))], axis=0)
    figure = Figure(figsize=(11, 3), layout="constrained", facecolor="white")
    axes = figure.add_subplot(xlabel="seconds", ylabel="score", ylim=(0, 1.03))
    axes.plot(found.times, scores, color=COLOURS[0], lw=1)
    axes.axhline(sign.threshold, color="#777777", ls="--", lw=1, label="threshold; what reaches it is verified, too")
    for number, event in enumerate(events):
        axes.axvline(event.time, color=COLOURS[1], lw=1.5, label=None if number else "events")
    axes.set_xlim(float(found.times[0]), float(found.times[-1]))
    axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
    return figure
