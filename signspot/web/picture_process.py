"""In a process with limits: pictures of somebody who signs into the camera become landmarks, one after the other."""

import base64
import time
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from signspot.errors import LandmarksError
from signspot.landmarks.estimate import MAX_SIDE
from signspot.landmarks.estimators import Tracker, join_frames
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.video.containers import MOST_PIXELS

_JPEG = b"\xff\xd8\xff"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of a header that tells height and width
_DATA = 0xDA  # the marker behind which there are no headers any more
_NO_LENGTH = frozenset({0x00, 0x01, 0xFF, *range(0xD0, 0xD8)})  # markers, and bytes of data, that stand alone
_BLANK = (480, 640, 3)  # of the picture with which the models are loaded; nobody is in it
_PARTS = ("body", "left_hand", "right_hand", "face")
_SHAPES = {"body": (33, 4), "left_hand": (21, 3), "right_hand": (21, 3), "face": (len(FACE_POINTS), 3)}
_tracker: Tracker | None = None  # of the one recording that this process looks at


def see(request: dict[str, Any]) -> dict[str, Any]:
    """Look at the next picture, or begin with a new recording.

    Args:
        request: `{"begin": true}`, or `{"picture": a JPEG in base64, "time": seconds}`.

    Returns:
        The points in base64, the size of the picture, and the seconds of processor that it took.

    Raises:
        LandmarksError: it is no JPEG picture.
    """
    global _tracker
    began = time.process_time()
    if request.get("begin"):
        if _tracker is not None:
            _tracker.__exit__(None, None, None)
        _tracker = Tracker()
        _tracker.see(np.zeros(_BLANK, np.uint8))  # models are loaded before anybody signs
        return {"processor": time.process_time() - began}
    assert _tracker is not None, "a recording begins with `begin`"
    image = read_picture(base64.b64decode(request["picture"]))
    seen = join_frames([_tracker.see(image)], [float(request["time"])], (image.shape[1], image.shape[0]))
    points = {name: base64.b64encode(getattr(seen, name).tobytes()).decode() for name in _PARTS}
    return {**points, "size": seen.size, "processor": time.process_time() - began}


def read_picture(content: bytes) -> NDArray[np.uint8]:
    """(H, W, 3) RGB of a JPEG picture, scaled down where the models see no more."""
    if not content.startswith(_JPEG):
        raise LandmarksError("a picture of a recording is a JPEG")
    if _pixels(content) > MOST_PIXELS:
        raise LandmarksError("a picture of a recording cannot be decoded: it is too large")
    try:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:
        raise LandmarksError("a picture of a recording cannot be decoded: it is too large") from error
    if image is None:
        raise LandmarksError("a picture of a recording cannot be decoded")
    share = MAX_SIDE / max(image.shape[:2])
    if share < 1:
        image = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def _pixels(content: bytes) -> int:
    """Pixels that the largest frame header of a JPEG speaks of; they are counted before any memory is taken."""
    place, most = content.find(b"\xff", 2), 0
    while 0 <= place < len(content) - 9 and (marker := content[place + 1]) != _DATA:
        if marker in _NO_LENGTH:
            place += 1
        else:
            if marker in _FRAMES:
                high, wide = (int.from_bytes(content[place + at : place + at + 2], "big") for at in (5, 7))
                most = max(most, high * wide)
            place += 2 + int.from_bytes(content[place + 2 : place + 4], "big")
        place = content.find(b"\xff", place)
    return most


def landmarks_told(answer: dict[str, Any], at: float) -> Landmarks:
    """One frame of landmarks, as `see` told it."""
    body, left, right, face = (
        np.frombuffer(base64.b64decode(answer[name]), np.float32).reshape(1, *_SHAPES[name]) for name in _PARTS
    )
    size = int(answer["size"][0]), int(answer["size"][1])
    return Landmarks(body, left, right, face, np.array([at]), size)
