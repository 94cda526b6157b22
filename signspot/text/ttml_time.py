"""Time expressions of TTML: clock times, frames, sub-frames, ticks and offsets, as seconds."""

import re
from dataclasses import dataclass

from signspot.errors import FormatError
from signspot.text.xml_tree import Element

_CLOCK = re.compile(r"(-?)(\d{1,4}):(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9})|:(\d{1,4})(?:\.(\d{1,4}))?)?")
_OFFSET = re.compile(r"(-?\d{1,15}(?:\.\d{1,9})?)(h|ms|m|s|f|t)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True, slots=True)
class Rates:
    """How long a frame and a tick of a document last."""

    frame: float = 30.0  # frames a second
    sub_frame: float = 1.0  # sub-frames a frame
    tick: float = 1.0  # ticks a second

    def seconds(self, expression: str) -> float | None:
        """Seconds of a time expression; None if it is none."""
        value = expression.strip()
        if clock := _CLOCK.fullmatch(value):
            return self._clock_seconds(clock)
        offset = _OFFSET.fullmatch(value)
        if offset is None:
            return None
        amount, unit = float(offset[1]), offset[2]
        if unit in ("f", "t"):
            return amount / (self.frame if unit == "f" else self.tick)
        return amount * _SECONDS[unit]

    def _clock_seconds(self, clock: re.Match[str]) -> float | None:
        sign, hours, minutes, seconds, fraction, frames, sub_frames = clock.groups()
        if int(minutes) > 59 or int(seconds) > 59 or int(frames or 0) >= max(self.frame, 1):
            return None
        whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
        total = float(f"{whole}.{fraction or 0}")
        total += (int(frames or 0) + int(sub_frames or 0) / self.sub_frame) / self.frame
        return -total if sign else total


def read_rates(root: Element, where: str) -> Rates:
    """The rates that a document's root declares.

    Raises:
        FormatError: one of them is no number above zero.
    """
    frame = _number(root, "frameRate", where)
    sub_frame = _number(root, "subFrameRate", where) or 1.0
    times, over = _multiplier(root, where)
    effective = (frame or 30.0) * times / over
    tick = _number(root, "tickRate", where) or (effective * sub_frame if frame else 1.0)
    return Rates(effective, sub_frame, tick)


def _number(root: Element, name: str, where: str) -> float | None:
    value = root.attributes.get(name)
    if value is None:
        return None
    if not re.fullmatch(r"\s*\d{1,12}(\.\d{1,9})?\s*", value) or float(value) <= 0:
        raise FormatError(f"{where}, line {root.line}: {name}={value!r} is no number above zero.")
    return float(value)


def _multiplier(root: Element, where: str) -> tuple[float, float]:
    value = root.attributes.get("frameRateMultiplier", "1 1")
    parts = re.fullmatch(r"\s*([1-9]\d{0,8})(?:[\s:]+([1-9]\d{0,8}))?\s*", value)
    if parts is None:
        raise FormatError(f"{where}, line {root.line}: frameRateMultiplier={value!r} is not like '1000 1001'.")
    return float(parts[1]), float(parts[2] or 1)
