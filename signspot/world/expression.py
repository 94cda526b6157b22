"""What face and trunk do meanwhile: lips that say words, brows, blinks, and the sway of body and head."""

from collections.abc import Sequence

import numpy as np

from signspot.timeline import Segment
from signspot.world.body import Sway
from signspot.world.face import Expression
from signspot.world.rotations import Array
from signspot.world.signers import Signer
from signspot.world.visemes import REST, mouth_keys

_WORD_LEAD = 0.04  # seconds by which the lips begin before the hands
_VISEME = 0.055  # seconds that a viseme needs at least


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
    count: int, fps: float, mouthed: Sequence[tuple[str, Segment]], signer: Signer, rng: np.random.Generator
) -> Expression:
    """The face over `count` frames, saying the words of `mouthed` at their segments."""
    mouth = REST + (_mouth(count, fps, mouthed) - REST) * min(signer.manner.lips, 1.3)
    drift = slow_noise(count, fps, rng, 3, 1.2)
    mouth[:, 0] = np.clip(mouth[:, 0] + 0.03 * drift[:, 0], 0, 1.2)
    mouth[:, 1] = mouth[:, 1] + 0.08 * drift[:, 1]
    times = np.arange(count) / fps
    blinks = np.cumsum(rng.exponential(3.0, max(2, int(count / fps))))
    lids = np.exp(-(((times[:, None] - blinks) / 0.06) ** 2)).max(axis=1)
    brows = 0.0035 * drift[:, 2]
    return Expression(mouth[:, 0], mouth[:, 1], mouth[:, 2], mouth[:, 3], brows, lids)
