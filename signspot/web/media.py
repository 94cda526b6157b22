"""Images and videos for the pages: thumbnails, copies that browsers play, skeletons; made once and cached."""

import hashlib
import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot.io.files import atomic_write
from signspot.io.progress import silent
from signspot.landmarks.features import features
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import is_pose_file
from signspot.types import Segment
from signspot.web.searcher import Searcher
from signspot.web.worker import Worker, copy_video, is_playable, make_thumbnail

_HEIGHT = 180  # pixels of a thumbnail
_AROUND = 25  # frames before and after a drawn one, from which its scale is measured
_MOST_SECONDS = 20.0  # of landmarks that a page is given at once
_BODY = (0, 11, 12, 13, 14, 15, 16)  # nose, shoulders, elbows, wrists
_FINGERS = tuple((base + joint, base + joint + 1) for base in (1, 5, 9, 13, 17) for joint in range(3))
_PALM = ((0, 1), (0, 5), (5, 9), (9, 13), (13, 17), (0, 17))
HAND_LINES = _PALM + _FINGERS


class Media:
    """Thumbnails and copies of a workbench's videos."""

    def __init__(self, folder: Path, searcher: Searcher, worker: Worker):
        self._folder, self._searcher, self._worker = folder, searcher, worker
        self._needs_no_copy: dict[str, bool] = {}  # key of a video → whether every browser plays it as it is
        self._making = threading.Semaphore(2)  # thumbnails and copies that are made at once

    def thumbnail(self, path: Path, time: float | None) -> Path:
        """A JPEG thumbnail of a video; of its skeleton where it has no frames, or people may not be shown.

        Args:
            path: a video or a .pose file.
            time: seconds; None: the middle.

        Raises:
            SignspotError: the file has nothing to show.
        """
        drawn = is_pose_file(path) or not self._searcher.folder.pixels
        target = self._file(f"{_key(path, f'{time} drawn' if drawn else f'{time}')}.jpg")
        if target.is_file():
            return target
        with self._making:
            if drawn:
                image = _skeleton_image(self._searcher.landmarks(path), time)
            else:
                image = self._worker.call(make_thumbnail, path, time, _HEIGHT)
        _, content = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 82])
        with atomic_write(target) as temporary:
            temporary.write_bytes(content.tobytes())
        return target

    def playable(self, path: Path) -> Path:
        """The video itself where every browser plays it, otherwise a copy in H.264, made once.

        Raises:
            VideoError: it cannot be read.
        """
        key = _key(path, "copy")
        target = self._file(f"{key}.mp4")
        if target.is_file():
            return target
        if key not in self._needs_no_copy:
            self._needs_no_copy[key] = self._worker.call(is_playable, path)
        if self._needs_no_copy[key]:
            return path
        with self._making:
            if not target.is_file():
                with atomic_write(target) as temporary:
                    self._worker.call(copy_video, path, temporary, progress=silent)
        return target

    def _file(self, name: str) -> Path:
        self._folder.mkdir(exist_ok=True)
        return self._folder / name


def _key(path: Path, kind: str) -> str:
    state = path.stat()
    text = f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0{kind}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def skeleton(landmarks: Landmarks, span: Segment) -> dict[str, Any]:
    """The body and hand points of a segment, of at most twenty seconds, as the pages draw them over a video.

    Returns:
        `times`, `body`, `left` and `right`: of each frame a list of [x, y] in [0, 1], null if it is not visible.
    """
    part = landmarks.between(Segment(span.start, min(span.end, span.start + _MOST_SECONDS)))
    body = part.body[:, _BODY, :2]
    return {
        "times": [round(float(time), 3) for time in part.times],
        "aspect": landmarks.aspect,
        "body": _points(body),
        "left": _points(part.left_hand[..., :2]),
        "right": _points(part.right_hand[..., :2]),
        "lines": HAND_LINES,
    }


def _points(points: Any) -> list[list[list[float] | None]]:
    finite = np.isfinite(points).all(axis=-1)
    rounded = np.where(finite[..., None], np.round(points, 4), 0).tolist()
    return [
        [point if visible else None for point, visible in zip(row, flags, strict=True)]
        for row, flags in zip(rounded, finite.tolist(), strict=True)
    ]


def _skeleton_image(landmarks: Landmarks, time: float | None) -> NDArray[np.uint8]:
    """(H, W, 3) one frame of landmarks, drawn."""
    from signspot.plots.skeletons import draw_still

    middle = landmarks.duration / 2 if time is None else time
    index = min(len(landmarks) - 1, int(middle * landmarks.fps))
    first = max(0, index - _AROUND)
    return draw_still(features(landmarks[first : index + _AROUND + 1])[index - first])


def share_with_hands(landmarks: Landmarks) -> float:
    """The share of frames in which a hand is visible."""
    if not len(landmarks):
        return 0.0
    visible = np.isfinite(landmarks.left_hand[:, 0, 0]) | np.isfinite(landmarks.right_hand[:, 0, 0])
    return float(visible.mean())
