"""Difficulties of synthetic signing: one number each, 0 switches it off, 1 is as in real signing."""

import math
from dataclasses import dataclass, fields

from signspot.errors import OptionsError


@dataclass(frozen=True, slots=True)
class Knobs:
    """The difficulties of synthetic signing. The ones of co-articulation are multiplied by `coarticulation`."""

    coarticulation: float = 1.0  # all five below at once
    undershoot: float = 1.0  # movements are smoothed and cut short towards their neighbours
    assimilation: float = 1.0  # place, shape and orientation drift towards the neighbours'
    reduction: float = 1.0  # repetitions are dropped, holds shortened, movements made smaller
    weak_drop: float = 1.0  # the weak hand of a two-handed sign is left out
    lowering: float = 1.0  # high signs are made lower
    speed: float = 1.0  # 1.5 to 3 times the dictionary's speed
    precision: float = 1.0  # signers differ from the sign's ideal form, and from themselves
    noise: float = 1.0  # of the landmark estimator
    variants: float = 1.0  # words have several signs
    misalignment: float = 1.0  # subtitles are shifted in time
    mouthing: float = 1.0  # only part of the signs are mouthed, and not exactly in time
    lips: float = 0.0  # mouthings are reduced and slurred, gestures are not words, hands hide lips; 0: whole and clear

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and 0 <= value <= 3):
                raise OptionsError(f"knob {item.name} must lie between 0 (off) and 3; got {value}")

    @classmethod
    def off(cls) -> "Knobs":
        """Nothing is hard."""
        return cls(**{item.name: 0.0 for item in fields(cls)})

    def coarticulated(self, name: str) -> float:
        """The strength of one part of co-articulation: its own knob times the common one."""
        return float(getattr(self, name) * self.coarticulation)
