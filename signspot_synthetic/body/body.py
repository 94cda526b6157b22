"""The whole body: states of the hands, the face and the sway become all points of a signer in metres."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signspot.landmarks.landmarks import FACE_POINTS
from signspot.types import Segment
from signspot_synthetic.body.gestures import ANGLES, MIRROR, OFFSET, POSITION, TURN
from signspot_synthetic.body.signers import Handedness, Signer
from signspot_synthetic.data import read_table
from signspot_synthetic.geometry import (
    ArmBuild,
    Array,
    Proportions,
    elbow_of,
    hand_joints,
    matrix,
    possible_hand,
    reachable,
    smoothed,
)
from signspot_synthetic.random_streams import named_rng

LIP_POINTS = 40
EARS = np.array([[0.076, 0.0, 0.005], [-0.076, 0.0, 0.005]])  # left and right, from the head's centre
NECK_PIVOT = np.array([0.0, 0.135, 0.02])  # what the head turns about, from its centre

# From the head's centre, between the ears, of a mean adult in metres: x to the image's right, y down, z back.
_POINTS = {
    1: (0.000, 0.022, -0.118),
    4: (0.000, 0.014, -0.122),
    33: (-0.046, -0.022, -0.070),
    133: (-0.016, -0.020, -0.078),
    159: (-0.031, -0.028, -0.083),
    145: (-0.031, -0.017, -0.081),
    70: (-0.055, -0.040, -0.072),
    105: (-0.037, -0.049, -0.089),
    107: (-0.011, -0.043, -0.097),
    10: (0.000, -0.090, -0.090),
    152: (0.000, 0.110, -0.083),
    234: (-0.073, -0.002, -0.022),
}
_PAIRS = {362: 133, 263: 33, 386: 159, 374: 145, 336: 107, 334: 105, 300: 70, 454: 234}
_MOUTH = np.array([0.0, 0.058, -0.099])
_BROWS = [FACE_POINTS.index(point) for point in (70, 105, 107, 336, 334, 300)]
_CHIN = FACE_POINTS.index(152)
_UPPER_LIDS = [FACE_POINTS.index(point) for point in (159, 386)]


@dataclass(frozen=True, slots=True)
class Expression:
    """State of the face, each (T,): lips in shares of their full movement, brows in metres."""

    opening: Array  # of the mouth, 0 shut to 1 wide
    width: Array  # -1 rounded to 1 spread
    protrusion: Array  # of the lips, 0 to 1
    pressing: Array  # of the lips on each other, 0 to 1
    brows: Array  # metres upwards
    lids: Array  # 0 open to 1 shut
    smile: Array | None = None  # metres by which both corners of the mouth rise; None: they stay
    skew: Array | None = None  # metres by which one corner rises and the other falls
    jaw: Array | None = None  # metres by which the chin sinks with shut lips


_TEMPLATE = np.array(
    [(0.0, 0.0, 0.0)] * LIP_POINTS
    + [
        tuple(np.array(_POINTS[_PAIRS[name]]) * MIRROR) if name in _PAIRS else _POINTS[name]
        for name in FACE_POINTS[LIP_POINTS:]
    ]
)


def lips(expression: Expression) -> Array:
    """The 40 lip points (T, 40, 3) from the mouth's centre, of a mean adult: outer below, above, inner below, above."""
    shut = np.zeros_like(expression.opening)
    open_, wide = expression.opening, expression.width
    half = 0.0265 * (1 + 0.20 * wide) * (1 - 0.30 * expression.protrusion) * (1 - 0.10 * open_)
    full = 1 - 0.65 * expression.pressing
    gap = 0.013 * open_  # half of the opening; the lower lip goes further than the upper
    arcs = (
        (11, half, 1.35 * gap + 0.0105 * full, 0.0),
        (9, half, -(0.55 * gap + 0.0088 * full), 0.004),
        (11, half * 0.82, 1.35 * gap + 0.0006, 0.0),
        (9, half * 0.82, -(0.55 * gap + 0.0004), 0.0),
    )
    parts = []
    for count, reach, rise, bow in arcs:
        # Arcs below run from corner to corner; arcs above leave the corners out.
        share = np.linspace(-1, 1, 11)[(11 - count) // 2 : 11 - (11 - count) // 2]
        side = np.sin(share * np.pi / 2)
        arch = 1 - np.abs(side) ** 2.2
        x = reach[:, None] * side
        y = rise[:, None] * arch + bow * np.exp(-((share / 0.16) ** 2)) * full[:, None] * 0.5
        if expression.smile is not None:
            y = y - expression.smile[:, None] * side**2
        if expression.skew is not None:
            y = y - expression.skew[:, None] * side
        z = 0.020 * side**2 - (0.010 * expression.protrusion)[:, None] * (1 - 0.6 * side**2) + shut[:, None]
        parts.append(np.stack([x, y, z], axis=-1))
    return np.concatenate(parts, axis=1)


def face_points(expression: Expression, size: float) -> Array:
    """The face's points (T, P, 3) from the head's centre, in the head's own frame."""
    count = len(expression.opening)
    points = np.broadcast_to(_TEMPLATE, (count, *_TEMPLATE.shape)).copy()
    points[:, :LIP_POINTS] = lips(expression) + _MOUTH
    points[:, _BROWS, 1] -= expression.brows[:, None]
    points[:, _CHIN, 1] += 0.016 * expression.opening
    if expression.jaw is not None:
        points[:, _CHIN, 1] += expression.jaw
    points[:, _UPPER_LIDS, 1] += 0.010 * expression.lids[:, None]
    return points * size


_SHOULDER_GIVES = np.array([0.03, 0.05, 0.05])  # share of a hand's way that its shoulder goes
_HEAD_CENTRE = np.array([0.0, -0.198, -0.005])  # from between the shoulders


@dataclass(frozen=True, slots=True)
class Sway:
    """Slow movement of body and head, each (T, 3) in radians: about x (nodding), y (turning), z (tilting)."""

    torso: Array
    head: Array


@dataclass(frozen=True, slots=True)
class Points:
    """All points of a signer, in metres."""

    body: Array  # (T, 33, 3)
    left_hand: Array  # (T, 21, 3)
    right_hand: Array  # (T, 21, 3)
    face: Array  # (T, P, 3)


def _clear_of_body(points: Array, build: Proportions) -> Array:
    """Distance by which (T, ...) points (T, ..., 3) must come forward to be before chest, neck and face."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    across = np.sqrt(np.clip(1 - (x / (0.66 * build.shoulders)) ** 2, 0, 1))
    chest = np.interp(y, [-0.10, 0.05, build.torso, build.torso + 0.1], [0.0, 0.108, 0.108, 0.10]) * across
    centre = _HEAD_CENTRE[1] * build.head - build.neck
    round_ = 1 - ((x / 0.078) ** 2 + ((y - centre) / 0.118) ** 2) / build.head**2
    face = 0.108 * build.head * np.sqrt(np.clip(round_, 0, 1))
    return np.asarray(np.clip(z + np.maximum(chest, face), 0, 0.12) * (np.maximum(chest, face) > 0))


def arm_points(states: Array, signer: Signer) -> tuple[Array, Array]:
    """One arm, as a right one: (T, 3, 3) shoulder, elbow, wrist, and (T, 21, 3) its hand."""
    build = signer.proportions
    arm = ArmBuild(build.upper_arm, build.forearm, signer.manner.elbows)
    hand = hand_joints(states[:, ANGLES], build.hand)
    frames = matrix(states[:, TURN])
    rest = np.array([-build.shoulders / 2, 0.0, 0.0])
    contact, offset = states[:, POSITION], states[:, OFFSET]
    shoulder = np.broadcast_to(rest, contact.shape).copy()
    raised = contact - [rest[0], 0.35, -0.20]
    shoulder += _SHOULDER_GIVES * raised  # the shoulder goes along with the hand
    for _ in range(2):
        wrist = contact - np.einsum("tij,tj->ti", frames, offset)
        wrist[:, 2] -= smoothed(_clear_of_body(wrist, build), 2)
        wrist = reachable(shoulder, wrist, arm)
        elbow = elbow_of(shoulder, wrist, frames[..., 1], arm)
        frames = possible_hand(elbow, wrist, shoulder, frames)
    turned = np.einsum("tij,tkj->tki", frames, hand)
    deepest = _clear_of_body(turned[:, [4, 8, 9, 12, 16, 20]] + wrist[:, None], build).max(axis=1)
    wrist[:, 2] -= smoothed(deepest, 2)
    wrist = reachable(shoulder, wrist, arm)
    elbow = elbow_of(shoulder, wrist, frames[..., 1], arm)
    return np.stack([shoulder, elbow, wrist], axis=1), turned + wrist[:, None]


def _turns(angles: Array) -> Array:
    """Rotation matrices (T, 3, 3) of small turns (T, 3) about x, then y, then z."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
        [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
        [-sy, sx * cy, cx * cy],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _pose_about(points: Array, pivot: Array, turns: Array) -> Array:
    """Turn points (T, n, 3) about a pivot (3,) by matrices (T, 3, 3)."""
    return np.asarray(np.einsum("tij,tkj->tki", turns, points - pivot) + pivot)


def _head_points(expression: Expression, sway: Sway, build: Proportions) -> tuple[Array, Array]:
    """Face (T, P, 3) and the eleven body points of the head (T, 11, 3)."""
    face = face_points(expression, build.head)
    ears = np.broadcast_to(EARS * build.head, (len(face), 2, 3))
    turned = _pose_about(np.concatenate([face, ears], axis=1), NECK_PIVOT * build.head, _turns(sway.head))
    turned = turned + _HEAD_CENTRE * [1, build.head, build.head] - [0, build.neck, 0]
    face, ears = turned[:, :-2], turned[:, -2:]
    inner_left, outer_left, inner_right, outer_right = (face[:, i] for i in (46, 47, 43, 42))
    mouth_left, mouth_right = face[:, 10], face[:, 0]
    left, right = (inner_left + outer_left) / 2, (inner_right + outer_right) / 2
    eyes = [inner_left, left, outer_left, inner_right, right, outer_right]
    head = np.stack([face[:, 41], *eyes, ears[:, 0], ears[:, 1], mouth_left, mouth_right], axis=1)
    return face, head


def _legs(build: Proportions, count: int) -> Array:
    """Hips, knees, ankles, heels and feet of somebody who stands: (T, 10, 3)."""
    side = build.hips / 2
    rows = [(side, 1.0, 0.0), (side * 0.95, 1.88, -0.01), (side * 0.9, 2.72, 0.03), (side * 0.9, 2.8, 0.06)]
    rows.append((side * 1.1, 2.86, -0.12))
    points = np.array([[s * x, y * build.torso, z] for x, y, z in rows for s in (1, -1)])
    return np.broadcast_to(points, (count, 10, 3))


def assemble(strong: Array, weak: Array, expression: Expression, sway: Sway, signer: Signer) -> Points:
    """Build the signer from the states (T, 30) of both hands, the face and the sway."""
    build, count = signer.proportions, len(strong)
    right, left = (strong, weak) if signer.handedness is Handedness.RIGHT else (weak, strong)
    arms = {"right": arm_points(right, signer), "left": tuple(p * MIRROR for p in arm_points(left, signer))}
    face, head = _head_points(expression, sway, build)
    legs = _legs(build, count)
    body = np.empty((count, 33, 3))
    body[:, :11] = head
    for first, side in ((11, "left"), (12, "right")):
        joints, hand = arms[side]
        body[:, [first, first + 2, first + 4]] = joints
        little, index, thumb = (hand[:, 17] + hand[:, 18]) / 2, (hand[:, 5] + hand[:, 6]) / 2, hand[:, 3]
        body[:, [first + 6, first + 8, first + 10]] = np.stack([little, index, thumb], axis=1)
    upper = np.concatenate([body[:, :23], arms["left"][1], arms["right"][1], face], axis=1)
    hips = np.array([0.0, build.torso, 0.0])
    upper = _pose_about(upper, hips, _turns(sway.torso))
    body[:, :23], body[:, 23:] = upper[:, :23], legs
    return Points(body, upper[:, 23:44], upper[:, 44:65], upper[:, 65:])


# Mouth shapes by name: opening, width, protrusion, pressing; how long against the mean.
_SHAPES: dict[str, list[float]] = {name: values for name, *values in read_table("mouth shapes")}
_LETTERS = {letter: shape for letters, shape in read_table("mouth letters") for letter in letters}
_GROUPS: list[tuple[str, list[str]]] = read_table("mouth letter groups")  # before single letters, the first that fits
_VOWELS = frozenset("aeiou")
REST = np.array(_SHAPES["rest"][:4])
_MOODS = np.array([0.0009, 0.0002, 0.0013])  # metres: how far smile, skew and jaw usually go
_WORD_LEAD = 0.04  # seconds by which the lips begin before the hands
_VISEME = 0.055  # seconds that a viseme needs at least


def visemes(word: str) -> tuple[str, ...]:
    """The mouth shapes of a word, by English spelling; neighbours that look the same are one."""
    text = "".join(c for c in unicodedata.normalize("NFKD", word).lower() if c.isascii() and (c.isalpha() or c == " "))
    shapes: list[str] = []
    for part in text.split():
        shapes += _of_part(part)
    merged = [shape for i, shape in enumerate(shapes) if i == 0 or shape != shapes[i - 1]]
    return tuple(merged)


def _of_part(part: str) -> list[str]:
    mute = part.endswith("e") and part[-2:-1] not in _VOWELS and bool(_VOWELS & set(part[:-1]))
    mouthed: list[str] = []
    place = 0
    while place < len(part):
        group = next(((g, shapes) for g, shapes in _GROUPS if part.startswith(g, place)), None)
        if group is not None:
            mouthed += group[1]
            place += len(group[0])
        else:
            letter = part[place]
            if mute and place == len(part) - 1:
                break
            hard = letter == "c" and part[place + 1 : place + 2] not in ("e", "i", "y")
            mouthed.append("throat" if hard else _LETTERS.get(letter, "rest"))
            place += 1
    return mouthed


def mouth_keys(word: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and shapes of the mouth for a word.

    Returns:
        (n,) the middles of the n visemes as shares of the word's duration, and (n, 4) their opening, width,
        protrusion and pressing.
    """
    shapes = visemes(word) or ("rest",)
    values = np.array([_SHAPES[shape] for shape in shapes])
    ends = np.cumsum(values[:, 4])
    return (ends - values[:, 4] / 2) / ends[-1], values[:, :4]


def slow_noise(count: int, fps: float, rng: np.random.Generator, channels: int, period: float) -> Array:
    """Smooth random movement (T, channels) of about unit size whose fastest part has the given period in seconds."""
    times = np.arange(count) / fps
    rates = rng.uniform(0.15, 1.0, (5, channels)) / period
    sizes = rng.normal(0, 1, (5, channels)) * np.sqrt(2 / 5)
    phases = rng.uniform(0, 2 * np.pi, (5, channels))
    out = np.zeros((count, channels))
    for rate, size, phase in zip(rates, sizes, phases, strict=True):
        out += size * np.sin(2 * np.pi * times[:, None] * rate + phase)
    return out


def draw_sway(count: int, fps: float, signer: Signer, rng: np.random.Generator) -> Sway:
    """Sway of body and head."""
    sway = signer.manner.sway
    torso = slow_noise(count, fps, rng, 3, 1.6) * [0.018, 0.030, 0.014] * sway
    head = slow_noise(count, fps, rng, 3, 1.1) * [0.06, 0.07, 0.045] * sway
    stance = rng.normal(0, 1, 6) * [0.03, 0.04, 0.012, 0.06, 0.06, 0.03]
    return Sway(torso + stance[:3], head + stance[3:])


def followed(sway: Sway, hand: Array) -> Sway:
    """Let body and head follow the strong hand (T, 3) a little: they turn to it and lean with it."""
    way = hand - np.median(hand, axis=0)
    lean = np.stack([-0.05 * way[:, 1] + 0.06 * way[:, 2], -0.12 * way[:, 0], 0.05 * way[:, 0]], axis=-1)
    return Sway(sway.torso + lean, sway.head + 1.5 * lean)


def _mouth(count: int, fps: float, mouthed: Sequence[tuple[str, Segment]]) -> Array:
    """The lips (T, 4) that say words at their times."""
    keys, values = [-1.0], [REST]
    for word, segment in mouthed:
        middles, shapes = mouth_keys(word)
        seconds = max(segment.duration + _WORD_LEAD, _VISEME * len(middles))
        start = max(segment.end - seconds, keys[-1] + 0.04)
        keys.append(max(keys[-1] + 0.02, start - 0.06))
        values.append(REST)
        span = max(segment.end + 0.04 - start, 0.08)
        keys += (start + middles * span).tolist()
        values += list(shapes)
        keys.append(start + span + 0.10)
        values.append(REST)
    times = np.arange(count) / fps
    table = np.array(values)
    return np.stack([np.interp(times, keys, table[:, c]) for c in range(4)], axis=-1)


def draw_expression(
    count: int,
    fps: float,
    mouthed: Sequence[tuple[str, Segment]],
    signer: Signer,
    rng: np.random.Generator,
    *,
    mouth: Array | None = None,
) -> Expression:
    """The face over `count` frames, saying the words of `mouthed` at their segments, or with the lips (T, 4) given.

    Lips that are given are hard to read, and so is the face around them: it smiles and doubts meanwhile.
    """
    restless = rng.spawn(1)[0] if mouth is not None else None
    if mouth is None:
        mouth = REST + (_mouth(count, fps, mouthed) - REST) * min(signer.manner.lips, 1.3)
    drift = slow_noise(count, fps, rng, 3, 1.2)
    mouth[:, 0] = np.clip(mouth[:, 0] + 0.03 * drift[:, 0], 0, 1.2)
    mouth[:, 1] = mouth[:, 1] + 0.08 * drift[:, 1]
    times = np.arange(count) / fps
    blinks = np.cumsum(rng.exponential(3.0, max(2, int(count / fps))))
    lids = np.exp(-(((times[:, None] - blinks) / 0.06) ** 2)).max(axis=1)
    brows = 0.0035 * drift[:, 2]
    moods = _draw_moods(count, fps, signer, restless) if restless is not None else (None, None, None)
    return Expression(mouth[:, 0], mouth[:, 1], mouth[:, 2], mouth[:, 3], brows, lids, *moods)


def _draw_moods(count: int, fps: float, signer: Signer, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Smiles, skews and sinking of the jaw, each (T,) metres, that have nothing to do with words."""
    size = _MOODS * np.exp(named_rng(signer.habits, "moods").normal(0, 0.4, 3))
    slow, quick = slow_noise(count, fps, rng, 3, 1.0), slow_noise(count, fps, rng, 3, 0.25)
    smile, skew, jaw = (size * (slow + 0.5 * quick)).T
    return smile, skew, jaw
