"""Hands of a rendered signer: a rounded rod for every bone and a flat palm."""

import numpy as np

from signspot.world.render_canvas import Canvas, Floats, Material
from signspot.world.render_figure import LEFT
from signspot.world.render_paint import Paint

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


def _draw_palm(canvas: Canvas, hand: Floats, normal: Floats, palm: float, material: Material) -> None:
    """Rods from the wrist to each knuckle round the edges off; a flat patch covers them."""
    for knuckle in (1, 5, 9, 13, 17):
        wide = _KNUCKLE if knuckle > 1 else 0.17
        canvas.capsule(hand[0], hand[knuckle], (_WRIST * palm, wide * palm), material)
    for one, other in ((1, 5), (5, 9), (9, 13), (13, 17)):
        canvas.capsule(hand[one], hand[other], (0.11 * palm, 0.11 * palm), material)
    length = float(np.linalg.norm(normal)) + 1e-6
    unit = normal / (length if normal[2] < 0 else -length)  # towards the camera: negative z
    if -unit[2] < _EDGE_ON:
        return
    anchor = hand[[0, 5, 17]].mean(0) + unit * 0.118 * palm
    slope = -unit[:2] / unit[2]
    plane = np.array([slope[0], slope[1], anchor[2] - slope @ anchor[:2]], np.float32)
    bright = float(canvas.shade(unit[0], unit[1], -unit[2]))
    canvas.polygon(hand[list(_PALM), :2], plane, bright, material)


def _draw_finger(canvas: Canvas, joints: Floats, radii: Floats, material: Material) -> None:
    """Three bones; the last ends a little before the tip, for its round end reaches beyond."""
    joints = joints.copy()
    last = joints[-1] - joints[-2]
    joints[-1] -= last * min(0.5, 0.6 * float(radii[-1]) / (float(np.linalg.norm(last)) + 1e-6))
    for bone in range(len(joints) - 1):
        canvas.capsule(joints[bone], joints[bone + 1], (float(radii[bone]), float(radii[bone + 1])), material)
    near = int(joints[:, 2].argmin())
    canvas.capsule(joints[near], joints[near] + 0.01, (float(radii[near]), float(radii[near])), material)
