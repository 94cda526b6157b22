"""The demo: the whole pipeline, from rendered pixels through MediaPipe to spottings."""

from pathlib import Path

from signspot.types import Segment, Spotting
from signspot_synthetic.demo import Demo


def test_hits_and_false_alarms_are_counted() -> None:
    hit = Spotting("apple", "v", 1.0, 0.9, 1.1, 0.9)
    stray = Spotting("name", "v", 1.0, 0.9, 1.1, 0.9)
    made = Demo(Path(), (("apple", Segment(0.9, 1.2)), ("apple", Segment(5.0, 5.3))), (hit, stray), ())
    assert (made.found, made.false_alarms) == (1, 1)
