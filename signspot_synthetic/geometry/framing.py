"""Position and view of the camera: studios, broadcasts, and webcams held low."""

import math
from dataclasses import dataclass

import numpy as np

from signspot.errors import OptionsError


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera that looks at a point near the signer's chest; metres and radians."""

    distance: float = 2.5  # from the point looked at
    height: float = 1.1  # of what is seen at that distance, from the upper to the lower edge
    azimuth: float = 0.0  # moved sideways about the signer; positive to the image's right
    elevation: float = 0.0  # above (positive) or below the signer's shoulders
    roll: float = 0.0
    aim: tuple[float, float] = (0.0, 0.06)  # the point looked at: x and y from between the shoulders

    def __post_init__(self) -> None:
        values = (self.distance, self.height, self.azimuth, self.elevation, self.roll, *self.aim)
        if not all(math.isfinite(value) for value in values):
            raise OptionsError(f"a camera needs finite numbers; got {values}")
        if not (self.distance >= 0.3 and self.height > 0):
            raise OptionsError(
                f"a camera stands at least 0.3 m away and sees more than 0 m; got {self.distance} m, {self.height} m"
            )
        if max(abs(self.azimuth), abs(self.elevation)) > 1.2:
            raise OptionsError(
                f"a camera turns at most 1.2 rad about the signer; got {self.azimuth:.2f}, {self.elevation:.2f}"
            )


def draw_studio(rng: np.random.Generator) -> Camera:
    """A camera on a tripod, as dictionaries and broadcasters use it."""
    height = float(rng.uniform(0.85, 1.45))
    return Camera(
        distance=float(rng.uniform(1.8, 4.0)),
        height=height,
        azimuth=float(np.clip(rng.normal(0, 0.08), -0.35, 0.35)),
        elevation=float(np.clip(rng.normal(0, 0.05), -0.2, 0.2)),
        roll=float(rng.normal(0, 0.01)),
        aim=(float(rng.normal(0, 0.04)), float(0.46 * height - rng.uniform(0.38, 0.48))),
    )


def draw_webcam(rng: np.random.Generator) -> Camera:
    """A laptop or phone: near, often low and looking up, seldom straight."""
    height = float(rng.uniform(0.62, 1.1))
    return Camera(
        distance=float(rng.uniform(0.65, 1.3)),
        height=height,
        azimuth=float(np.clip(rng.normal(0, 0.15), -0.5, 0.5)),
        elevation=float(np.clip(rng.normal(-0.12, 0.14), -0.5, 0.25)),
        roll=float(rng.normal(0, 0.04)),
        aim=(float(rng.normal(0, 0.05)), float(0.46 * height - rng.uniform(0.34, 0.42))),
    )


def draw_camera(rng: np.random.Generator, webcam_share: float) -> Camera:
    """A camera as one meets them; `webcam_share` of them are webcams."""
    return draw_webcam(rng) if rng.random() < webcam_share else draw_studio(rng)
