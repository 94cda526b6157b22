"""Signing as movement in space: isolated signs of a dictionary and co-articulated streams of signs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from signspot.errors import OptionsError
from signspot.landmarks.landmarks import FACE_POINTS
from signspot.types import Segment
from signspot_synthetic.body.body import Points, assemble, draw_expression, draw_sway, followed
from signspot_synthetic.body.gestures import (
    ANGLES,
    MIRROR,
    POSITION,
    STATE,
    TURN,
    Gesture,
    SignToken,
    make_token,
    minimum_jerk,
    rest_state,
    stroke_states,
)
from signspot_synthetic.body.mouthing import MouthedWord, habits_of, mouth_shapes, say
from signspot_synthetic.body.signers import Handedness, Signer
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.geometry import Array, aligned, frame, matrix, normalised, quaternion, slerp
from signspot_synthetic.language.phonology import Hands, Local, PathKind, Sign

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


def draw_speed(signer: Signer, rng: np.random.Generator, knobs: Knobs) -> float:
    """Speed of one sign in continuous signing against the dictionary's."""
    low, high = SPEED_RANGE
    speed = float(np.clip(1.95 * signer.manner.tempo * np.exp(rng.normal(0, 0.14)), low, high))
    return float(speed**knobs.speed)


def draw_stroke(token: SignToken, speed: float, hold_share: float, signer: Signer, rng: np.random.Generator) -> Span:
    """The stroke of one token, begun at 0: movement and holds, made faster by `speed`, holds cut to `hold_share`."""
    chance = np.exp(signer.precision.timing * rng.normal(0, 1, 2))
    movement = movement_seconds(token) / speed * float(chance[0])
    holds = (0.12, 0.20 if token.sign.moves else 0.42)  # seconds before and after the movement, at dictionary speed
    before, after = (h * hold_share / speed * float(chance[1]) for h in holds)
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
        shift = (before.place + after.place) / 2 - token.strong.place
        moved = np.clip(share * shift, -0.05, 0.05)
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


FPS = 25.0
_STILL = 0.018  # seconds of smoothing that any movement has
Metres = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Motion:
    """A signer's points over time, in metres from between the shoulders at rest.

    x is to the image's right, y down, z away from the camera. Everything is known: nothing is ever missing.
    """

    body: Metres  # (T, 33, 3)
    left_hand: Metres  # (T, 21, 3)
    right_hand: Metres  # (T, 21, 3)
    face: Metres  # (T, P, 3)
    fps: float = FPS
    face_points: tuple[int, ...] = FACE_POINTS

    def __len__(self) -> int:
        return len(self.body)

    @property
    def times(self) -> NDArray[np.float64]:
        """(T,) seconds."""
        return np.arange(len(self)) / self.fps


@dataclass(frozen=True, slots=True)
class _Hold:
    """A stretch of time in which a hand follows `states`; between two of them it goes over smoothly."""

    start: float
    end: float
    states: Callable[[Array], Array]  # seconds since the start (n,) → states (n, 30)


def _still(start: float, end: float, state: Array) -> _Hold:
    return _Hold(start, end, lambda seconds: np.broadcast_to(state, (len(seconds), STATE)))


def _stroke(gesture: Gesture, span: Span) -> _Hold:
    moving = max(span.end - span.start - span.hold_before - span.hold_after, 1e-3)

    def states(seconds: Array) -> Array:
        return stroke_states(gesture, np.clip((seconds - span.hold_before) / moving, 0, 1), moving)

    return _Hold(span.start, span.end, states)


def _follow(holds: Sequence[_Hold], times: Array) -> Array:
    """A hand's states (T, 30) at times (T,): along its holds, and smoothly from each one to the next."""
    starts, ends = np.array([h.start for h in holds]), np.array([h.end for h in holds])
    which = np.clip(np.searchsorted(starts, times, side="right") - 1, 0, len(holds) - 1)
    first = np.stack([h.states(np.zeros(1))[0] for h in holds])
    last = np.stack([h.states(np.array([h.end - h.start]))[0] for h in holds])
    out = np.empty((len(times), STATE))
    edges = np.searchsorted(which, np.arange(len(holds) + 1))
    for i, hold in enumerate(holds):
        part = slice(edges[i], edges[i + 1])
        if edges[i + 1] > edges[i]:
            out[part] = hold.states(np.minimum(times[part], hold.end) - hold.start)
    between = (times > ends[which]) & (which < len(holds) - 1)
    here = which[between]
    share = (times[between] - ends[here]) / np.maximum(starts[here + 1] - ends[here], 1e-6)
    out[between] = _over(last[here], first[here + 1], share)
    return out


def _over(start: Array, end: Array, share: Array) -> Array:
    """States (n, 30) on the way from `start` to `end` (n, 30); the handshape is ready before the hand arrives."""
    smooth, early = minimum_jerk(share), minimum_jerk(share * 1.25)
    out = start + smooth[:, None] * (end - start)
    out[:, ANGLES] = start[:, ANGLES] + early[:, None] * (end[:, ANGLES] - start[:, ANGLES])
    out[:, TURN] = _turning(start[:, TURN], end[:, TURN], minimum_jerk(share * 1.1))
    distance = np.linalg.norm(end[:, POSITION] - start[:, POSITION], axis=1)
    out[:, 2] -= 0.10 * distance * np.sin(np.pi * smooth)  # a way leads a little before the body
    return out


def _turning(start: Array, end: Array, share: Array) -> Array:
    """Turns (n, 4) from `start` to `end`; far turns go by way of a hand that points forth, as forearms do."""
    before, after = matrix(start), matrix(end)
    forth, down = np.array([0.1, -0.2, -0.9]), np.array([0.3, 0.5, 0.0])
    via = quaternion(frame(before[..., 1] + after[..., 1] + 0.9 * forth, before[..., 2] + after[..., 2] + 0.7 * down))
    far = np.clip((np.arccos(np.clip(np.abs((start * end).sum(axis=-1)), 0, 1)) - 0.6) / 0.5, 0, 1)
    bowed = slerp(slerp(start, via, share), slerp(via, end, share), share)
    return slerp(slerp(start, end, share), bowed, far)


def _first_state(gesture: Gesture) -> Array:
    return np.asarray(stroke_states(gesture, np.zeros(1), 1.0)[0])


def _last_state(gesture: Gesture) -> Array:
    return np.asarray(stroke_states(gesture, np.ones(1), 1.0)[0])


def _finish(
    strong: Array,
    weak: Array,
    signer: Signer,
    rng: np.random.Generator,
    mouthed: Sequence[tuple[str, Segment]],
    fps: float,
    lips: float = 0.0,
) -> Motion:
    """Add face and sway and build the body."""
    count, mouth = len(strong), None
    if lips:  # as hard to read as that says, by chance of their own: hands and body stay as they are
        lip_rng, habits = rng.spawn(1)[0], habits_of(signer, min(lips, 1.5))
        words = [say(word, segment, habits, lip_rng) for word, segment in mouthed]
        mouth = mouth_shapes(count, fps, words, habits, lip_rng)
    expression = draw_expression(count, fps, mouthed, signer, rng, mouth=mouth)
    sway = draw_sway(count, fps, signer, rng)
    sway = followed(
        sway, strong[:, POSITION] if signer.handedness is Handedness.RIGHT else strong[:, POSITION] * MIRROR
    )
    return _in_single(assemble(strong, weak, expression, sway, signer), fps)


def _in_single(points: Points, fps: float) -> Motion:
    """Points as a motion, in single precision."""
    body, left, right, face = (
        part.astype(np.float32) for part in (points.body, points.left_hand, points.right_hand, points.face)
    )
    return Motion(body, left, right, face, fps)


def talking(
    words: Sequence[MouthedWord], seconds: float, signer: Signer, rng: np.random.Generator, lips: float = 1.0
) -> Motion:
    """Somebody who mouths words while the hands rest: all that a reader of lips needs, at little cost."""
    count = max(2, round(seconds * FPS))
    strong, weak = (np.tile(rest_state(signer, rng), (count, 1)) for _ in range(2))
    mouth = mouth_shapes(count, FPS, words, habits_of(signer, min(lips, 1.5)), rng)
    expression = draw_expression(count, FPS, (), signer, rng, mouth=mouth)
    points = assemble(strong, weak, expression, draw_sway(count, FPS, signer, rng), signer)
    return _in_single(points, FPS)


def isolated(
    sign: Sign,
    signer: Signer,
    rng: np.random.Generator,
    *,
    word: str = "",
    knobs: Knobs | None = None,
    fps: float = FPS,
) -> tuple[Motion, Segment]:
    """Perform one sign as a dictionary shows it: slowly, from rest to rest.

    Args:
        sign: what to perform.
        signer: who performs it.
        rng: this performance's chance.
        word: what the lips say; nothing if empty.
        knobs: only `precision` matters here.
        fps: frames per second.

    Returns:
        The motion, and the segment of the sign itself, without the ways from and to rest.
    """
    strength = (knobs or Knobs()).precision
    token = make_token(sign, signer, rng, strength)
    rests = rest_state(signer, rng), rest_state(signer, rng)
    pace = 0.95 * signer.manner.tempo * float(np.exp(rng.normal(0, 0.1)))
    span = draw_stroke(token, pace, signer.manner.hold, signer, rng)
    lead, tail = rng.uniform(0.2, 0.6, 2).tolist()
    there = way_seconds(rests[0], _first_state(token.strong), 0.85 * pace)
    back = way_seconds(_last_state(token.strong), rests[0], 0.8 * pace)
    start = lead + there
    end = start + span.end
    total = end + back + tail
    holds = []
    for gesture, rest in ((token.strong, rests[0]), (token.weak, rests[1])):
        before, after = _still(0, lead, rest), _still(end + back, total, rest)
        moved = Span(start, end, span.hold_before, span.hold_after)
        holds.append([before, _stroke(gesture, moved), after] if gesture else [_still(0, total, rest)])
    times = np.arange(max(2, round(total * fps))) / fps
    strong, weak = (blur(_follow(h, times), _STILL, fps) for h in holds)
    segment = Segment(start, end)
    return _finish(strong, weak, signer, rng, [(word, segment)] if word else [], fps), segment


def continuous(
    signs: Sequence[Sign],
    signer: Signer,
    rng: np.random.Generator,
    knobs: Knobs | None = None,
    mouthings: Sequence[str | None] | None = None,
) -> tuple[Motion, list[Segment]]:
    """Perform a stream of signs, co-articulated as the knobs say.

    Args:
        signs: what to perform, in order.
        signer: who performs it.
        rng: this performance's chance.
        knobs: how hard it is to recognise; the default is as in real signing.
        mouthings: what the lips say with each sign; None where they say nothing.

    Returns:
        The motion, and every sign's own segment, without the ways between signs.
    """
    if not signs:
        raise OptionsError("there is nothing to sign: give at least 1 sign")
    if mouthings is not None and len(mouthings) != len(signs):
        raise OptionsError(f"{len(signs)} signs need {len(signs)} mouthings (or None); got {len(mouthings)}")
    knobs = knobs or Knobs()
    tokens = [reduce_token(make_token(s, signer, rng, knobs.precision), knobs, rng) for s in signs]
    tokens = assimilate(tokens, knobs)
    rests = rest_state(signer, rng), rest_state(signer, rng)
    spans, total = schedule(tokens, rests[0], signer, rng, knobs)
    times = np.arange(max(2, round(total * FPS))) / FPS
    strong = _follow(_strong_holds(tokens, spans, rests[0], total), times)
    weak = _follow(_weak_holds(tokens, spans, rests[1], total), times)
    seconds = max(_STILL, _BLUR * knobs.coarticulated("undershoot"))
    segments = [Segment(span.start, span.end) for span in spans]
    words = [(m, s) for m, s in zip(mouthings or [], segments, strict=False) if m]
    hands = blur(strong, seconds, FPS), blur(weak, seconds, FPS)
    return _finish(*hands, signer, rng, words, FPS, knobs.lips), segments


def schedule(
    tokens: Sequence[SignToken], rest: Array, signer: Signer, rng: np.random.Generator, knobs: Knobs
) -> tuple[list[Span], float]:
    """Say when each stroke happens, and when everything is over."""
    now, before = float(rng.uniform(0.2, 0.5)), rest
    hold_share = 1 / (1 + 4 * knobs.coarticulated("reduction"))
    spans = []
    for token in tokens:
        speed = draw_speed(signer, rng, knobs)
        span = draw_stroke(token, speed, hold_share, signer, rng)
        now += way_seconds(before, _first_state(token.strong), speed)
        spans.append(Span(now, now + span.end, span.hold_before, span.hold_after))
        now, before = now + span.end, _last_state(token.strong)
    return spans, now + way_seconds(before, rest, draw_speed(signer, rng, knobs)) + float(rng.uniform(0.2, 0.5))


def _strong_holds(tokens: Sequence[SignToken], spans: Sequence[Span], rest: Array, total: float) -> list[_Hold]:
    first, last = spans[0], spans[-1]
    way = way_seconds(rest, _first_state(tokens[0].strong), 1.6)
    holds = [_still(0, max(0.0, first.start - way), rest)]
    holds += [_stroke(token.strong, span) for token, span in zip(tokens, spans, strict=True)]
    return [*holds, _still(min(last.end + way, total), total, rest)]


def _weak_holds(tokens: Sequence[SignToken], spans: Sequence[Span], rest: Array, total: float) -> list[_Hold]:
    """The weak hand: at rest, or up; between two uses that are near in time it does not go down."""
    holds: list[_Hold] = []
    used = [(t.weak, s) for t, s in zip(tokens, spans, strict=True) if t.weak is not None]
    free = 0.0
    for gesture, span in used:
        way = way_seconds(rest, _first_state(gesture), 1.6)
        if not holds or span.start - free > 2.2 * way:
            down = free + way if holds else 0.0
            holds.append(_still(down, max(down, span.start - way), rest))
        holds.append(_stroke(gesture, span))
        free = span.end
    down = min(free + 0.45, total) if holds else 0.0
    return [*holds, _still(down, total, rest)]
