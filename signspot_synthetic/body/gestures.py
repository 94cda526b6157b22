"""From phonology to numbers: a sign as one signer makes it this time, for each hand.

Everything is expressed for a right hand of a right-handed signer; the weak hand's numbers are its mirror image.
"""

from dataclasses import dataclass, replace

import numpy as np

from signspot_synthetic.body.signers import Signer
from signspot_synthetic.geometry import (
    MEAN,
    ArmBuild,
    Array,
    HandBuild,
    about,
    elbow_of,
    frame,
    hand_joints,
    normalised,
    product,
    quaternion,
    rotate,
    slerp,
)
from signspot_synthetic.language.lexicon import LETTERS, place_outward, turned
from signspot_synthetic.language.phonology import (
    PLACES,
    VECTORS,
    Contact,
    Detail,
    Direction,
    HandOrientation,
    HandPath,
    Hands,
    Local,
    PathKind,
    Place,
    Region,
    Sign,
    joint_angles,
)
from signspot_synthetic.language.phonology import Symmetry as Sym
from signspot_synthetic.random_streams import named_rng

POSITION, TURN, OFFSET, ANGLES = slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 30)
"""A hand's state, 30 numbers: the place of its contact point, its turn (a quaternion), where the contact point is
in the hand's own frame, and its joint angles."""
STATE = 30
MIRROR = np.array([-1.0, 1.0, 1.0])
_FLESH = 0.011  # metres from a joint to the skin
_MEAN_REACH = MEAN.upper_arm + MEAN.forearm
_ON_FOREARM = np.array([0.0, -0.018, -0.024])  # from its bone to its upper front side
_BASE_PLACE = np.array([-0.02, 0.155, -0.27])  # of the weak hand, mirrored
_RESTS: dict[str, tuple[tuple[float, float, float], HandOrientation]] = {
    "sides": ((-0.235, 0.585, -0.03), HandOrientation(Direction.WEAK, Direction.DOWN)),
    "lap": ((-0.085, 0.500, -0.20), HandOrientation(Direction.BACK, Direction.FORTH_WEAK)),
    "front": ((-0.035, 0.385, -0.21), HandOrientation(Direction.BACK, Direction.WEAK)),
}


@dataclass(frozen=True, slots=True)
class Gesture:
    """One hand's part in one token of a sign."""

    place: Array  # (3,) where the contact point is, in metres
    outward: Array  # (3,) away from the body
    turn: Array  # (4,) of the hand
    offset: Array  # (3,) of the contact point in the hand's frame
    shapes: Array  # (n, 20) joint angles: start and end, or one row a letter
    turns: Array  # (n, 4) of the hand; more than one row only for letters
    path: HandPath
    heading: Array  # (3,) direction of the path, or axis of a circle
    aside: Array  # (3,) where arcs and zigzags go
    size: float
    bulge: float
    local: Local
    repetition: int
    on_skin: bool  # the place is on a body, not in space
    phase: float = 0.0  # 0.5: half a cycle behind, for alternating hands


@dataclass(frozen=True, slots=True)
class SignToken:
    """One use of a sign: a gesture a hand; `weak` is None where the weak hand is not used."""

    sign: Sign
    strong: Gesture
    weak: Gesture | None
    base: bool  # the weak hand only holds


@dataclass(frozen=True, slots=True)
class Deviation:
    """Deviation of one token from the sign's ideal form."""

    place: Array  # (3,) metres
    turn: Array  # (3,) a small turn, radians
    shape: Array  # (20,) radians
    size: float  # factor


def deviation(signer: Signer, rng: np.random.Generator, strength: float) -> Deviation:
    """Draw how this token differs from the signer's own usual form."""
    limits = signer.precision
    draws = rng.normal(0, 1, 27) * strength
    return Deviation(
        place=limits.place * draws[:3],
        turn=limits.orientation * draws[3:6],
        shape=limits.shape * draws[6:26],
        size=float(np.exp(limits.size * draws[26])),
    )


def _together(first: Deviation, second: Deviation) -> Deviation:
    return Deviation(
        first.place + second.place, first.turn + second.turn, first.shape + second.shape, first.size * second.size
    )


def contact_offset(contact: Contact, angles: Array, hand: HandBuild) -> Array:
    """Contact point of a hand in its own frame, (3,), for joint angles (20,)."""
    joints = hand_joints(angles[None], hand)[0]
    if contact is Contact.TIPS:
        far = joints[5:, 1].max()
        tips = joints[5:][joints[5:, 1] > far - 0.012]
        return np.asarray(tips.mean(axis=0) + np.array([0, _FLESH * 0.7, 0]))
    palm = joints[[0, 5, 9, 17]].mean(axis=0)
    side = {
        Contact.PALM: (0, 0, _FLESH + max(0.0, float(joints[5:, 2].max()) - 0.02) * 0.5),
        Contact.BACK: (0, 0, -_FLESH),
        Contact.THUMB_SIDE: (0.034 * hand.breadth, 0.02, 0),
        Contact.EDGE: (-0.038 * hand.breadth, 0.01, 0),
    }[contact]
    return np.asarray(palm + np.array(side) * hand.size)


def _bend_limits(angles: Array) -> Array:
    """Keep joint angles (..., 20) within what fingers can do."""
    low = np.radians([5, -12, -15, -20] + [-28, -20, -4, -4] * 4)
    high = np.radians([75, 70, 65, 80] + [28, 95, 112, 80] * 4)
    return np.clip(angles, low, high)


def _heading(sign: Sign, away: Array) -> tuple[Array, Array]:
    """Unit direction of the path and the direction of its bulge, both (3,)."""
    kind = sign.path.kind
    if kind in (PathKind.TO_BODY, PathKind.FROM_BODY):
        heading = -away if kind is PathKind.TO_BODY else away
    else:
        heading = np.array(VECTORS[sign.path.direction], dtype=np.float64)
    lean = np.array(sign.detail.lean)
    heading = normalised(heading + 0.8 * lean)
    other = away if abs(float(away @ heading)) < 0.8 else np.array([0.0, -1.0, 0.0])
    aside = normalised(np.cross(np.cross(heading, other), heading) + 1e-9)
    return heading, aside


def _letters(sign: Sign) -> tuple[Array, Array]:
    """Joint angles (n, 20) and turns (n, 4) of a fingerspelled word."""
    rows = [LETTERS[letter] for letter in sign.letters]
    return np.stack([joint_angles(s) for s, _ in rows]), quaternion(np.stack([turned(o) for _, o in rows]))


def _own_shape(detail: Detail) -> Array:
    """A sign's own additions to the angles (20,) of its handshapes."""
    thumb, *fingers = detail.flex
    fan = detail.fan * np.array([1.0, 0.2, -0.6, -1.2])
    rows = [[side, 0.7 * bend, 0.7 * bend, 0.3 * bend] for side, bend in zip(fan, fingers, strict=True)]
    return np.concatenate([[-thumb, 0.5 * thumb, 0.5 * thumb, 0.5 * thumb], *rows])


def _gesture(sign: Sign, place: Array, away: Array, signer: Signer, off: Deviation) -> Gesture:
    detail = sign.detail
    if sign.letters:
        shapes, turns = _letters(sign)
    else:
        shapes = np.stack([joint_angles(sign.shape), joint_angles(sign.end_shape)])
        turns = quaternion(turned(sign.orientation))[None]
    tilt = np.array(detail.tilt) + off.turn
    size = float(np.linalg.norm(tilt)) + 1e-9
    turns = product(about(tilt / size, size), turns)
    shapes = _bend_limits(shapes + _own_shape(detail) + off.shape)
    heading, aside = _heading(sign, away)
    return Gesture(
        place=place + np.array(detail.shift) + off.place,
        outward=away,
        turn=turns[0],
        offset=contact_offset(sign.contact, shapes[0], signer.proportions.hand),
        shapes=shapes,
        turns=turns,
        path=sign.path,
        heading=heading,
        aside=aside,
        size=detail.size * off.size * signer.manner.space,
        bulge=detail.bulge,
        local=sign.local,
        repetition=sign.repetition,
        on_skin=PLACES[sign.place].region is not Region.SPACE,
    )


def _scaled(point: Array, region: Region, signer: Signer) -> Array:
    """Move a place of the mean adult to this signer's body."""
    build = signer.proportions
    if region is Region.HEAD:
        return np.asarray(point * build.head + [0, -build.neck, 0])
    if region is Region.SPACE:
        reach = (build.upper_arm + build.forearm) / _MEAN_REACH * signer.manner.space
        return np.asarray(point * reach)
    return np.asarray(point * [build.shoulders / MEAN.shoulders, build.torso / MEAN.torso, 1.0])


def _base_gesture(sign: Sign, signer: Signer, off: Deviation) -> Gesture:
    """The base hand, mirrored: it holds its shape."""
    palm, fingers = (np.array(VECTORS[d]) * MIRROR for d in (sign.base_orientation.palm, sign.base_orientation.fingers))
    still = Sign(shape=sign.base_shape, end_shape=sign.base_shape)
    place = _scaled(_BASE_PLACE, Region.SPACE, signer)
    gesture = _gesture(still, place, np.array([0.0, 0, -1]), signer, off)
    turn = product(
        about(normalised(off.turn + 1e-12), float(np.linalg.norm(off.turn))), quaternion(frame(fingers, palm))
    )
    return replace(gesture, turn=turn, turns=turn[None])


def _on_base(base: Gesture, place: Place, signer: Signer) -> Array:
    """A place on the base hand or its forearm, (3,), mirrored as the base hand is."""
    build = signer.proportions
    wrist = base.place - rotate(base.turn, base.offset)
    along = -float(place.point[1]) / MEAN.forearm
    if along <= 0:
        return np.asarray(wrist + rotate(base.turn, place.point * build.hand.size))
    shoulder = np.array([[-build.shoulders / 2, 0.0, 0.0]])
    arm = ArmBuild(build.upper_arm, build.forearm, signer.manner.elbows)
    elbow = elbow_of(shoulder, wrist[None], rotate(base.turn, np.array([0.0, 1.0, 0.0]))[None], arm)[0]
    return np.asarray(wrist + along * (elbow - wrist) + _ON_FOREARM)


def make_token(sign: Sign, signer: Signer, rng: np.random.Generator, strength: float = 1.0) -> SignToken:
    """Work out one use of a sign by a signer: the sign, the signer's usual way with it, and this time's chance."""
    usual = deviation(signer, named_rng(signer.habits, "way", str(sign)), strength)
    off = _together(usual, deviation(signer, rng, strength))
    place = PLACES[sign.place]
    away = place_outward(place, sign.base_orientation)
    if sign.hands is Hands.BASE:
        base = _base_gesture(sign, signer, usual)
        point = _on_base(base, place, signer) * MIRROR
        return SignToken(sign, _gesture(sign, point, away, signer, off), base, base=True)
    point = _scaled(place.point, place.region, signer)
    strong = _gesture(sign, point, away, signer, off)
    if sign.hands is Hands.ONE:
        return SignToken(sign, strong, None, base=False)
    return _two_equal(sign, strong, deviation(signer, rng, 0.5 * strength))


def _two_equal(sign: Sign, strong: Gesture, other: Deviation) -> SignToken:
    """Give the other hand the same to do, with a deviation of its own, and both room beside each other."""
    inward = max(0.0, float(turned(sign.orientation)[0, 1]))  # fingers that point to the other hand need room
    gap = sign.detail.gap + 0.09 * inward
    nearest = -gap if PLACES[sign.place].region is Region.SPACE else -0.03 - 0.05 * inward
    strong = replace(strong, place=np.array([min(strong.place[0], nearest), *strong.place[1:]]))
    weak = replace(
        strong,
        place=strong.place + other.place,
        shapes=_bend_limits(strong.shapes + other.shape),
        phase=0.5 if sign.symmetry is Sym.ALTERNATING else 0.0,
        heading=strong.heading * (MIRROR if sign.symmetry is Sym.PARALLEL else 1.0),
    )
    return SignToken(sign, strong, weak, base=False)


def rest_state(signer: Signer, rng: np.random.Generator) -> Array:
    """A hand at rest, mirrored for the weak one: (30,)."""
    at, orientation = _RESTS[signer.manner.rest]
    build = signer.proportions
    state = np.empty(STATE)
    reach = (build.upper_arm + build.forearm) / _MEAN_REACH
    side = [build.shoulders / MEAN.shoulders, reach, reach]
    state[POSITION] = np.array(at) * side + rng.normal(0, 0.012, 3)
    state[TURN] = quaternion(turned(orientation))
    state[ANGLES] = _bend_limits(joint_angles("relaxed") + rng.normal(0, 0.08, 20))
    state[OFFSET] = contact_offset(Contact.PALM, state[ANGLES], build.hand)
    return state


_RETURN = 0.8  # how long a way back takes against the way itself
_LIFT = 0.22  # how far the hand leaves its way when it goes back, as a share of the path's size
_WIGGLE_RATE, _WIGGLE = 4.5, 0.38  # cycles per second, radians
_TWIST, _NOD = 0.62, 0.5  # radians to either side
_ACROSS = np.array([1.0, 0.0, 0.0])
_ALONG = np.array([0.0, 1.0, 0.0])


def minimum_jerk(share: Array) -> Array:
    """Progress of a smooth movement after a share of its time; both in [0, 1]."""
    s = np.clip(share, 0.0, 1.0)
    return np.asarray(s * s * s * (10 + s * (6 * s - 15)))


def to_and_fro(share: Array, repetition: int) -> tuple[Array, Array]:
    """Progress along a path that is gone `repetition` times, and how far the hand is lifted on the ways back."""
    if repetition == 1:
        return minimum_jerk(share), np.zeros_like(share)
    lengths = np.array([1.0, _RETURN] * repetition)[:-1]
    edges = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    leg = np.clip(np.searchsorted(edges, share, side="right") - 1, 0, len(lengths) - 1)
    inside = np.clip((share - edges[leg]) / (edges[leg + 1] - edges[leg]), 0, 1)
    smooth = minimum_jerk(inside)
    back = leg % 2 == 1
    return np.where(back, 1 - smooth, smooth), np.where(back, 4 * inside * (1 - inside), 0.0)


def _circle(gesture: Gesture, share: Array) -> Array:
    """Positions (n, 3) on a circle about the heading, begun and ended at rest."""
    steady = share + (minimum_jerk(share) - share) * 0.5
    angle = 2 * np.pi * (gesture.repetition * steady + gesture.phase)
    second = np.cross(gesture.heading, gesture.aside)
    radius = gesture.size / 2
    into = radius * (1 - abs(float(gesture.heading @ gesture.outward))) if gesture.on_skin else 0.0
    middle = gesture.place + into * gesture.outward
    return np.asarray(middle + radius * (np.cos(angle)[:, None] * gesture.aside + np.sin(angle)[:, None] * second))


def _centre(gesture: Gesture) -> float:
    """The share of the path that lies before the place: paths never lead into the body."""
    if gesture.path.kind in (PathKind.TO_BODY, PathKind.FROM_BODY):
        return 1.0 if gesture.path.kind is PathKind.TO_BODY else 0.0
    away = float(gesture.heading @ gesture.outward)
    return 0.5 - 0.5 * float(np.clip(2.5 * away, -1, 1)) if gesture.on_skin else 0.5


def _positions(gesture: Gesture, share: Array) -> tuple[Array, Array]:
    """Positions (n, 3) of the contact point and the progress (n,) of the movement."""
    kind = gesture.path.kind
    progress, lift = to_and_fro(share, gesture.repetition)
    if gesture.phase:
        progress = 1 - progress
    if kind is PathKind.NONE:
        return np.broadcast_to(gesture.place, (len(share), 3)), progress
    if kind is PathKind.CIRCLE:
        return _circle(gesture, share), progress
    centre = _centre(gesture)
    way = (progress - centre)[:, None] * gesture.heading * gesture.size
    if kind is PathKind.ARC:
        way = way + (gesture.bulge * gesture.size * 4 * progress * (1 - progress))[:, None] * gesture.aside
    elif kind is PathKind.ZIGZAG:
        teeth = np.sin(2 * np.pi * 2.0 * progress) * np.minimum(1, 8 * progress * (1 - progress))
        way = way + (gesture.bulge * gesture.size * 0.6 * teeth)[:, None] * gesture.aside
    elif kind is PathKind.STRAIGHT:
        way = way + (_LIFT * gesture.size * lift)[:, None] * gesture.outward
    return gesture.place + way, progress


def _letter_states(gesture: Gesture, share: Array) -> tuple[Array, Array]:
    """Joint angles (n, 20) and turns (n, 4) of fingerspelling: each letter is held, then changed."""
    count = len(gesture.shapes)
    at = np.clip(share * count - 0.5, 0, count - 1 - 1e-9)
    first = np.floor(at).astype(int)
    mix = minimum_jerk((at - first - 0.2) / 0.6)
    second = np.minimum(first + 1, count - 1)
    angles = gesture.shapes[first] + mix[:, None] * (gesture.shapes[second] - gesture.shapes[first])
    return angles, slerp(gesture.turns[first], gesture.turns[second], mix)


def stroke_states(gesture: Gesture, share: Array, seconds: float) -> Array:
    """The states of a hand during a sign.

    Args:
        gesture: what the hand does.
        share: (n,) moments as shares of the stroke, in [0, 1].
        seconds: how long the stroke lasts.

    Returns:
        (n, 30) states.
    """
    states = np.empty((len(share), STATE))
    states[:, POSITION], progress = _positions(gesture, share)
    states[:, OFFSET] = gesture.offset
    if len(gesture.turns) > 1 or len(gesture.shapes) != 2:
        states[:, ANGLES], states[:, TURN] = _letter_states(gesture, share)
        return states
    swings = max(gesture.repetition, 1)
    wave = np.sin(2 * np.pi * (swings * share + gesture.phase))
    mix = progress
    if gesture.local is Local.OPEN_CLOSE:
        mix = (1 - np.cos(2 * np.pi * (max(swings, 2) * share))) / 2
    first, last = gesture.shapes
    states[:, ANGLES] = first + mix[:, None] * (last - first)
    states[:, TURN] = gesture.turn
    if gesture.local is Local.WIGGLE:
        cycles = max(2.0, _WIGGLE_RATE * seconds) * share
        fade = np.minimum(1, 6 * share * (1 - share) + 0.3)
        for finger in range(4):
            states[:, 15 + 4 * finger] += _WIGGLE * fade * (1 + np.sin(2 * np.pi * (cycles - 0.22 * finger))) / 2
    elif gesture.local in (Local.TWIST, Local.NOD):
        axis, reach = (_ALONG, _TWIST) if gesture.local is Local.TWIST else (_ACROSS, _NOD)
        angle = reach * (wave if swings > 1 else 2 * progress - 1)
        states[:, TURN] = product(states[:, TURN], about(axis, angle))
    return states
