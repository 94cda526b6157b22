"""The pictures are drawn, and more is seen where there is more."""

from pathlib import Path

import cv2

from signspot.annotation.statistics import Count, YieldRow
from signspot.annotation.yield_report import draw_precision, draw_yield


def ink(path: Path) -> int:
    image = cv2.imread(str(path))
    assert image is not None
    return int((image.min(axis=2) < 200).sum())


def test_yield_is_drawn(tmp_path: Path) -> None:
    rows = [
        YieldRow(0.7, Count(3, 50, 10, 5, None), Count(9, 90, 10, 5, None)),
        YieldRow(0.9, Count(2, 20, 9, 5, None), Count(4, 30, 9, 5, None)),
    ]
    none = Count(0, 0, 0, 0, None)
    empty = draw_yield([YieldRow(0.7, none, none), YieldRow(0.9, none, none)], tmp_path / "empty.png")
    assert ink(draw_yield(rows, tmp_path / "yield.png")) > 1.5 * ink(empty)


def test_each_curve_is_drawn(tmp_path: Path) -> None:
    one = {"score": ([0.1, 0.9], [1.0, 0.8])}
    two = one | {"confidence": ([0.1, 0.9], [1.0, 0.9])}
    assert ink(draw_precision(two, tmp_path / "two.png")) > ink(draw_precision(one, tmp_path / "one.png"))
