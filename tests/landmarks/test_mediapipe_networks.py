"""Turned squares of pictures, by hand."""

import math

import numpy as np
import pytest

from signspot.errors import LandmarksError
from signspot.landmarks.estimators import FOLDER
from signspot.landmarks.mediapipe_networks import (
    FACES,
    HANDS,
    NETWORKS,
    Region,
    about,
    around,
    around_turned,
    follow,
    letterbox,
    networks_version,
    of_pose_hand,
    turn,
)


def test_networks_may_lie_in_any_folder(tmp_path, monkeypatch):
    for network in NETWORKS:
        (tmp_path / network.file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / network.file).write_bytes(network.file.encode())
    packaged = networks_version()
    monkeypatch.setenv(FOLDER, str(tmp_path))
    named = networks_version()
    assert named != packaged
    (tmp_path / NETWORKS[0].file).write_bytes(b"another")
    assert networks_version() not in (named, packaged)  # other networks, other landmarks in the cache
    (tmp_path / NETWORKS[0].file).unlink()
    with pytest.raises(LandmarksError, match=NETWORKS[0].file):
        networks_version()


def points(*rows):
    return np.array(rows, dtype=np.float32)


def test_a_circle_is_a_square_whose_rim_is_up():
    region = about(*points((50, 60), (50, 40)))
    assert (region.x, region.y, region.width, region.height) == (50, 60, 40, 40)
    assert region.angle == pytest.approx(0)
    leaning = about(*points((50, 60), (70, 60)))  # its rim is to the right: it is turned by a quarter, clockwise
    assert leaning.angle == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("angle", [0.0, 0.4, -1.2])
def test_what_a_crop_shows_lies_where_place_says(angle):
    picture = np.zeros((120, 160, 3), np.uint8)
    picture[52:55, 71:74] = 255  # around (72.5, 53.5) in corner-based pixels
    region = Region(70, 50, 40, 40, angle)
    crop = region.crop(picture, 80)
    y, x = np.argwhere(crop[..., 0] > 127).mean(axis=0)
    placed = region.place(points((x / 80, y / 80, 0.5)))[0]
    assert placed[:2] == pytest.approx((72, 53), abs=0.6)
    assert placed[2] == pytest.approx(20)


def test_beyond_the_border_it_is_black_or_as_at_the_border():
    picture = np.full((20, 20, 3), 90, np.uint8)
    region = Region(0, 0, 20, 20)
    assert region.crop(picture, 10)[0, 0, 0] == 90
    assert region.crop(picture, 10, black=True)[0, 0, 0] == 0


def test_a_region_grows_to_a_square_and_moves_along_its_own_vertical():
    grown = Region(10, 10, 4, 8, 0.0).grown(2.0, -0.25)
    assert (grown.x, grown.y, grown.width, grown.height) == (10, 8, 16, 16)
    lying = Region(10, 10, 4, 8, math.pi / 2).grown(1.0, -0.25)
    assert (lying.x, lying.y) == (pytest.approx(12), pytest.approx(10))


def test_rectangles_around_points():
    corners = points((0, 0), (4, 0), (4, 2), (0, 2))
    assert around(corners, 0.3) == Region(2, 1, 4, 2, 0.3)
    turned = Region(5, 7, 4, 2, 0.5)
    back = around_turned(turned.place(points((0, 0), (1, 0), (1, 1), (0, 1))), 0.5)
    for name in ("x", "y", "width", "height"):
        assert getattr(back, name) == pytest.approx(getattr(turned, name), abs=1e-5)


def test_the_region_of_a_hand_by_the_body():
    """Two thirds of the way from the little finger to the index; the wrist below: it is upright."""
    region = of_pose_hand(*points((10, 30), (7, 10), (11.5, 10)))
    assert (region.x, region.y) == (pytest.approx(10), pytest.approx(10))
    assert region.width == pytest.approx(40)
    assert region.angle == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("last", "stays"),
    [
        (Region(105, 100, 40, 40, 0.0), True),
        (Region(109, 100, 40, 40, 0.0), False),  # moved by more than 0.2 of 40
        (Region(100, 100, 57, 57, 0.0), False),  # larger by more than 0.4
        (Region(100, 100, 40, 40, math.radians(39)), True),
        (Region(100, 100, 40, 40, math.radians(41)), False),
        (Region(100, 100, 40, 40, math.radians(-321)), True),  # the same as 39
    ],
)
def test_a_hand_is_followed_while_both_regions_agree(last, stays):
    anew = Region(100, 100, 40, 40, 0.0)
    assert follow(last, points((100, 100)), anew, HANDS) is (last if stays else anew)


def test_nothing_is_followed_that_was_not_seen_or_has_left():
    anew = Region(100, 100, 40, 40, 0.0)
    assert follow(None, None, anew, FACES) is anew
    last = Region(101, 100, 40, 40, 0.0)
    assert follow(last, points((115, 100)), anew, FACES) is last
    assert follow(last, points((117, 100)), anew, FACES) is anew  # beyond 16: the region less a fifth


def test_letterbox_and_turn():
    assert letterbox(160, 120) == Region(80, 60, 160, 160)
    assert turn(points((0, 0))[0], points((1, 0))[0], 0.0) == pytest.approx(0)
    assert turn(points((0, 0))[0], points((0, 1))[0], 0.0) == pytest.approx(math.pi / 2)
