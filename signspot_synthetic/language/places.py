"""Places of signs: on head, body and weak arm, and in the space before the signer."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray


class Region(StrEnum):
    """The part of the signing space that a place belongs to."""

    HEAD = "head"
    BODY = "body"
    ARM = "arm"  # of the weak side, hanging
    WEAK = "weak hand"  # the weak hand or forearm, held up as a base
    SPACE = "space"


@dataclass(frozen=True, slots=True)
class Place:
    """A place, seen by a right-handed signer: x to the weak side, y down, z away from the camera.

    `at` is in metres from the point between the shoulders of a mean adult, or, on the weak hand, in the hand's own
    frame from its wrist (thumb side, fingers, palm; behind the wrist y runs along the forearm). `normal` points away
    from the skin.
    """

    name: str
    region: Region
    at: tuple[float, float, float]
    normal: tuple[float, float, float] = (0, 0, -1)
    weight: float = 1.0  # how common it is in the lexicon

    @property
    def point(self) -> NDArray[np.float64]:
        """The place itself, (3,)."""
        return np.array(self.at, dtype=np.float64)

    @property
    def outward(self) -> NDArray[np.float64]:
        """The unit direction away from the skin, (3,)."""
        normal = np.array(self.normal, dtype=np.float64)
        return np.asarray(normal / np.linalg.norm(normal))


_TABLE = (
    Place("crown", Region.HEAD, (-0.02, -0.300, -0.06), (0, -1, -0.5), 0.25),
    Place("forehead", Region.HEAD, (-0.01, -0.265, -0.100), (0, -0.2, -1), 1.5),
    Place("temple", Region.HEAD, (-0.066, -0.235, -0.060), (-0.8, 0, -0.6), 1.5),
    Place("eye", Region.HEAD, (-0.036, -0.218, -0.098), (-0.2, 0, -1), 1),
    Place("nose", Region.HEAD, (0.0, -0.184, -0.128), (0, 0, -1), 1),
    Place("ear", Region.HEAD, (-0.082, -0.200, -0.010), (-1, 0, -0.3), 0.8),
    Place("cheek", Region.HEAD, (-0.054, -0.168, -0.086), (-0.6, 0, -0.8), 1.5),
    Place("weak cheek", Region.HEAD, (0.054, -0.168, -0.086), (0.6, 0, -0.8), 0.3),
    Place("mouth", Region.HEAD, (0.0, -0.143, -0.112), (0, 0, -1), 2),
    Place("chin", Region.HEAD, (0.0, -0.102, -0.104), (0, 0.3, -1), 2),
    Place("under chin", Region.HEAD, (0.0, -0.086, -0.075), (0, 0.9, -0.4), 0.6),
    Place("neck", Region.BODY, (0.0, -0.055, -0.065), (0, 0, -1), 0.8),
    Place("shoulder", Region.BODY, (-0.150, -0.015, -0.060), (-0.2, -0.5, -0.8), 0.6),
    Place("weak shoulder", Region.BODY, (0.150, -0.015, -0.060), (0.2, -0.5, -0.8), 0.8),
    Place("chest", Region.BODY, (0.0, 0.110, -0.115), (0, 0, -1), 2.5),
    Place("strong chest", Region.BODY, (-0.090, 0.090, -0.105), (0, 0, -1), 1),
    Place("weak chest", Region.BODY, (0.090, 0.090, -0.105), (0, 0, -1), 1),
    Place("stomach", Region.BODY, (0.0, 0.270, -0.125), (0, 0, -1), 0.8),
    Place("strong waist", Region.BODY, (-0.130, 0.340, -0.080), (-0.6, 0, -0.8), 0.3),
    Place("weak upper arm", Region.ARM, (0.195, 0.130, -0.055), (0.25, 0, -1), 0.8),
    Place("weak elbow", Region.ARM, (0.205, 0.240, -0.040), (0.2, 0.2, -1), 0.3),
    Place("weak palm", Region.WEAK, (-0.005, 0.065, 0.016), (0, 0, 1), 3),
    Place("weak back", Region.WEAK, (-0.005, 0.065, -0.016), (0, 0, -1), 1.5),
    Place("weak fingertips", Region.WEAK, (0.000, 0.175, 0.0), (0, 1, 0), 0.7),
    Place("weak thumb side", Region.WEAK, (0.040, 0.070, 0.0), (1, 0, 0), 1.2),
    Place("weak wrist", Region.WEAK, (0.0, -0.020, -0.022), (0, -0.6, -0.8), 0.6),
    Place("weak forearm", Region.WEAK, (0.0, -0.120, -0.030), (0, -0.6, -0.8), 0.8),
    Place("high space", Region.SPACE, (-0.110, -0.120, -0.295), weight=1.2),
    Place("high centre", Region.SPACE, (0.0, -0.060, -0.315), weight=0.8),
    Place("strong space", Region.SPACE, (-0.240, 0.080, -0.290), weight=2),
    Place("strong high", Region.SPACE, (-0.260, -0.080, -0.220), weight=1),
    Place("middle space", Region.SPACE, (-0.060, 0.120, -0.335), weight=5),
    Place("weak space", Region.SPACE, (0.120, 0.110, -0.305), weight=0.8),
    Place("low space", Region.SPACE, (-0.080, 0.270, -0.320), weight=1.8),
    Place("low strong", Region.SPACE, (-0.220, 0.280, -0.230), weight=0.8),
    Place("far space", Region.SPACE, (-0.090, 0.050, -0.430), weight=0.8),
)

PLACES = MappingProxyType({place.name: place for place in _TABLE})
