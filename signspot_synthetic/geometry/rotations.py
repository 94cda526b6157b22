"""Rotations: unit quaternions (w, x, y, z) and frames, for many moments at once."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def normalised(vectors: Array) -> Array:
    """Scale vectors (..., n) to length 1; a zero vector stays zero."""
    length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return np.asarray(vectors / np.maximum(length, 1e-12))


def frame(fingers: Array, palm: Array) -> Array:
    """Build hand frames (..., 3, 3), columns: thumb side, fingers, palm, from two directions (..., 3).

    The palm direction is made perpendicular to the fingers.
    """
    along = normalised(fingers)
    out = normalised(palm - np.einsum("...i,...i->...", palm, along)[..., None] * along)
    return np.stack([np.cross(along, out), along, out], axis=-1)


def quaternion(matrix: Array) -> Array:
    """Turn rotation matrices (..., 3, 3) into unit quaternions (..., 4)."""
    m = matrix
    four = np.stack(
        [
            1 + m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2],
            1 + m[..., 0, 0] - m[..., 1, 1] - m[..., 2, 2],
            1 - m[..., 0, 0] + m[..., 1, 1] - m[..., 2, 2],
            1 - m[..., 0, 0] - m[..., 1, 1] + m[..., 2, 2],
        ],
        axis=-1,
    )
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    w, x, y, z = (four[..., i] for i in range(4))
    rows = np.stack(
        [
            np.stack([w, a, b, c], axis=-1),
            np.stack([a, x, d, e], axis=-1),
            np.stack([b, d, y, f], axis=-1),
            np.stack([c, e, f, z], axis=-1),
        ],
        axis=-2,
    )
    best = four.argmax(axis=-1)[..., None, None]
    return normalised(np.take_along_axis(rows, best, axis=-2)[..., 0, :])


def matrix(quaternions: Array) -> Array:
    """Turn unit quaternions (..., 4) into rotation matrices (..., 3, 3)."""
    w, x, y, z = (quaternions[..., i] for i in range(4))
    out = np.empty((*quaternions.shape[:-1], 3, 3))
    out[..., 0, 0] = 1 - 2 * (y * y + z * z)
    out[..., 0, 1] = 2 * (x * y - w * z)
    out[..., 0, 2] = 2 * (x * z + w * y)
    out[..., 1, 0] = 2 * (x * y + w * z)
    out[..., 1, 1] = 1 - 2 * (x * x + z * z)
    out[..., 1, 2] = 2 * (y * z - w * x)
    out[..., 2, 0] = 2 * (x * z - w * y)
    out[..., 2, 1] = 2 * (y * z + w * x)
    out[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return out


def product(first: Array, second: Array) -> Array:
    """Multiply quaternions (..., 4): turn by `second`, then by `first`."""
    a, b = first, second
    w1, x1, y1, z1 = (a[..., i] for i in range(4))
    w2, x2, y2, z2 = (b[..., i] for i in range(4))
    return np.stack(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ],
        axis=-1,
    )


def about(axis: Array, angle: Array | float) -> Array:
    """Quaternions (..., 4) that turn by `angle` (radians, ...) about unit `axis` (..., 3)."""
    half = np.asarray(angle, dtype=np.float64)[..., None] / 2
    vector = np.sin(half) * axis
    return np.concatenate([np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1)), vector], axis=-1)


def slerp(start: Array, end: Array, share: Array) -> Array:
    """Turn from `start` to `end` (4,) or (..., 4) by `share` (...) of the shorter way."""
    dot = np.einsum("...i,...i->...", start, end)
    end = np.where(dot[..., None] < 0, -end, end)
    angle = np.arccos(np.clip(np.abs(dot), 0, 1))
    small = angle < 1e-4
    sine = np.where(small, 1.0, np.sin(angle))
    first = np.where(small, 1 - share, np.sin((1 - share) * angle) / sine)
    second = np.where(small, share, np.sin(share * angle) / sine)
    return normalised(first[..., None] * start + second[..., None] * end)


def aligned(quaternions: Array) -> Array:
    """Choose signs along time (T, 4) so that neighbours are near: then they may be averaged."""
    dots = np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1])
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0))
    return np.concatenate([quaternions[:1], quaternions[1:] * signs[:, None]])


def rotate(quaternions: Array, vectors: Array) -> Array:
    """Turn vectors (..., 3) by unit quaternions (..., 4)."""
    axis = quaternions[..., 1:]
    twice = 2 * np.cross(axis, vectors)
    return np.asarray(vectors + quaternions[..., :1] * twice + np.cross(axis, twice))
