"""Trunk, neck and arms of a rendered signer."""

import cv2
import numpy as np

from signspot.world.appearance import Appearance
from signspot.world.render_canvas import Canvas, Floats, point
from signspot.world.render_figure import ELBOWS, HIPS, KNEES, SHOULDERS, WRISTS, Figure
from signspot.world.render_hands import draw_hand, palm_length
from signspot.world.render_paint import Paint

# Half the trunk's width at heights below the line of the shoulders, both in shoulder widths.
_HEIGHTS = np.array([-0.31, -0.23, -0.17, -0.12, -0.07, -0.01, 0.07, 0.17, 0.40, 0.85, 1.30, 1.60, 4.0], np.float32)
_WIDTHS = np.array([0.05, 0.12, 0.21, 0.315, 0.41, 0.475, 0.51, 0.50, 0.465, 0.43, 0.45, 0.50, 0.50], np.float32)
_THICKNESS = 0.17  # how far the chest bulges towards the camera
_NECK = 0.15  # radius of the neck
_ARM = ((0.135, 0.116), (0.112, 0.078))  # radii of the upper arm and of the forearm


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
    """Where the neck ends, behind the chin."""
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
    seen = (np.abs(beside) < 1) & (v > _HEIGHTS[0]) & (depth < canvas.depth[patch]) & ~throat
    np.copyto(canvas.depth[patch], depth, where=seen)
    slope = np.clip((0.1 - v) * 2.2, 0, 0.75)  # the tops of the shoulders face the lamp
    bend = 0.7 * beside * np.abs(beside) * np.clip(0.3 + 2 * v, 0.3, 1)  # less at the top, where the arms join
    round_off = np.sqrt(np.maximum(1 - bend * bend, 0))
    bright = canvas.shade(bend, -slope, round_off * (1 - 0.3 * slope))
    bright = bright + _folds(paint.folds, patch, middle, unit)
    plain = canvas.shade(0.8 * beside * np.abs(beside), 0 * front - 0.15, front)  # shaded as the neck is
    canvas.put(patch, seen & (v <= neckline), plain, paint.neck)
    belt = max(1.15, float((hips - middle)[:2] @ down) / unit - 0.05) if np.isfinite(hips).all() else 9.0
    canvas.put(patch, seen & (v > neckline), bright - 0.1 * (v < neckline + 0.025), paint.cloth)
    canvas.put(patch, seen & (v > belt), bright, paint.trousers)


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
    one, two = float(radii[0]), float(radii[1])
    if cut < 1:
        canvas.capsule(start, end, (0.92 * one, 0.96 * two), paint.skin)
    if cut > 0:
        hem = start + (end - start) * np.float32(cut)
        canvas.capsule(start, hem, (one * 1.04, (one + (two - one) * cut) * 1.08), paint.cloth)
