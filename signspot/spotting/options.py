"""How to spot: one frozen record for the library, the command line and the web page."""

import math
from dataclasses import dataclass

from signspot.errors import OptionsError


@dataclass(frozen=True, slots=True)
class SpotOptions:
    """How to spot."""

    threshold: float | None = None  # least score of a spotting, in [0, 1]; None: the encoder's calibrated one
    stride: int = 1  # frames between two windows
    refine: bool = False  # with a stride above 1: embed again at stride 1 around candidate peaks
    margin: float = 0.1  # with refine: how far below the threshold a coarse peak still is a candidate
    gap: float = 0.4  # seconds between two spottings of one word, at least
    top: int | None = None  # at most so many spottings of a word, the best; None: all
    mirror: bool = True  # also compare with exemplars mirrored left to right
    seed: int = 0  # of the clips drawn from exemplars

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise OptionsError(f"threshold is a score in [0, 1]; got {self.threshold}")
        if self.stride < 1:
            raise OptionsError(f"stride must be at least 1 frame; got {self.stride}")
        if not (math.isfinite(self.gap) and self.gap >= 0):
            raise OptionsError(f"gap must be 0 s or more; got {self.gap}")
        if not 0 <= self.margin <= 1:
            raise OptionsError(f"margin is a difference of scores in [0, 1]; got {self.margin}")
        if self.top is not None and self.top < 1:
            raise OptionsError(f"top must be at least 1; got {self.top}")
