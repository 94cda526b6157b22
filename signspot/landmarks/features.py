"""Landmark features, the input of landmark encoders: points relative to the signer's shoulders, alike for every camera.

Frames are expected at the encoder's rate (25 per second; see `Landmarks.resampled`). Everything is local in
time: a frame's features depend on the frames within `CONTEXT` of it and on nothing else. So it does not
matter how a video is cut into chunks, and what comes a second later changes nothing.
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from signspot.landmarks.landmarks import HAND_POINTS, MIRRORED_BODY_POINTS, MIRRORED_FACE_POINT, Landmarks

Features = NDArray[np.float32]
Mask = NDArray[np.bool_]

BODY_JOINTS = (0, 11, 12, 13, 14, 15, 16)  # nose, shoulders, elbows, wrists; left before right
FACE_JOINTS = (
    *(61, 291, 0, 17, 37, 267, 84, 314, 13, 14, 78, 308),  # lips: corners, outer above and below, inner
    *(105, 334, 33, 263, 234, 454, 152, 10),  # brows, outer eye corners, cheeks, chin, forehead
)
ELBOWS, WRISTS = (3, 4), (5, 6)  # left, right, among the joints
LEFT_HAND = slice(len(BODY_JOINTS), len(BODY_JOINTS) + HAND_POINTS)
RIGHT_HAND = slice(LEFT_HAND.stop, LEFT_HAND.stop + HAND_POINTS)
FACE = slice(RIGHT_HAND.stop, RIGHT_HAND.stop + len(FACE_JOINTS))
JOINTS: int = FACE.stop  # 69
CHANNELS = 4  # x, y, z in shoulder widths, and seen: 1 or 0

VERSION = 2  # raised whenever the same landmarks give other features; `models.landmark_geometry` knows it, too
CONTEXT = 25  # frames on either side that a frame's features depend on: the scale's window, 1 s
CENTRE_FRAMES = 5  # frames on either side over which the centre is smoothed: 0.2 s
GAP_FRAMES = 5  # longest gap that is filled: 0.2 s
CARRY_FRAMES = CONTEXT  # a lost hand keeps its shape for so long, where its wrist is seen
VISIBLE = 0.3  # a body point is seen from this visibility on
BODY_DEPTH = 0.27  # MediaPipe stretches body depth: its world landmarks' z over its image z, on LSA64
NARROWEST = 0.02  # a shoulder width below this share of the image's height is not a measure
FARTHEST = 4.0  # shoulder widths; a point beyond is a mistake of the estimator, and is cut

_LEFT_SHOULDER, _RIGHT_SHOULDER = 1, 2


class FeatureStream:
    """Makes features of a video whose landmarks arrive in chunks, in bounded memory.

    The features of a frame come out once `CONTEXT` more frames are known, or at the end.
    """

    def __init__(self) -> None:
        self._points: Features = np.empty((0, JOINTS, 3), dtype=np.float32)
        self._past = 0  # frames at the head of `_points` that are out already

    def push(self, chunk: Landmarks) -> Features:
        """Take the next frames; give the (n, J, C) features that are settled by now, n ≥ 0."""
        self._points = np.concatenate([self._points, _select(chunk)])
        return self._release(len(self._points) - CONTEXT)

    def finish(self) -> Features:
        """Give the (n, J, C) features of the frames that are left."""
        rest = self._release(len(self._points))
        self._points, self._past = self._points[:0], 0
        return rest

    def _release(self, end: int) -> Features:
        if end <= self._past:
            return np.empty((0, JOINTS, CHANNELS), dtype=np.float32)
        ready = _normalise(self._points)[self._past : end]
        start = max(0, end - CONTEXT)
        self._points, self._past = self._points[start:], end - start
        return ready


def features(landmarks: Landmarks, *, mirror: bool = False) -> Features:
    """Relate a signer's points to the shoulders.

    x, y and z are in shoulder widths from the middle of the shoulders (x to the right of the image, y down),
    with the image's aspect undone; a size that is not known counts as square. The centre is the median over
    ±0.2 s, so that the shoulders' jitter does not shake the hands; the width is the median over ±1 s. Where
    the shoulders are hidden, the nearest within 1 s stand in. A hand's z is relative to its wrist, a face's
    to the head, a body point's to the shoulders, scaled by `BODY_DEPTH`; a depth that is NaN, unknown, counts
    as that of the shoulders, the wrist or the head. Gaps up to
    0.2 s are filled linearly. A hand that is lost for longer goes with the body's wrist, in the shape of
    the nearest frames within 1 s.

    Args:
        landmarks: T frames at 25 frames per second.
        mirror: as if the video were mirrored, for left-handed signers.

    Returns:
        (T, J, C) x, y, z, seen; zeros where a point is not seen.
    """
    normalised = _normalise(_select(landmarks))
    return mirror_features(normalised) if mirror else normalised


def mirror_features(x: Features) -> Features:
    """Mirror (..., J, C) features: left and right change places and x its sign."""
    mirrored = x[..., MIRRORED_JOINTS, :]
    mirrored[..., 0] = 0.0 - mirrored[..., 0]  # not -x: an unseen 0 stays +0
    return mirrored


def _mirrored_joints() -> NDArray[np.intp]:
    body = [BODY_JOINTS.index(MIRRORED_BODY_POINTS[point]) for point in BODY_JOINTS]
    hands = [*range(RIGHT_HAND.start, RIGHT_HAND.stop), *range(LEFT_HAND.start, LEFT_HAND.stop)]
    face = [FACE.start + FACE_JOINTS.index(MIRRORED_FACE_POINT[point]) for point in FACE_JOINTS]
    return np.array(body + hands + face)


MIRRORED_JOINTS = _mirrored_joints()


def _select(landmarks: Landmarks) -> Features:
    """Pick (T, J, 3) x, y, z of our joints in image heights, NaN where not seen."""
    points = np.full((len(landmarks), JOINTS, 3), np.nan, dtype=np.float32)
    body = landmarks.body[:, BODY_JOINTS]
    points[:, : len(BODY_JOINTS)] = np.where(body[..., 3:] >= VISIBLE, body[..., :3], np.nan)
    points[:, LEFT_HAND] = landmarks.left_hand
    points[:, RIGHT_HAND] = landmarks.right_hand
    column_of = {point: index for index, point in enumerate(landmarks.face_points)}
    columns = [(joint, column_of[point]) for joint, point in enumerate(FACE_JOINTS, FACE.start) if point in column_of]
    if columns:
        joints, sources = map(list, zip(*columns, strict=True))
        points[:, joints] = landmarks.face[:, sources]
    _impute_depth(points)
    points[~np.isfinite(points).all(axis=-1)] = np.nan
    points[..., [0, 2]] *= np.float32(landmarks.aspect)
    return points


def _impute_depth(points: Features) -> None:
    """Give (T, J, 3) points of unknown depth that of the middle of the shoulders, or of their own wrist; in place."""
    unknown = np.isnan(points[..., 2]) & np.isfinite(points[..., :2]).all(axis=-1)
    if not unknown.any():
        return
    depth = np.zeros(points.shape[:2], np.float32)
    depth[:, : len(BODY_JOINTS)] = points[:, [_LEFT_SHOULDER, _RIGHT_SHOULDER], 2].mean(axis=1, keepdims=True)
    points[unknown, 2] = np.nan_to_num(depth[unknown], nan=0.0)


def _normalise(points: Features) -> Features:
    """Turn (T, J, 3) points in image heights into (T, J, C) features."""
    out = np.zeros((*points.shape[:2], CHANNELS), dtype=np.float32)
    if not len(points):
        return out
    centre, width = _shoulder_frame(points)
    filled = _fill_gaps(points)
    _impute_lost_hands(filled, points)
    filled[..., :2] -= centre[:, None, :2]
    filled[:, : len(BODY_JOINTS), 2] -= centre[:, None, 2]
    filled[:, : len(BODY_JOINTS), 2] *= np.float32(BODY_DEPTH)
    filled /= width[:, None, None]
    seen = np.isfinite(filled[..., 0])
    np.clip(filled, -FARTHEST, FARTHEST, out=filled)
    np.copyto(out[..., :3], filled, where=seen[..., None])
    out[..., 3] = seen
    return out


def _shoulder_frame(points: Features) -> tuple[Features, Features]:
    """Find the (T, 3) middle of the shoulders and their (T,) width around every frame; NaN where unknown."""
    left, right = points[:, _LEFT_SHOULDER], points[:, _RIGHT_SHOULDER]
    across = left - right
    width = np.sqrt(across[:, 0] * across[:, 0] + across[:, 1] * across[:, 1])
    usable = width >= NARROWEST
    width = _local_median(np.where(usable, width, np.float32(np.nan))[:, None], CONTEXT)[:, 0]
    middle = np.where(usable[:, None], (left + right) * np.float32(0.5), np.float32(np.nan))
    return _nearest(_local_median(middle, CENTRE_FRAMES), CONTEXT - CENTRE_FRAMES), width


def _local_median(values: Features, reach: int) -> Features:
    """Take the median of (T, K) values over ±`reach` frames, leaving NaN out; NaN where nothing is left."""
    blank = np.full((reach, values.shape[1]), np.nan, dtype=values.dtype)
    around = sliding_window_view(np.concatenate([blank, values, blank]), 2 * reach + 1, axis=0)
    ordered = np.sort(around, axis=-1)  # NaN comes last
    count = np.isfinite(ordered).sum(axis=-1)[..., None]
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(ordered, count // 2, axis=-1)
    return np.asarray(((low + high) * np.float32(0.5))[..., 0])


def _nearest(values: Features, reach: int) -> Features:
    """Fill NaN rows of (T, K) values from the nearest other row within `reach`; the earlier one of two."""
    seen: Mask = np.asarray(np.isfinite(values).all(axis=1))
    if seen.all():
        return values
    before, after = _neighbours(seen)
    index = np.arange(len(values))
    source = np.where(index - before <= after - index, before, after)
    near = (np.abs(source - index) <= reach) & (source >= 0) & (source < len(values))
    filled = np.full_like(values, np.nan)
    filled[near] = values[source[near]]
    return filled


def _fill_gaps(points: Features) -> Features:
    """Bridge runs of up to `GAP_FRAMES` unseen frames in (T, J, 3) points by a straight line, in a copy."""
    filled = points.copy()
    seen = np.isfinite(points[..., 0])
    before, after = _neighbours(seen)
    frame, joint = np.nonzero(~seen & (before >= 0) & (after < len(points)) & (after - before <= GAP_FRAMES + 1))
    start, end = before[frame, joint], after[frame, joint]
    share = ((frame - start) / (end - start)).astype(np.float32)[:, None]
    here, there = points[start, joint], points[end, joint]
    filled[frame, joint] = here + share * (there - here)
    return filled


def _impute_lost_hands(filled: Features, points: Features) -> None:
    """Give lost hands the shape they had or will have within `CARRY_FRAMES`, on the body's wrists; in place.

    Estimators lose hands as they blur; a hand hardly changes in that time, and the body's points say where it is.
    Between two shapes the nearer one counts for more, and what is out of reach for nothing.
    """
    for wrist, hand in zip(WRISTS, (LEFT_HAND, RIGHT_HAND), strict=True):
        location = filled[:, wrist] * np.array([1, 1, 0], np.float32)  # a hand's depth is its own
        is_known = np.isfinite(points[:, hand, 0]).all(axis=1) & np.isfinite(points[:, wrist, 0])
        before, after = _neighbours(is_known)  # as they were seen: what was filled depends on frames farther away
        frame = np.arange(len(points))
        near = [np.maximum(0, 1 / np.maximum(d, 1) - 1 / (CARRY_FRAMES + 1)) for d in (frame - before, after - frame)]
        total = near[0] + near[1]
        is_lost = ~np.isfinite(filled[:, hand, 0]).all(axis=1) & np.isfinite(location[:, 0])
        lost = np.flatnonzero(is_lost & (total > 0))
        carried = np.zeros((len(lost), HAND_POINTS, 3), np.float32)
        for source, weight in zip((before, after), near, strict=True):
            share = (weight[lost] / total[lost]).astype(np.float32)
            used = np.where(share > 0, source[lost], np.where(near[0][lost] > 0, before[lost], after[lost]))
            carried += share[:, None, None] * (points[used][:, hand] - location[used][:, None])
        filled[lost, hand] = carried + location[lost][:, None]


def _neighbours(seen: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the last seen frame up to every place in (T, ...) and the first from it on; far off if none."""
    far = 4 * CONTEXT + len(seen)
    index = np.arange(len(seen)).reshape(-1, *(1,) * (seen.ndim - 1))
    before = np.maximum.accumulate(np.where(seen, index, -far), axis=0)
    after = np.minimum.accumulate(np.where(seen, index, far)[::-1], axis=0)[::-1]
    return before, after


_LEAST = 0.5  # share of what surrounds a place that must be seen for a point to count as seen there


def at_positions(features: NDArray[np.float32], positions: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Read features at fractional frames, linear between frames.

    A point that is seen on one side only stays where it is seen, and counts as seen on the nearer half.

    Args:
        features: (T, J, 4) x, y, z, seen.
        positions: (…,) frames; those outside [0, T - 1] are cut to it.

    Returns:
        (…, J, 4).
    """
    positions = np.clip(positions, 0, len(features) - 1)
    below = np.floor(positions).astype(np.intp)
    above = np.minimum(below + 1, len(features) - 1)
    share = (positions - below).astype(np.float32)[..., None, None]
    first, second = features[below], features[above]
    first_weight, second_weight = (1 - share) * first[..., 3:], share * second[..., 3:]
    weight = first_weight + second_weight
    seen = weight >= _LEAST
    mixed = np.zeros(first.shape, np.float32)
    blend = first[..., :3] * first_weight + second[..., :3] * second_weight
    np.divide(blend, weight, out=mixed[..., :3], where=seen)
    mixed[..., 3:] = seen
    return mixed


CLOCK = 0.15  # the share of plain time, so that time goes on in a hold
JITTER = 0.01  # shoulder widths a frame: where hands hardly move at all, their jitter is not taken for movement
FASTEST = 3.0  # times the mean speed: a leap of the estimator is not the whole sign

_TIPS = np.array([4, 8, 12, 16, 20])


def motion_time(features: NDArray[np.float32], clock: float = CLOCK) -> NDArray[np.float64]:
    """Measure by movement of wrists and fingers how far each frame is.

    Args:
        features: (T, J, C) as `landmarks.features` gives them, of one sign.
        clock: the share of plain time in [0, 1]; 1: plain time.

    Returns:
        (T,) increasing from 0 to 1.
    """
    if len(features) < 2 or clock >= 1:
        return np.linspace(0, 1, len(features))
    speed: NDArray[np.float64] = np.zeros(len(features) - 1)
    for wrist, hand in zip(WRISTS, (LEFT_HAND, RIGHT_HAND), strict=True):
        speed += np.linalg.norm(np.diff(_smooth(features[:, wrist, :2]), axis=0), axis=-1)
        tips = features[:, hand, :2][:, _TIPS] - features[:, hand.start, None, :2]
        seen = features[:, hand.start, 3] > 0
        steps = np.linalg.norm(np.diff(_smooth(tips), axis=0), axis=-1).mean(axis=-1)
        speed += steps * (seen[1:] & seen[:-1])
    pace = clock + (1 - clock) * np.minimum(speed / (speed.mean() + JITTER), FASTEST)
    gone = np.concatenate([[0.0], np.cumsum(pace + 1e-9)])
    return np.asarray(gone / gone[-1])


def frames_at(time: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions in a sign's frames, in [0, T - 1], where it has come to `shares` of it; of the shape of `shares`."""
    return np.asarray(np.interp(shares, time, np.arange(len(time))))


def _smooth(locations: NDArray[np.float32]) -> NDArray[np.float32]:
    """(T, ...) the mean over three frames."""
    padded = np.concatenate([locations[:1], locations, locations[-1:]])
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3, dtype=np.float32)
