"""A small result to draw: one real video of moving colour, two words, known peaks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.plots.curves import Curve, View
from signspot.types import Spotting
from signspot.video.writer import write_video

SECONDS = 4.0


def bump(times: np.ndarray, peak: float, height: float) -> np.ndarray:
    return 0.4 + height * np.exp(-(((times - peak) / 0.2) ** 2))


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds at 25 fps, 96 x 64: red at first, blue from two seconds on."""
    path = tmp_path_factory.mktemp("pictures") / "v.mp4"
    red, blue = np.full((64, 96, 3), (200, 20, 20), np.uint8), np.full((64, 96, 3), (20, 20, 200), np.uint8)
    return write_video(path, [red] * 50 + [blue] * 50, 25)


@pytest.fixture
def view(video: Path) -> View:
    """'apple' peaks at 1 s (exemplar apple-1, 0.9) and 3 s (apple-2, 0.8); 'pear' is never found."""
    times = np.arange(0.32, SECONDS - 0.32, 0.04)
    thumbnail = np.full((48, 64, 3), (10, 200, 10), np.uint8)
    curves = (
        Curve("pear", "pear-1", times, np.full(len(times), 0.5, np.float32)),
        Curve("apple", "apple-1", times, bump(times, 1.0, 0.5), thumbnail),
        Curve("apple", "apple-2", times, bump(times, 3.0, 0.4)),
    )
    first = Spotting("apple", "v.mp4", 1.0, 0.68, 1.32, 0.9, "apple-1", confidence="sure")
    second = replace(first, time=3.0, start=2.68, end=3.32, score=0.8, exemplar="apple-2", confidence="check")
    both = Curve("apple", "", times, (curves[1].scores + curves[2].scores) / 2)
    return View(video, "v.mp4", SECONDS, curves, (first, second), {"apple": 0.7, "pear": 0.55}, words=(both,))
