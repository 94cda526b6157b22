"""From pictures and landmarks to crops of the mouth: grey, upright, of one size, as lip readers for pixels see them."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.lips import lip_shapes
from signspot.video.reader import Frame

SIDE = 88  # pixels of a crop, as usual for lip reading
MEAN, SPREAD = 0.421, 0.165  # of grey in [0, 1], by which crops are normalised, as usual for lip reading
_WIDE = 1.3  # side of the crop, in distances between the eyes' outer corners
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


def mouth_places(landmarks: Landmarks) -> NDArray[np.float32]:
    """(T, 6) the middle of the mouth and the half side of the crop to the right, as shares of the image; seen; covered.

    Where the lips are not seen, or the head is turned away, everything is 0.

    Raises:
        LandmarksError: the landmarks lack points of the face.
    """
    flags = lip_shapes(landmarks)[:, -3:-1]  # seen, covered
    points = {point: place for place, point in enumerate(landmarks.face_points)}
    face = {point: landmarks.face[:, points[point], :2] for point in (13, 14, 33, 61, 263, 291)}
    middle = np.mean([face[13], face[14], face[61], face[291]], axis=0)
    right = (face[263] - face[33]) * (_WIDE / 2)
    found = np.concatenate([middle, right, flags], axis=1)
    return np.where(flags[:, :1] > 0, found, 0.0).astype(np.float32)


def crop_mouth(image: NDArray[np.uint8], place: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut the mouth out of a picture, turned upright and normalised.

    Args:
        image: (H, W, 3) RGB.
        place: (4,) the middle of the mouth, and the half side of the crop to the right, in pixels of the image.

    Returns:
        (SIDE, SIDE) grey, about 0 on average; what lies beyond the picture's edge repeats that edge.
    """
    grey = image.astype(np.float32) @ _GREY / 255.0
    steps = np.linspace(-1, 1, SIDE, dtype=np.float32)
    right, down = place[2:4], np.array([-place[3], place[2]], np.float32)
    points = place[:2] + steps[None, :, None] * right + steps[:, None, None] * down  # (SIDE, SIDE, 2) x, y
    return (_sample(grey, points) - MEAN) / SPREAD


def _sample(grey: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bilinear values of (H, W) at (…, 2) places x, y."""
    height, width = grey.shape
    x = np.clip(points[..., 0], 0, width - 1)
    y = np.clip(points[..., 1], 0, height - 1)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    across, below = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    dx, dy = x - left, y - top
    upper = grey[top, left] * (1 - dx) + grey[top, across] * dx
    lower = grey[below, left] * (1 - dx) + grey[below, across] * dx
    return np.asarray(upper * (1 - dy) + lower * dy, np.float32)


def crop_mouths(
    frames: Iterable[Frame], landmarks: Iterable[Landmarks]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Crops of a video, chunk by chunk as its landmarks come.

    Args:
        frames: at the frame rate of the landmarks, as many as they are or more.
        landmarks: chunks in order of time, of the same frames; pictures may have another size than theirs.

    Returns:
        Chunks of (T, SIDE, SIDE) crops, 0 where no mouth is seen, and (T, 2) whether it is seen and covered.
    """
    pictures = iter(frames)
    for chunk in landmarks:
        places = mouth_places(chunk)
        crops = np.zeros((len(places), SIDE, SIDE), np.float32)
        for number, place in enumerate(places):
            frame = next(pictures, None)
            if frame is None:
                places[number:] = 0.0
                break
            if place[4] > 0:
                height, width = frame.image.shape[:2]
                crops[number] = crop_mouth(frame.image, place[:4] * np.array([width, height] * 2, np.float32))
        yield crops, places[:, 4:]
