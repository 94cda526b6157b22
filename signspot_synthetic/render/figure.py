"""The figure of a rendered signer: its points in a frame, then trunk, arms and hands as rounded solids."""

from dataclasses import dataclass

import cv2
import numpy as np

from signspot.errors import LandmarksError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot_synthetic.render.appearance import Appearance
from signspot_synthetic.render.canvas import Canvas, ColourRamp, Floats, Paint, point

LEFT, RIGHT = 0, 1  # the signer's own sides
SHOULDERS, ELBOWS, WRISTS, HIPS, KNEES, EARS = (11, 12), (13, 14), (15, 16), (23, 24), (25, 26), (7, 8)

_MESH = {mesh: index for index, mesh in enumerate(FACE_POINTS)}
_AHEAD = 0.10  # shoulder widths by which hands are drawn nearer, so that a touching hand stays in view
# Half the trunk's width at heights below the line of the shoulders, both in shoulder widths.
_HEIGHTS = np.array([-0.31, -0.23, -0.17, -0.12, -0.07, -0.01, 0.07, 0.17, 0.40, 0.85, 1.30, 1.60, 4.0], np.float32)
_WIDTHS = np.array([0.05, 0.12, 0.21, 0.315, 0.41, 0.475, 0.51, 0.50, 0.465, 0.43, 0.45, 0.50, 0.50], np.float32)
_THICKNESS = 0.17  # how far the chest bulges towards the camera
_NECK = 0.15  # radius of the neck
_ARM = ((0.135, 0.116), (0.112, 0.078))  # radii of the upper arm and of the forearm
# Radii in palm lengths at the joints of each finger, from the knuckle to the tip.
_FINGERS: tuple[tuple[tuple[int, ...], tuple[float, ...]], ...] = (
    ((1, 2, 3, 4), (0.17, 0.125, 0.105, 0.085)),
    ((5, 6, 7, 8), (0.115, 0.10, 0.088, 0.074)),
    ((9, 10, 11, 12), (0.115, 0.10, 0.09, 0.076)),
    ((13, 14, 15, 16), (0.11, 0.096, 0.086, 0.072)),
    ((17, 18, 19, 20), (0.10, 0.084, 0.076, 0.064)),
)
_PALM = (0, 1, 5, 9, 13, 17)
_WRIST, _KNUCKLE = 0.15, 0.125  # radii in palm lengths of the rods within the palm
_EDGE_ON = 0.25  # below this share of its normal towards the camera the palm shows its edge only


@dataclass(frozen=True, slots=True)
class Build:
    """Lengths of a signer in working pixels, the same in every frame."""

    shoulders: float  # from shoulder to shoulder
    girth: float = 1.0  # of trunk and arms, 1 is average


@dataclass(frozen=True, slots=True)
class Figure:
    """One frame: points in working pixels, z on the scale of x; a part that is not seen is None."""

    body: Floats  # (33, 3)
    hands: tuple[Floats | None, Floats | None]  # (21, 3) left, right
    face: Floats | None  # (60, 3)
    build: Build

    def sides_from_behind(self) -> tuple[int, int]:
        """Both sides, the one first whose hand is farther from the camera."""
        left, right = (
            float(self.body[wrist, 2]) if hand is None else float(hand[:, 2].mean())
            for hand, wrist in zip(self.hands, WRISTS, strict=True)
        )
        return (RIGHT, LEFT) if left < right else (LEFT, RIGHT)

    def mesh(self, *points: int) -> Floats:
        """(N, 3) points of the face by their number in the mesh; only where there is a face."""
        assert self.face is not None
        return self.face[[_MESH[point] for point in points]]


def measure_build(landmarks: Landmarks, size: tuple[int, int], girth: float) -> Build:
    """Measure a signer over a whole video (medians, so that single odd frames do not matter).

    Raises:
        LandmarksError: no frame shows both shoulders.
    """
    scale = np.array([size[0], size[1], size[0]], np.float32)
    body = landmarks.body[:, :, :3] * scale
    shoulders = _median_length(body[:, 11] - body[:, 12])
    if shoulders is None:
        raise LandmarksError("cannot draw a signer without shoulders: body points 11 and 12 are never seen")
    return Build(shoulders, girth)


def pose_figure(landmarks: Landmarks, moment: float, size: tuple[int, int], build: Build) -> Figure:
    """The signer at a frame, or between two (`moment` 2.5 is half-way from frame 2 to frame 3)."""
    scale = np.array([size[0], size[1], size[0]], np.float32)
    body = _at(landmarks.body[:, :, :3], moment) * scale
    ahead = _AHEAD * build.shoulders
    hands = tuple(
        _place(_at(hand, moment) * scale, 0, float(body[wrist, 2]) - ahead)
        for hand, wrist in zip((landmarks.left_hand, landmarks.right_hand), WRISTS, strict=True)
    )
    face = _at(landmarks.face, moment) * scale
    ears = [_MESH[234], _MESH[454]]
    return Figure(body, (hands[0], hands[1]), _place(face, ears, float(body[list(EARS), 2].mean())), build)


def _place(points: Floats, origin: int | list[int], depth: float) -> Floats | None:
    """Hand and face carry their own depth; lay their origin at the depth of the body's point."""
    if not np.isfinite(points).all():
        return None
    placed = points.copy()
    if np.isfinite(depth):
        placed[:, 2] += depth - points[origin, 2].mean()
    return placed


def _at(points: Floats, moment: float) -> Floats:
    """Points (T, N, C) at a moment; where one of the two frames is not seen, the other holds."""
    before = min(int(moment), len(points) - 1)
    share = np.float32(moment - before)
    if share <= 0 or before + 1 >= len(points):
        still: Floats = points[before]
        return still
    earlier: Floats = points[before]
    later: Floats = points[before + 1]
    between: Floats = earlier + (later - earlier) * share
    held: Floats = np.where(np.isfinite(between), between, np.where(np.isfinite(earlier), earlier, later))
    return held


def _median_length(vectors: Floats) -> float | None:
    """The median length of vectors (T, 3), or None if none is finite."""
    lengths = np.linalg.norm(vectors, axis=-1)
    lengths = lengths[np.isfinite(lengths)]
    return float(np.median(lengths)) if len(lengths) else None


def draw_trunk(canvas: Canvas, figure: Figure, paint: Paint) -> None:
    """Draw the legs as far as they are in view, the neck and the trunk in its clothes."""
    if not np.isfinite(figure.body[list(SHOULDERS)]).all():
        return
    unit, girth = figure.build.shoulders, figure.build.girth
    behind = point(0, 0.12 * unit, 0.45 * unit)
    for hip, knee in zip(HIPS, KNEES, strict=True):
        if np.isfinite(figure.body[[hip, knee]]).all():
            radii = (0.27 * unit * girth, 0.2 * unit * girth)
            canvas.capsule(figure.body[hip] + behind, figure.body[knee] + behind, radii, paint.trousers)
    middle = figure.body[list(SHOULDERS)].mean(0)
    chin = _chin(figure, middle)
    base = middle + point(0, -0.12 * unit, 0.3 * unit)
    canvas.capsule(base, chin, (_NECK * unit, 0.94 * _NECK * unit), paint.neck)
    _draw_torso(canvas, figure, paint)


def _chin(figure: Figure, middle: Floats) -> Floats:
    """The end of the neck, behind the chin."""
    unit = figure.build.shoulders
    if figure.face is not None:
        ears = figure.mesh(234, 454).mean(0)
        chin: Floats = (ears + figure.mesh(152)[0]) / 2
        chin[2] = ears[2] + 0.1 * unit
        return chin
    return middle + point(0, -0.4 * unit, 0.1 * unit)


def _draw_torso(canvas: Canvas, figure: Figure, paint: Paint) -> None:
    """An upright solid whose width follows a profile, leaning with the line of the shoulders."""
    unit = figure.build.shoulders
    left, right = figure.body[SHOULDERS[0]], figure.body[SHOULDERS[1]]
    hips = figure.body[list(HIPS)].mean(0)
    middle = (left + right) / 2
    across = (left - right)[:2]
    wide = max(0.6 * unit, float(np.linalg.norm(across)))
    across = across / (np.linalg.norm(across) + 1e-6)
    down = np.array([-across[1], across[0]], np.float32)
    reach = point(0.75 * unit * figure.build.girth + 2, 0.6 * unit)
    patch = canvas.patch(middle[:2] - reach, point(middle[0] + reach[0], 1e6))
    if patch is None:
        return
    x, y = canvas.grid(patch)
    x, y = x - middle[0], y - middle[1]
    v = (x * down[0] + y * down[1]) / unit
    lean = float((hips - middle)[:2] @ across) / max(0.5 * unit, float((hips - middle)[:2] @ down))
    lean = lean if np.isfinite(lean) else 0.0
    u = (x * across[0] + y * across[1]) / wide - v * lean * unit / wide
    slim = np.interp(v.ravel(), _HEIGHTS, _WIDTHS).reshape(v.shape).astype(np.float32)
    slim *= 1 + (figure.build.girth - 1) * np.clip(v * 2, 0, 1)
    beside = u / slim
    front = np.sqrt(np.maximum(1 - beside * beside, 0))
    depth = middle[2] + u * (left - right)[2] + np.float32(0.1 * unit) - _THICKNESS * unit * front
    neckline = -0.02 - 3.2 * u * u
    throat = (v <= neckline) & (np.abs(u) < 0.9 * _NECK)  # here the neck itself is seen
    mask = (np.abs(beside) < 1) & (v > _HEIGHTS[0]) & (depth < canvas.depth[patch]) & ~throat
    np.copyto(canvas.depth[patch], depth, where=mask)
    slope = np.clip((0.1 - v) * 2.2, 0, 0.75)  # the tops of the shoulders face the lamp
    bend = 0.7 * beside * np.abs(beside) * np.clip(0.3 + 2 * v, 0.3, 1)  # less at the top, where the arms join
    round_off = np.sqrt(np.maximum(1 - bend * bend, 0))
    bright = canvas.shade(bend, -slope, round_off * (1 - 0.3 * slope))
    bright = bright + _folds(paint.folds, patch, middle, unit)
    plain = canvas.shade(0.8 * beside * np.abs(beside), 0 * front - 0.15, front)  # shaded as the neck is
    canvas.put(patch, mask & (v <= neckline), plain, paint.neck)
    belt = max(1.15, float((hips - middle)[:2] @ down) / unit - 0.05) if np.isfinite(hips).all() else 9.0
    canvas.put(patch, mask & (v > neckline), bright - 0.1 * (v < neckline + 0.025), paint.cloth)
    canvas.put(patch, mask & (v > belt), bright, paint.trousers)


def _folds(folds: Floats, patch: tuple[slice, slice], middle: Floats, unit: float) -> Floats:
    """The folds of the cloth over a patch; they move with the trunk."""
    step = unit / 48
    shift = (64 * step, 30 * step)
    x, y = middle[0] - patch[1].start - shift[0], middle[1] - patch[0].start - shift[1]
    place = np.array([[step, 0, x], [0, step, y]], np.float32)
    shape = (patch[1].stop - patch[1].start, patch[0].stop - patch[0].start)
    warped: Floats = cv2.warpAffine(folds, place, shape, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return warped


def draw_arm(canvas: Canvas, figure: Figure, side: int, appearance: Appearance, paint: Paint) -> None:
    """Draw one arm with its hand."""
    _draw_limbs(canvas, figure, side, appearance, paint)
    hand = figure.hands[side]
    if hand is not None:
        draw_hand(canvas, hand, side, paint)


def _draw_limbs(canvas: Canvas, figure: Figure, side: int, appearance: Appearance, paint: Paint) -> None:
    """Sleeve and skin of one arm, as far as its joints are known."""
    shoulder, elbow = figure.body[SHOULDERS[side]], figure.body[ELBOWS[side]]
    wrist = figure.body[WRISTS[side]]
    hand = figure.hands[side]
    thick = 0.075 * figure.build.shoulders
    if hand is not None:
        wrist, thick = hand[0], 0.145 * palm_length(hand)
    if not (np.isfinite(shoulder).all() and np.isfinite(elbow).all()):
        return
    unit = figure.build.shoulders * figure.build.girth
    upper, fore = np.array(_ARM, np.float32) * unit
    fore[1] = thick
    cut_upper, cut_fore = {"long": (1.0, 0.86), "elbow": (1.0, 0.12), "short": (0.62, 0.0)}[appearance.sleeves]
    middle = figure.body[list(SHOULDERS)].mean(0)
    socket = shoulder + (shoulder - middle) * np.float32(0.03) + point(0, 0.035 * unit, 0.1 * unit)
    _sleeved(canvas, socket, elbow, upper, cut_upper, paint)
    if np.isfinite(wrist).all():
        _sleeved(canvas, elbow, wrist, fore, cut_fore, paint)


def _sleeved(canvas: Canvas, start: Floats, end: Floats, radii: Floats, cut: float, paint: Paint) -> None:
    """One limb: skin all along, and a slightly wider sleeve from its start to `cut` of its length."""
    start_radius, end_radius = float(radii[0]), float(radii[1])
    if cut < 1:
        canvas.capsule(start, end, (0.92 * start_radius, 0.96 * end_radius), paint.skin)
    if cut > 0:
        hem = start + (end - start) * np.float32(cut)
        canvas.capsule(
            start, hem, (start_radius * 1.04, (start_radius + (end_radius - start_radius) * cut) * 1.08), paint.cloth
        )


def palm_length(hand: Floats) -> float:
    """From the wrist to the middle knuckle, by all four knuckles; nearer to a camera a hand is larger."""
    return 1.02 * float(np.linalg.norm(hand[[5, 9, 13, 17]] - hand[0], axis=1).mean())


def draw_hand(canvas: Canvas, hand: Floats, side: int, paint: Paint) -> None:
    """Draw one hand (21, 3)."""
    palm = palm_length(hand)
    normal = np.cross(hand[5] - hand[0], hand[17] - hand[0])
    inner = float(normal[2]) / (float(np.linalg.norm(normal)) + 1e-6) * (1 if side == LEFT else -1)
    material = paint.palms[round(np.clip(2 * inner, 0, 1) * (len(paint.palms) - 1))]
    _draw_palm(canvas, hand, normal, palm, material)
    for joints, radii in _FINGERS:
        _draw_finger(canvas, hand[list(joints)], np.array(radii, np.float32) * palm, material)


def _draw_palm(canvas: Canvas, hand: Floats, normal: Floats, palm: float, material: ColourRamp) -> None:
    """Rods from the wrist to each knuckle round the edges off; a flat patch covers them."""
    for knuckle in (1, 5, 9, 13, 17):
        wide = _KNUCKLE if knuckle > 1 else 0.17
        canvas.capsule(hand[0], hand[knuckle], (_WRIST * palm, wide * palm), material)
    for first, second in ((1, 5), (5, 9), (9, 13), (13, 17)):
        canvas.capsule(hand[first], hand[second], (0.11 * palm, 0.11 * palm), material)
    length = float(np.linalg.norm(normal)) + 1e-6
    unit = normal / (length if normal[2] < 0 else -length)  # towards the camera: negative z
    if -unit[2] < _EDGE_ON:
        return
    anchor = hand[[0, 5, 17]].mean(0) + unit * 0.118 * palm
    slope = -unit[:2] / unit[2]
    plane = np.array([slope[0], slope[1], anchor[2] - slope @ anchor[:2]], np.float32)
    bright = float(canvas.shade(unit[0], unit[1], -unit[2]))
    canvas.polygon(hand[list(_PALM), :2], plane, bright, material)


def _draw_finger(canvas: Canvas, joints: Floats, radii: Floats, material: ColourRamp) -> None:
    """Three bones; the last ends a little before the tip, for its round end reaches beyond."""
    joints = joints.copy()
    last = joints[-1] - joints[-2]
    joints[-1] -= last * min(0.5, 0.6 * float(radii[-1]) / (float(np.linalg.norm(last)) + 1e-6))
    for bone in range(len(joints) - 1):
        canvas.capsule(joints[bone], joints[bone + 1], (float(radii[bone]), float(radii[bone + 1])), material)
    near = int(joints[:, 2].argmin())
    canvas.capsule(joints[near], joints[near] + 0.01, (float(radii[near]), float(radii[near])), material)
