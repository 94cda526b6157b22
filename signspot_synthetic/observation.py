"""What is seen of a motion: its projection, numbered as MediaPipe does, and the faults of an estimator."""

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import LIP_ARCS, Landmarks
from signspot_synthetic.body.motion import Motion
from signspot_synthetic.body.signers import Camera
from signspot_synthetic.geometry import Array, normalised

_NEAREST = 0.05  # metres: nothing is nearer to the lens


def _axes(camera: Camera) -> tuple[Array, Array]:
    """Position of the camera (3,) and its axes (3, 3) as rows: right, down, forwards."""
    az, el = camera.azimuth, camera.elevation
    aim = np.array([*camera.aim, 0.0])
    way = np.array([np.sin(az) * np.cos(el), -np.sin(el), -np.cos(az) * np.cos(el)])
    forwards = -way
    right = normalised(np.cross(np.array([0.0, 1.0, 0.0]), forwards))
    down = np.cross(forwards, right)
    cos, sin = np.cos(camera.roll), np.sin(camera.roll)
    return aim + camera.distance * way, np.stack([cos * right + sin * down, cos * down - sin * right, forwards])


def project(motion: Motion, camera: Camera, size: tuple[int, int] = (640, 480)) -> Landmarks:
    """See a motion through a camera.

    Args:
        motion: the signer's points in metres.
        camera: where it stands.
        size: width and height of the image in pixels.

    Returns:
        Exact landmarks: every point is there, visibility 1. z is in image widths, negative towards the camera: of
        the body from between the hips, of a hand from its wrist, of the face from its mean.
    """
    width, height = size
    if width < 1 or height < 1:
        raise OptionsError(f"an image has at least 1 × 1 pixel; got {width} × {height}")
    eye, axes = _axes(camera)
    parts = (motion.body, motion.left_hand, motion.right_hand, motion.face)
    everything = np.concatenate(parts, axis=1, dtype=np.float64)
    in_camera = (everything - eye) @ axes.T  # (T, points, 3) right, down, depth
    depth = np.maximum(in_camera[..., 2], _NEAREST)
    focal = camera.distance / camera.height * np.array([height / width, 1.0])
    out = np.empty_like(in_camera)
    out[..., :2] = 0.5 + in_camera[..., :2] / depth[..., None] * focal
    out[..., 2] = in_camera[..., 2] * focal[0]
    bounds = np.cumsum([part.shape[1] for part in parts])[:-1]
    body, left, right, face = np.split(out, bounds, axis=1)
    hips = in_camera[:, 23:25, 2].mean(axis=1)
    head = in_camera[:, bounds[2] :, 2].mean(axis=1)
    for part, origin in ((body, hips), (left, in_camera[:, 33, 2]), (right, in_camera[:, 54, 2]), (face, head)):
        part[..., 2] = (part[..., 2] - origin[:, None] * focal[0]) / np.maximum(origin, _NEAREST)[:, None]
    sure = np.concatenate([body, np.ones((*body.shape[:2], 1))], axis=-1)
    single = [part.astype(np.float32) for part in (sure, left, right, face)]
    return Landmarks(single[0], single[1], single[2], single[3], motion.times, size, motion.face_points)


Mask = NDArray[np.bool_]
Single = NDArray[np.float32]

_SHORT, _LONG = 2.1, 13.5  # mean lengths of short and long misses, in frames at 25 fps
_EDGE = 0.02  # how far inside the image a hand's middle must be


@dataclass(frozen=True, slots=True)
class NoiseOptions:
    """The faults of a landmark estimator, in shoulder widths and frames at 25 fps; `strength` scales all of them."""

    strength: float = 1.0  # of all faults at once; 0 switches them off
    body_jitter: float = 0.0004  # of body points that are still
    body_jitter_motion: float = 0.0035  # more for every shoulder width per second
    hand_jitter: float = 0.0016  # of a still hand as a whole
    hand_jitter_motion: float = 0.0030
    tip_jitter: float = 0.0022  # of fingertips against the wrist; inner joints have less
    tip_jitter_motion: float = 0.0080
    tails: float = 1.1  # how much the size of hand jitter itself varies, in log units
    face_jitter: float = 0.0006
    offset: float = 0.036  # slow errors of body points
    hand_offset: float = 0.012  # slow errors of finger joints
    depth_gain: float = 4.8  # by which the body's depth is exaggerated
    depth_drift: float = 0.35  # slow errors of the body's depth
    depth_jitter: float = 0.022  # of the body's depth
    hand_depth_gain: float = 0.38  # by which the hands' depth is flattened
    drop_rate: float = 0.0035  # still hands that begin to be missed, a frame
    drop_rate_motion: float = 0.007  # more for every shoulder width per second above 1
    drop_long: float = 0.12  # share of misses that last long
    drop_overlap: float = 0.03  # more where hands overlap each other
    duplicate_rate: float = 0.004  # a hand near the other is taken for it, a frame
    swap_rate: float = 0.0015  # near hands that are exchanged, a frame
    face_drop_rate: float = 0.0015  # faces that begin to be missed, a frame
    lip_jitter: float = 1.0  # of each lip point on its own, against other points of the face
    mouth_cover: float = 0.0  # how far the lips behind a hand are guessed: 0 seen as they are, 1 as they mostly are

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and value >= 0):
                raise OptionsError(f"noise option {item.name} must be 0 or more; got {value}")


GLOVED = NoiseOptions(drop_rate=0.006, drop_rate_motion=0.026, drop_long=0.27, drop_overlap=0.05)
"""For coloured gloves, which hide a hand from the estimator more often."""


def for_lips(strength: float, lips: float) -> NoiseOptions:
    """The faults where lips are to be as hard to read as `lips` says; with 0 they are as they always were."""
    return NoiseOptions(strength, lip_jitter=0.35 if lips else 1.0, mouth_cover=lips)


def draw_shivers(count: int, shape: tuple[int, ...], rng: np.random.Generator, memory: float) -> Single:
    """Fast noise (T, *shape) of unit size; each frame remembers a share of the one before."""
    raw = rng.standard_normal((count + 3, *shape), dtype=np.float32)
    weights = np.array([1.0, memory, memory**2, memory**3], np.float32)
    weights /= np.sqrt((weights**2).sum())
    out = raw[3:] * weights[0]
    for back in (1, 2, 3):
        out += raw[3 - back : len(raw) - back] * weights[back]
    return np.asarray(out, dtype=np.float32)


def slow_drift(count: int, shape: tuple[int, ...], rng: np.random.Generator, rate: float) -> Single:
    """Slow noise (T, *shape) of unit size that goes over to another value about `rate` times per frame."""
    step = max(2, round(1 / max(rate, 1e-3)))
    knots = count // step + 3
    values = rng.standard_normal((knots, *shape), dtype=np.float32)
    place = np.arange(count) / step + float(rng.random())
    first = place.astype(int)
    share = (place - first).astype(np.float32).reshape(-1, *([1] * len(shape)))
    share = share * share * (3 - 2 * share)
    mixed = values[first] * (1 - share) + values[first + 1] * share
    return np.asarray(mixed / np.sqrt(share**2 + (1 - share) ** 2))


@dataclass(frozen=True, slots=True)
class Dropouts:
    """Faults in each frame, all (T,)."""

    left: Mask  # the left hand is missed
    right: Mask
    face: Mask
    left_is_right: Mask  # the left hand shows the right one
    right_is_left: Mask


def draw_runs(odds: NDArray[np.floating], mean_length: float, rng: np.random.Generator) -> Mask:
    """Runs (T,) that begin with the given odds a frame and last about `mean_length` frames."""
    count = len(odds)
    begins = np.flatnonzero(rng.random(count) < odds)
    lasts = rng.geometric(1 / max(mean_length, 1.0), len(begins))
    edges = np.zeros(count + 1, int)
    np.add.at(edges, begins, 1)
    np.add.at(edges, np.minimum(begins + lasts, count), -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)


def _speed(points: Single, unit: Single, fps: float) -> Single:
    """Speed (T,) of a track (T, 2) in shoulder widths per second."""
    if len(points) < 2:
        return np.zeros(len(points), np.float32)
    step = np.gradient(points / unit[:2], axis=0)
    return np.asarray(np.hypot(step[:, 0], step[:, 1]) * fps, dtype=np.float32)


def _unseen(hand: Single, rng: np.random.Generator) -> Mask:
    """Frames (T,) in which most of a hand is outside the image."""
    xy = hand[..., :2]
    outside = ((xy < _EDGE) | (xy > 1 - _EDGE)).any(axis=-1).mean(axis=1)
    return np.asarray(outside + 0.08 * rng.standard_normal(len(hand)) > 0.55)


def draw_dropouts(landmarks: Landmarks, unit: Single, rng: np.random.Generator, noise: NoiseOptions) -> Dropouts:
    """Draw all misses: more of them where hands are fast, edge-on, overlapping or leaving the image."""
    pace, s = 25.0 / landmarks.fps, noise.strength
    left, right = landmarks.left_hand, landmarks.right_hand
    middle = {name: hand[:, [0, 5, 17], :2].mean(axis=1) for name, hand in (("left", left), ("right", right))}
    apart = (middle["left"] - middle["right"]) / unit[:2]
    near = np.hypot(apart[:, 0], apart[:, 1]) < 0.35
    missed, unseen = {}, {}
    for name, hand in (("left", left), ("right", right)):
        fast = np.maximum(_speed(middle[name], unit, landmarks.fps) - 1, 0)
        odds = noise.drop_rate * (1 + 1.5 * _edge_on(hand, unit)) + noise.drop_rate_motion * fast
        odds = odds + np.where(near, noise.drop_overlap, 0.0)
        short = draw_runs(odds * (1 - noise.drop_long) * pace * s, _SHORT / pace, rng)
        long = draw_runs(odds * noise.drop_long * pace * s, _LONG / pace, rng)
        missed[name], unseen[name] = short | long, _unseen(hand, rng)
    mixed = near & ~unseen["left"] & ~unseen["right"]
    doubled = draw_runs(np.where(near, noise.duplicate_rate * 5, 0.0) * pace * s, 4 / pace, rng) & mixed
    swapped = draw_runs(np.where(near, noise.swap_rate * 5, 0.0) * pace * s, 3 / pace, rng) & mixed
    first = rng.random() < 0.5
    return Dropouts(
        left=(missed["left"] & ~doubled) | unseen["left"],
        right=(missed["right"] & ~doubled) | unseen["right"],
        face=draw_runs(np.full(len(landmarks), noise.face_drop_rate * pace * s), 5 / pace, rng),
        left_is_right=(doubled if first else np.zeros_like(doubled)) | swapped,
        right_is_left=(np.zeros_like(doubled) if first else doubled) | swapped,
    )


def _edge_on(hand: Single, unit: Single) -> Single:
    """Share of the palm that is not seen (T,): 0 flat before the camera to 1 edge-on."""
    across, along = (((hand[:, a] - hand[:, b]) / unit)[:, :2] for a, b in ((5, 17), (9, 0)))
    area = np.abs(across[:, 0] * along[:, 1] - across[:, 1] * along[:, 0])
    return np.asarray(np.clip(1 - area / 0.045, 0, 1))


_HIPS_DOWN = slice(23, 33)
_LIPS = slice(0, sum(map(len, LIP_ARCS)))
_COVERS = 0.13  # shoulder widths from the mouth's middle to a point of a hand: nearer ones hide the lips
_LOOSE = np.ones(33, np.float32)  # how much more a body point wanders than the head
_LOOSE[11:13], _LOOSE[13:15], _LOOSE[15:23], _LOOSE[_HIPS_DOWN] = 1.0, 1.6, 2.2, 2.0
_ALONG_FINGER = np.array([0, 0.35, 0.6, 0.8, 1.0, *([0.62, 0.75, 0.9, 1.05] * 4)], np.float32)
_VISIBLE = np.full(33, 9.0, np.float32)  # log odds of being seen, inside the frame
_VISIBLE[13:15], _VISIBLE[15:23], _VISIBLE[_HIPS_DOWN] = 3.9, 3.1, 2.0
_HIDDEN = np.full(33, 14.0, np.float32)  # log odds lost for every image height beyond a little inside the edge
_HIDDEN[13:23], _HIDDEN[_HIPS_DOWN] = 12.0, 22.0


@dataclass(frozen=True, slots=True)
class _Scene:
    """Exact landmarks with the units that noise is measured in."""

    landmarks: Landmarks
    unit: Single  # (3,) one shoulder width in x, y and z of the image
    pace: float  # frames at 25 fps that one frame stands for

    def speed(self, points: Single) -> Single:
        """Speeds (T, n) of points (T, n, 3), in shoulder widths per second."""
        if len(points) < 2:
            return np.zeros(points.shape[:2], np.float32)
        steps = np.gradient(points[..., :2] / self.unit[:2], axis=0)
        return np.asarray(np.sqrt((steps**2).sum(axis=-1)) * self.landmarks.fps, dtype=np.float32)


def _measure_scene(landmarks: Landmarks) -> _Scene:
    across = (landmarks.body[:, 11, :2] - landmarks.body[:, 12, :2]) * [landmarks.aspect, 1.0]
    width = max(float(np.median(np.hypot(across[:, 0], across[:, 1]))), 1e-3)
    unit = np.array([width / landmarks.aspect, width, width / landmarks.aspect], np.float32)
    return _Scene(landmarks, unit, 25.0 / landmarks.fps)


def _outside(points: Single, inset: float = 0.0) -> Single:
    """Distance of (T, n) points outside the image less an inset, in image sizes."""
    xy = points[..., :2]
    return np.asarray(np.maximum(np.maximum(inset - xy, xy - 1 + inset), 0).max(axis=-1))


def _observe_body(scene: _Scene, rng: np.random.Generator, noise: NoiseOptions) -> Single:
    exact, s = scene.landmarks.body, noise.strength
    count = len(exact)
    body = exact.copy()
    speed = scene.speed(exact)
    speed = speed + 0.2 * speed[:, 15:17].max(axis=1, keepdims=True)  # one fast hand unsettles the whole body
    outside = _outside(exact)
    size = (noise.body_jitter + noise.body_jitter_motion * 0.3 * speed) * _LOOSE**0.5
    size = size * (1 + 6 * outside)
    slow = slow_drift(count, (33, 2), rng, scene.pace * 0.04) * (noise.offset * _LOOSE[:, None] * 0.6)
    slow *= (1 + 8 * outside)[..., None]
    shaking = draw_shivers(count, (33, 2), rng, 0.35) * size[..., None]
    body[..., :2] += s * (slow + shaking) * scene.unit[:2]
    body[..., 2] = _body_depth(scene, speed, rng, noise)
    doubt = _VISIBLE - _HIDDEN * _outside(exact, inset=0.1)
    doubt = doubt + 0.8 * slow_drift(count, (33,), rng, scene.pace * 0.08) * s
    sure = 1 / (1 + np.exp(-np.maximum(doubt, -60)))  # far outside, more doubt changes nothing
    body[..., 3] = 1 - s + s * sure if s < 1 else sure
    return body


def _body_depth(scene: _Scene, speed: Single, rng: np.random.Generator, noise: NoiseOptions) -> Single:
    """The body's depth (T, 33): exaggerated, leaning, drifting and trembling."""
    exact, s = scene.landmarks.body[..., 2], noise.strength
    count = len(exact)
    gain = 1 + (noise.depth_gain - 1) * s * float(np.exp(rng.normal(0, 0.12)))
    lean = np.zeros(33, np.float32)
    lean[:23] = -0.75 * float(np.exp(rng.normal(0, 0.5)))  # the upper body always seems to lean to the camera
    common = slow_drift(count, (1,), rng, scene.pace * 0.03) * 0.6
    of_points = slow_drift(count, (33,), rng, scene.pace * 0.05) * _LOOSE * 0.35
    size = noise.depth_jitter * (1 + 0.7 * speed) * _LOOSE**0.5
    shaking = draw_shivers(count, (33,), rng, 0.5) * size
    drift = noise.depth_drift * (common * (lean != 0) + of_points)
    return np.asarray(exact * gain + s * scene.unit[2] * (lean + drift + shaking), dtype=np.float32)


def _observe_hand(exact: Single, scene: _Scene, rng: np.random.Generator, noise: NoiseOptions) -> Single:
    """A hand (T, 21, 3) with jitter: as a whole, and more towards the fingertips."""
    s, count = noise.strength, len(exact)
    speed = scene.speed(exact)
    lasting = np.exp(noise.tails * slow_drift(count, (1,), rng, scene.pace * 0.25) * s)
    whole = (noise.hand_jitter + noise.hand_jitter_motion * 0.5 * speed[:, :1]) * lasting
    tips = (noise.tip_jitter + noise.tip_jitter_motion * 0.5 * speed) * lasting * _ALONG_FINGER
    hand = exact.copy()
    shaking = draw_shivers(count, (1, 3), rng, 0.3) * whole[..., None]
    shaking = shaking + draw_shivers(count, (21, 3), rng, 0.3) * tips[..., None]
    shaking[..., 2] *= 1.5
    slow = slow_drift(count, (21, 3), rng, scene.pace * 0.06) * (noise.hand_offset * _ALONG_FINGER[:, None])
    gain = 1 + (noise.hand_depth_gain - 1) * min(s, 1.0)
    bias = -0.045 * s * _ALONG_FINGER
    hand[..., 2] = exact[..., 2] * gain + bias * scene.unit[2]
    hand += s * (slow + shaking) * scene.unit
    hand[:, 0, 2] = 0.0
    return hand


def _observe_face(scene: _Scene, rng: np.random.Generator, noise: NoiseOptions) -> Single:
    exact, count = scene.landmarks.face, len(scene.landmarks)
    speed = scene.speed(scene.landmarks.body[:, :1])
    size = noise.face_jitter + 0.003 * speed
    whole = draw_shivers(count, (1, 3), rng, 0.3) * size[..., None]
    of_points = draw_shivers(count, (exact.shape[1], 3), rng, 0.3) * size[..., None] * 0.6
    slow = slow_drift(count, (1, 3), rng, scene.pace * 0.05) * 0.006
    of_points[:, _LIPS] *= noise.lip_jitter
    if noise.mouth_cover:
        exact = _cover_mouth(scene, rng.spawn(1)[0], min(1.0, noise.mouth_cover * noise.strength))
    return np.asarray(exact + noise.strength * (whole + of_points + slow) * scene.unit, dtype=np.float32)


def _cover_mouth(scene: _Scene, rng: np.random.Generator, share: float) -> Single:
    """The face (T, P, 3) with lips that are guessed where a hand is before them: as they mostly are, and trembling."""
    face, marks = scene.landmarks.face.copy(), scene.landmarks
    mouth = face[:, _LIPS].mean(axis=1)
    hands = np.concatenate([marks.left_hand, marks.right_hand], axis=1)
    away = (hands - mouth[:, None])[..., :2] / scene.unit[:2]
    near = np.hypot(away[..., 0], away[..., 1]).min(axis=1)
    hidden = share * np.clip((_COVERS - near) / 0.03 + 0.5, 0, 1)[:, None, None]
    lips = face[:, _LIPS] - mouth[:, None]
    guess = np.median(lips, axis=0) + draw_shivers(len(face), lips.shape[1:], rng, 0.6) * 0.004 * scene.unit
    face[:, _LIPS] = mouth[:, None] + lips + hidden * (guess - lips)
    return face


def observe(landmarks: Landmarks, rng: np.random.Generator, noise: NoiseOptions | None = None) -> Landmarks:
    """See exact landmarks as an estimator does: with jitter, misses, mix-ups and wrong depth.

    Args:
        landmarks: exact ones, of at least 1 frame.
        rng: this observation's chance.
        noise: the faults; the default is for bare hands.

    Returns:
        Landmarks of the same frames; NaN where a hand or the face is missed.
    """
    noise = noise or NoiseOptions()
    if noise.strength == 0 or not len(landmarks):
        return landmarks
    scene = _measure_scene(landmarks)
    body = _observe_body(scene, rng, noise)
    left = _observe_hand(landmarks.left_hand, scene, rng, noise)
    right = _observe_hand(landmarks.right_hand, scene, rng, noise)
    face = _observe_face(scene, rng, noise)
    missed = draw_dropouts(landmarks, scene.unit, rng, noise)
    twice = missed.left_is_right[:, None, None], missed.right_is_left[:, None, None]
    left, right = np.where(twice[0], right, left), np.where(twice[1], left, right)
    left[missed.left], right[missed.right], face[missed.face] = np.nan, np.nan, np.nan
    return Landmarks(body, left, right, face, landmarks.times, landmarks.size, landmarks.face_points)
