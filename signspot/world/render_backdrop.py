"""What stands behind a rendered signer: a wall, drawn once a video."""

import cv2
import numpy as np

from signspot.world.appearance import Appearance
from signspot.world.render_canvas import Floats, Image


def draw_backdrop(appearance: Appearance, size: tuple[int, int]) -> Image:
    """The picture (H, W, 4) RGBA behind the signer."""
    width, height = size
    rng = np.random.default_rng([appearance.seed, 0xBAC])
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    x, y = x / width, y / height
    bright = 1 + 0.10 * (0.5 - y) + 0.12 * (x - 0.5) * np.sign(appearance.light[0])
    if appearance.backdrop == "gradient":
        bright += 0.22 * np.exp(-((x - 0.5) ** 2 + (y - 0.35) ** 2) / 0.12) - 0.12
    if appearance.backdrop == "panel":
        bright *= np.where(_panel(x, float(rng.uniform(0.18, 0.3))), 0.9, 1.0)
    wall = np.asarray(appearance.backdrop_colour, np.float32) * bright[..., None]
    if appearance.backdrop == "window":
        wall = _with_window(wall, x, y, float(rng.choice([0.08, 0.72])))
    mottle = cv2.resize(
        rng.standard_normal((12, 12)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC
    )
    wall = wall * appearance.brightness + 1.6 * mottle[..., None]
    soft = np.clip(cv2.GaussianBlur(wall, (0, 0), 0.008 * width), 0, 255).astype(np.uint8)
    return np.dstack([soft, np.full((height, width), 255, np.uint8)])


def _panel(x: Floats, share: float) -> Floats:
    """Where the side panels of a studio stand."""
    return np.asarray((x < share) | (x > 1 - share))


def _with_window(wall: Floats, x: Floats, y: Floats, left: float) -> Floats:
    """A bright window, out of focus, beside the signer."""
    soft = 1 / (1 + np.exp(-60 * np.minimum(np.minimum(x - left, left + 0.2 - x), np.minimum(y - 0.06, 0.5 - y))))
    pane: Floats = wall + (np.array([232, 238, 244], np.float32) - wall) * (0.75 * soft[..., None])
    return pane
