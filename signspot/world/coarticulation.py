"""What happens to signs in a stream: they are made smaller, lower and towards their neighbours."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from signspot.world.gestures import TURN, Gesture, Token
from signspot.world.knobs import Knobs
from signspot.world.phonology import Hands, Local
from signspot.world.rotations import Array, aligned, normalised

_DROP_REPETITION = 0.75  # how often a repetition is dropped
_SHRINK = 0.28  # of a path
_DROP_WEAK = 0.12  # how often a two-handed sign is made with one hand
_LOWER = 0.25  # of the height above the chest
_ASSIMILATE = 0.16  # of the way to the neighbours' place and shape
_BLUR = 0.036  # seconds: standard deviation of the smoothing of all movement


def reduce_token(token: Token, knobs: Knobs, rng: np.random.Generator) -> Token:
    """Make a token as it is made in passing: fewer repetitions, smaller, lower, perhaps with one hand."""
    reduction, drop, lowering = (knobs.coarticulated(n) for n in ("reduction", "weak_drop", "lowering"))
    chance = rng.random(5)
    left = token.strong.repetition
    for draw in chance[: left - 1]:
        left -= int(draw < _DROP_REPETITION * reduction)
    shrink = 1 / (1 + _SHRINK * reduction * 2 * chance[3])
    strong = _smaller(token.strong, left, shrink, _LOWER * lowering)
    weak = token.weak and (token.weak if token.base else _smaller(token.weak, left, shrink, _LOWER * lowering))
    if token.sign.hands is Hands.SYMMETRIC and chance[4] < _DROP_WEAK * drop:
        weak = None
    return Token(token.sign, strong, weak, token.base)


def _smaller(gesture: Gesture, repetition: int, shrink: float, lower: float) -> Gesture:
    """A gesture with fewer repetitions and a smaller path, moved down in proportion to its height."""
    height = min(0.0, float(gesture.place[1]) - 0.05)  # above the chest, y is down
    place = gesture.place + np.array([0.0, -height * lower * 0.35, 0.0])
    alternating = gesture.phase != 0 and repetition == 1 and gesture.local is Local.NONE
    return replace(
        gesture,
        repetition=repetition,
        size=gesture.size * shrink,
        place=place,
        phase=0.5 if alternating else gesture.phase,
    )


def assimilate(tokens: Sequence[Token], knobs: Knobs) -> list[Token]:
    """Move every token's place and shape a little towards those before and after it."""
    share = min(0.6, _ASSIMILATE * knobs.coarticulated("assimilation"))
    if share == 0 or len(tokens) < 2:
        return list(tokens)
    out = []
    for i, token in enumerate(tokens):
        near = [tokens[j].strong for j in (i - 1, i + 1) if 0 <= j < len(tokens)]
        place = np.mean([g.place for g in near], axis=0)
        before, after = near[0].shapes[-1], near[-1].shapes[0]
        shapes = token.strong.shapes.copy()
        if not token.sign.letters:
            shapes[0] += share * (before - shapes[0])
            shapes[-1] += share * (after - shapes[-1])
        moved = np.clip(share * (place - token.strong.place), -0.05, 0.05)
        out.append(replace(token, strong=replace(token.strong, place=token.strong.place + moved, shapes=shapes)))
    return out


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
    """How strongly continuous movement is smoothed."""
    return _BLUR * knobs.coarticulated("undershoot")
