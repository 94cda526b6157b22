"""How long things take: strokes, holds and the ways between signs, in the dictionary and in continuous signing."""

from dataclasses import dataclass

import numpy as np

from signspot.world.gestures import POSITION, Token
from signspot.world.knobs import Knobs
from signspot.world.phonology import Local, PathKind
from signspot.world.rotations import Array
from signspot.world.signers import Signer

_STROKE = {PathKind.NONE: 0.42, PathKind.CIRCLE: 0.60, PathKind.ARC: 0.58, PathKind.ZIGZAG: 0.80}
_AGAIN = {PathKind.CIRCLE: 0.50}
SPEED_RANGE = (1.5, 3.0)  # of continuous signing against the dictionary's


@dataclass(frozen=True, slots=True)
class Span:
    """When a token's stroke happens, in seconds, with the holds before and after its movement."""

    start: float
    end: float
    hold_before: float
    hold_after: float


def movement_seconds(token: Token) -> float:
    """How long the movement of a sign takes at dictionary speed."""
    sign = token.sign
    if sign.letters:
        return 0.26 * len(sign.letters)
    kind, again = sign.path.kind, token.strong.repetition - 1
    seconds = _STROKE.get(kind, 0.50) + again * _AGAIN.get(kind, 0.45)
    if kind is PathKind.NONE and sign.local is not Local.NONE:
        seconds += 0.22
    return seconds * sign.detail.weight


def holds_seconds(token: Token) -> tuple[float, float]:
    """How long a sign is held before and after its movement at dictionary speed."""
    still = not token.sign.moves
    return (0.12, 0.42 if still else 0.20)


def draw_speed(signer: Signer, rng: np.random.Generator, knobs: Knobs) -> float:
    """Speed of one sign in continuous signing against the dictionary's."""
    low, high = SPEED_RANGE
    speed = float(np.clip(1.95 * signer.tempo * np.exp(rng.normal(0, 0.14)), low, high))
    return float(speed**knobs.speed)


def draw_stroke(token: Token, speed: float, hold_share: float, signer: Signer, rng: np.random.Generator) -> Span:
    """The stroke of one token, begun at 0: movement and holds, made faster by `speed`, holds cut to `hold_share`."""
    chance = np.exp(signer.precision.timing * rng.normal(0, 1, 2))
    movement = movement_seconds(token) / speed * float(chance[0])
    before, after = (h * hold_share / speed * float(chance[1]) for h in holds_seconds(token))
    return Span(0.0, before + movement + after, before, after)


def way_seconds(start: Array, end: Array, speed: float) -> float:
    """How long the hand takes from one state to another: longer for longer ways, but less than proportionally."""
    distance = float(np.linalg.norm(end[POSITION] - start[POSITION]))
    return float((0.16 + 0.62 * distance**0.7) / speed**0.85)
