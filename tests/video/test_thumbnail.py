"""Thumbnails show the frame asked for, at the height asked for."""

import numpy as np
import pytest

from signspot.errors import OptionsError
from signspot.video.clips import thumbnail


def test_the_middle_by_default(tmp_path, make_video, number):
    path = make_video(tmp_path / "v.mp4")
    image = thumbnail(path, height=48)
    assert image.shape == (48, 120, 3)
    assert image.dtype == np.uint8
    assert number(image) == 20


def test_any_time(tmp_path, make_video, number):
    path = make_video(tmp_path / "v.mp4")
    assert [number(thumbnail(path, t, height=64)) for t in (-1, 0.5, 100)] == [0, 12, 39]


def test_impossible_height(tmp_path, make_video):
    with pytest.raises(OptionsError, match="at least 1 pixel"):
        thumbnail(make_video(tmp_path / "v.mp4", frames=1), height=0)
