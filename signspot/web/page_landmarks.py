"""Landmarks that the sign page estimates itself: the package that does it there, and the numbers that come back."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import BODY_POINTS, DEFAULT_FPS, FACE_POINTS, HAND_POINTS, Landmarks
from signspot.landmarks.pose_file import as_stored
from signspot.web.recordings import MOST_PICTURES

PACKAGE = "@mediapipe/holistic"
_SCRIPT, _WASM, _BYTES = "text/javascript", "application/wasm", "application/octet-stream"
FILES = {  # of the package, that a page may load: nothing else in its folder is served
    "holistic.js": _SCRIPT,
    "holistic.binarypb": _BYTES,
    "holistic_solution_packed_assets.data": _BYTES,
    "holistic_solution_packed_assets_loader.js": _SCRIPT,
    "holistic_solution_simd_wasm_bin.js": _SCRIPT,
    "holistic_solution_simd_wasm_bin.wasm": _WASM,
    "holistic_solution_wasm_bin.js": _SCRIPT,
    "holistic_solution_wasm_bin.wasm": _WASM,
    "pose_landmark_full.tflite": _BYTES,
}

_SHAPES = ((BODY_POINTS, 4), (HAND_POINTS, 3), (HAND_POINTS, 3), (len(FACE_POINTS), 3))  # body, left, right, face
_ENDS = np.cumsum([1, *(count * numbers for count, numbers in _SHAPES)])
FRAME = int(_ENDS[-1])  # numbers of one frame: seconds, then the points
MOST_BYTES = 4 * FRAME * MOST_PICTURES
_LONGEST = 60.0  # seconds of a recording
_FURTHEST = 100.0  # image widths or heights that a point may lie outside; models guess where legs are
_SIDES = range(16, 8193)  # pixels of the camera's picture


@dataclass(frozen=True, slots=True)
class HolisticPackage:
    """The unpacked package, of which a few files are served."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> "HolisticPackage":
        """A package in a folder, or in the folder `package` in it, where archives of packages unpack it.

        Raises:
            OptionsError: it is not there, or not whole.
        """
        root = (folder / "package" if (folder / "package" / "package.json").is_file() else folder).resolve()
        remedy = f"Unpack it: npm pack {PACKAGE} && tar xf mediapipe-holistic-*.tgz"
        try:
            named = json.loads((root / "package.json").read_text(encoding="utf-8")).get("name")
        except (OSError, ValueError, AttributeError):
            named = None
        if named != PACKAGE:
            raise OptionsError(f"{folder} is not an unpacked package {PACKAGE}. {remedy}")
        made = cls(root)
        missing = [name for name in FILES if made.file(name) is None]
        if missing:
            raise OptionsError(f"the package {PACKAGE} in {folder} lacks {missing[0]}. {remedy}")
        return made

    def file(self, name: str) -> Path | None:
        """One of the files that pages load; None if it is another one, is not there, or a link that leads elsewhere."""
        if name not in FILES:
            return None
        found = (self.folder / name).resolve()
        return found if found.is_file() and found.is_relative_to(self.folder) else None


def read_landmarks(content: bytes, size: tuple[int, int]) -> Landmarks:
    """Take the body of a request apart: landmarks of every frame, at 25 frames per second.

    Args:
        content: frames of `FRAME` little-endian 32-bit numbers each: seconds, (33, 4) body, (21, 3) left and right
            hand, (60, 3) face. A part that is not seen is NaN throughout.
        size: width and height of the camera's picture, in pixels.

    Raises:
        OptionsError: it is cut off, too long, or a number is not what it may be.
    """
    if size[0] not in _SIDES or size[1] not in _SIDES:
        raise OptionsError(f"width and height are {_SIDES[0]} to {_SIDES[-1]} pixels; got {size[0]} × {size[1]}")
    frames, rest = divmod(len(content), 4 * FRAME)
    if rest or not 2 <= frames <= MOST_PICTURES:
        raise OptionsError(
            f"a recording is 2 to {MOST_PICTURES} frames of {FRAME} numbers of 32 bits; got {len(content):,} bytes"
        )
    rows = np.frombuffer(content, "<f4").reshape(frames, FRAME)
    times = rows[:, 0].astype(np.float64)
    if not (np.isfinite(times).all() and times[0] >= 0 and times[-1] <= _LONGEST and (np.diff(times) > 0).all()):
        raise OptionsError(f"the times of a recording increase, from 0 on, to at most {_LONGEST:g} s")
    body, left, right, face = (
        _points(rows[:, start:end].reshape(frames, *shape))
        for start, end, shape in zip(_ENDS, _ENDS[1:], _SHAPES, strict=False)
    )
    seen = as_stored(Landmarks(body, left, right, face, times, size))
    steps = int((times[-1] - times[0]) * DEFAULT_FPS + 1e-3)  # times have come in 32 bits
    return seen.at(times[0] + np.arange(steps + 1) / DEFAULT_FPS)


def _points(part: NDArray[np.float32]) -> NDArray[np.float32]:
    seen = ~np.isnan(part).all(axis=(1, 2))
    found = part[seen]
    if not (np.isfinite(found).all() and (np.abs(found) <= _FURTHEST).all()):
        raise OptionsError(f"points are numbers from {-_FURTHEST:g} to {_FURTHEST:g}; a part that is not seen is NaN")
    if part.shape[2] == 4 and not ((found[..., 3] >= 0) & (found[..., 3] <= 1)).all():
        raise OptionsError("the visibility of a point is from 0 to 1")
    return part
