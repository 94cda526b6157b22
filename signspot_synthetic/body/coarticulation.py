"""Coarticulation of signs in a stream: they are made smaller, lower and towards their neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from signspot_synthetic.body.gestures import POSITION, TURN, Gesture, SignToken
from signspot_synthetic.body.signers import Signer
from signspot_synthetic.geometry.rotations import Array, aligned, normalised, slerp
from signspot_synthetic.knobs import Knobs
from signspot_synthetic.language.phonology import Hands, Local, PathKind

_STROKE = {PathKind.NONE: 0.42, PathKind.CIRCLE: 0.60, PathKind.ARC: 0.58, PathKind.ZIGZAG: 0.80}
_AGAIN = {PathKind.CIRCLE: 0.50}
SPEED_RANGE = (1.5, 3.0)  # of continuous signing against the dictionary's
_DROP_REPETITION = 0.75  # how often a repetition is dropped
_SHRINK = 0.28  # of a path
_DROP_WEAK = 0.12  # how often a two-handed sign is made with one hand
_LOWER = 0.45  # of the height above the chest, at most
_ASSIMILATE = 0.16  # of the way to the neighbours' place and shape
_BLUR = 0.036  # seconds: standard deviation of the smoothing of all movement


@dataclass(frozen=True, slots=True)
class Span:
    """Time of a token's stroke, in seconds, with the holds before and after its movement."""

    start: float
    end: float
    hold_before: float
    hold_after: float


def movement_seconds(token: SignToken) -> float:
    """Seconds that the movement of a sign takes at dictionary speed."""
    sign = token.sign
    if sign.letters:
        return 0.26 * len(sign.letters)
    kind, again = sign.path.kind, token.strong.repetition - 1
    seconds = _STROKE.get(kind, 0.50) + again * _AGAIN.get(kind, 0.45)
    if kind is PathKind.NONE and sign.local is not Local.NONE:
        seconds += 0.22
    return seconds * sign.detail.weight


def holds_seconds(token: SignToken) -> tuple[float, float]:
    """Seconds that a sign is held before and after its movement at dictionary speed."""
    still = not token.sign.moves
    return (0.12, 0.42 if still else 0.20)


def draw_speed(signer: Signer, rng: np.random.Generator, knobs: Knobs) -> float:
    """Speed of one sign in continuous signing against the dictionary's."""
    low, high = SPEED_RANGE
    speed = float(np.clip(1.95 * signer.tempo * np.exp(rng.normal(0, 0.14)), low, high))
    return float(speed**knobs.speed)


def draw_stroke(token: SignToken, speed: float, hold_share: float, signer: Signer, rng: np.random.Generator) -> Span:
    """The stroke of one token, begun at 0: movement and holds, made faster by `speed`, holds cut to `hold_share`."""
    chance = np.exp(signer.precision.timing * rng.normal(0, 1, 2))
    movement = movement_seconds(token) / speed * float(chance[0])
    before, after = (h * hold_share / speed * float(chance[1]) for h in holds_seconds(token))
    return Span(0.0, before + movement + after, before, after)


def way_seconds(start: Array, end: Array, speed: float) -> float:
    """Seconds of the hand's way from one state to another: longer for longer ways, but less than proportionally."""
    distance = float(np.linalg.norm(end[POSITION] - start[POSITION]))
    return float((0.16 + 0.62 * distance**0.7) / speed**0.85)


def reduce_token(token: SignToken, knobs: Knobs, rng: np.random.Generator) -> SignToken:
    """Make a token as it is made in passing: fewer repetitions, smaller, lower, perhaps with one hand."""
    reduction, drop, lowering = (knobs.coarticulated(name) for name in ("reduction", "weak_drop", "lowering"))
    chance = rng.random(6)
    left = token.strong.repetition
    for draw in chance[: left - 1]:
        left -= int(draw < _DROP_REPETITION * reduction)
    shrink = 1 / (1 + _SHRINK * reduction * 2 * chance[3])
    lower = _LOWER * lowering * chance[5]
    strong = _smaller(token.strong, left, shrink, lower)
    weak = token.weak if token.weak is None or token.base else _smaller(token.weak, left, shrink, lower)
    if token.sign.hands is Hands.SYMMETRIC and chance[4] < _DROP_WEAK * drop:
        weak = None
    return SignToken(token.sign, strong, weak, token.base)


def _smaller(gesture: Gesture, repetition: int, shrink: float, lower: float) -> Gesture:
    """A gesture with fewer repetitions and a smaller path, moved down in proportion to its height."""
    height = max(0.0, 0.05 - float(gesture.place[1]))  # above the chest; y is down
    place = gesture.place + np.array([0.0, height * lower, 0.0])
    return replace(gesture, repetition=repetition, size=gesture.size * shrink, place=place)


def assimilate(tokens: Sequence[SignToken], knobs: Knobs) -> list[SignToken]:
    """Move every token's place, turn and shape a little towards those before and after it."""
    share = min(0.6, _ASSIMILATE * knobs.coarticulated("assimilation"))
    if share == 0 or len(tokens) < 2:
        return list(tokens)
    out = []
    for i, token in enumerate(tokens):
        before, after = tokens[max(i - 1, 0)].strong, tokens[min(i + 1, len(tokens) - 1)].strong
        wanted = (before.place + after.place) / 2 - token.strong.place
        moved = np.clip(share * wanted, -0.05, 0.05)
        strong = _drawn(token.strong, before, after, share)
        weak = token.weak
        if weak is not None and not token.base:
            weak = replace(weak, place=weak.place + moved * [0.0, 1.0, 1.0])
        out.append(replace(token, strong=replace(strong, place=strong.place + moved), weak=weak))
    return out


def _drawn(gesture: Gesture, before: Gesture, after: Gesture, share: float) -> Gesture:
    """A gesture whose turn and shapes are drawn towards its neighbours'."""
    if len(gesture.turns) > 1:  # fingerspelling keeps its letters
        return gesture
    shapes = gesture.shapes.copy()
    shapes[0] += share * (before.shapes[-1] - shapes[0])
    shapes[-1] += share * (after.shapes[0] - shapes[-1])
    part = np.array(share / 2)
    turn = slerp(slerp(gesture.turn, before.turns[-1], part), after.turns[0], part)
    return replace(gesture, shapes=shapes, turn=turn, turns=turn[None])


def blur(states: Array, seconds: float, fps: float) -> Array:
    """Smooth the states of a hand (T, 30) over time by a Gaussian: short movements undershoot."""
    sigma = seconds * fps
    if sigma < 0.05:
        return states
    reach = max(1, int(np.ceil(3 * sigma)))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    states = states.copy()
    states[:, TURN] = aligned(states[:, TURN])
    padded = np.pad(states, ((reach, reach), (0, 0)), mode="edge")
    out = np.zeros_like(states)
    for step, weight in enumerate(kernel):
        out += weight * padded[step : step + len(states)]
    out[:, TURN] = normalised(out[:, TURN])
    return out


def blur_seconds(knobs: Knobs) -> float:
    """Strength of the smoothing of continuous movement, in seconds."""
    return _BLUR * knobs.coarticulated("undershoot")
