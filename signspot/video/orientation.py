"""Which way is up: the display matrix that phones write, applied so that signers stand upright."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Orientation:
    """One of the eight ways in which a picture can lie: transposed first, then flipped."""

    transposed: bool = False
    flipped_across: bool = False  # left and right change places
    flipped_down: bool = False  # top and bottom change places

    @property
    def degrees(self) -> int:
        """Clockwise turn that brings the stored picture upright: 0, 90, 180 or 270 (mirroring left out)."""
        if self.transposed:
            return 90 if self.flipped_across else 270
        return 180 if self.flipped_down else 0

    def displayed(self, width: int, height: int) -> tuple[int, int]:
        """The width and height of a stored picture once it is upright (or the way back)."""
        return (height, width) if self.transposed else (width, height)

    def upright(self, image: Image) -> Image:
        """(H, W, 3) stored picture -> (H, W, 3) or (W, H, 3) upright and contiguous."""
        if self == Orientation():
            return np.ascontiguousarray(image)
        import cv2  # only rotated videos need it; several times as fast as copying a numpy view

        if self.transposed:
            image = cv2.transpose(image)
        if self.flipped_across or self.flipped_down:
            both = self.flipped_across and self.flipped_down
            image = cv2.flip(image, -1 if both else int(self.flipped_across))
        return np.ascontiguousarray(image)


def orientation_of(frame: Any) -> Orientation:
    """Read the orientation from a decoded frame; turns that are no quarter turn go to the nearest one."""
    for data in frame.side_data:
        if data.type.name == "DISPLAYMATRIX":
            return from_display_matrix(np.frombuffer(bytes(data), dtype=np.int32))
    return Orientation()


def from_display_matrix(matrix: NDArray[np.int32]) -> Orientation:
    """Turn a display matrix (9,) into an orientation.

    The matrix sends a stored pixel (x, y) to (a x + c y, b x + d y), y pointing down, with a, b at 0, 1 and
    c, d at 3, 4.
    """
    a, b, c, d = (int(matrix[index]) for index in (0, 1, 3, 4))
    if abs(a) + abs(d) >= abs(b) + abs(c):
        return Orientation(flipped_across=a < 0, flipped_down=d < 0)
    return Orientation(transposed=True, flipped_across=c < 0, flipped_down=b < 0)
