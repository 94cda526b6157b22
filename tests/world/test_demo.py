"""The demo: the true road, from filmed pixels through MediaPipe to spottings."""

import re
import subprocess
import sys
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


def _readmes_next_command_works(made: Demo, folder: Path) -> None:
    """The command that README gives after the demo, word for word."""
    command = "spot demo-out/sentence.mp4 demo-out/dictionary apple --out demo-out/news.eaf --html demo-out/news.html"
    code = "from signspot.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = read_spottings(folder / "demo-out" / "news.eaf")
    apples = [(s.start, s.score) for s in made.spottings if s.word == "apple"]
    assert [(s.start, s.score) for s in found] == [pytest.approx(each, abs=0.01) for each in apples]
    assert "sentence.mp4" in (folder / "demo-out" / "news.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_whole_road_from_film_to_spottings(tmp_path: Path) -> None:
    """Real rendering, real H.264, real MediaPipe, the shipped encoder: signs are found where they are."""
    made = run_demo(tmp_path / "demo-out", no_bar, workers=1)
    promised = re.search(r"\| (\d+) of (\d+), (\d+) false alarms", README.read_text())
    assert promised is not None, "README no longer says what the demo finds"
    found, signed, wrong = map(int, promised.groups())
    assert len(made.truth) == signed
    assert made.found >= found - 1  # video coding and MediaPipe are not the same in every run
    assert made.false_alarms <= wrong + 1
    written = {path.name for path in made.files}
    assert {"spottings.eaf", "spottings.png", "report.html"} <= written
    assert tuple(read_spottings(tmp_path / "demo-out" / "spottings.eaf")) == made.spottings
    assert {s.word for s in made.spottings} <= set(WORDS)
    _readmes_next_command_works(made, tmp_path)
    assert (tmp_path / "demo-out" / "report.html").stat().st_size > 100_000
