"""The demo: the true road, from filmed pixels through MediaPipe to spottings."""

import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from signspot.formats.formats import read_spottings
from signspot.progress import silent
from signspot.records import Spotting
from signspot.timeline import Segment
from signspot_world.demo import WORDS, Demo, run_demo

README = Path(__file__).parent.parent.parent / "README.md"


@contextmanager
def no_bar(title: str):
    assert title
    yield silent


def test_hits_and_false_alarms_are_counted() -> None:
    hit = Spotting("apple", "v", 1.0, 0.9, 1.1, 0.9)
    stray = Spotting("name", "v", 1.0, 0.9, 1.1, 0.9)
    made = Demo(Path(), (("apple", Segment(0.9, 1.2)), ("apple", Segment(5.0, 5.3))), (hit, stray), ())
    assert (made.found, made.false_alarms) == (1, 1)


@pytest.mark.slow
def test_the_whole_road_from_film_to_spottings(tmp_path: Path) -> None:
    """Real rendering, real H.264, real MediaPipe, the shipped encoder: signs are found where they are."""
    made = run_demo(tmp_path / "demo", no_bar, workers=1)
    promised = re.search(r"(\d+) of (\d+) in each of three runs, 0 or (\d+) false alarm", README.read_text())
    assert promised is not None, "README no longer says what the demo finds"
    found, signed, wrong = map(int, promised.groups())
    assert len(made.truth) == signed
    assert made.found >= found  # video coding and MediaPipe are not the same in every run
    assert made.false_alarms <= wrong
    written = {path.name for path in made.files}
    assert {"spottings.eaf", "spottings.png", "report.html"} <= written
    assert tuple(read_spottings(tmp_path / "demo" / "spottings.eaf")) == made.spottings
    assert {s.word for s in made.spottings} <= set(WORDS)
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
