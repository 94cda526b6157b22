"""Pixels as the RGB trunk wants them, and thumbnails."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.video.clips import squash_and_crop, thumbnail


def test_squash_ignores_the_aspect_and_crops_the_centre():
    image = np.zeros((512, 1024, 3), np.uint8)
    image[:, 512:] = (255, 0, 51)
    pixels = squash_and_crop(image)
    assert pixels.shape == (3, 224, 224)
    assert pixels.dtype == np.float32
    assert pixels.flags.c_contiguous
    np.testing.assert_allclose(pixels[:, 100, 20], [-0.5, -0.5, -0.5])
    np.testing.assert_allclose(pixels[:, 100, 200], [0.5, -0.5, -0.3], atol=1e-6)
    assert abs(int((pixels[0, 0] > 0).argmax()) - 112) <= 1  # the middle stays in the middle


@pytest.mark.parametrize(("size", "wider"), [(224, {"size": 226, "squash": 256}), (56, {"size": 58, "squash": 64})])
def test_crops_of_any_size_leave_16_of_256_pixels_on_each_side(size, wider):
    image = np.zeros((256, 256, 3), np.uint8)
    image[16:240, 16:240] = 255
    assert (squash_and_crop(image, size=size) == 0.5).all()
    assert not (squash_and_crop(image, **wider) == 0.5).all()


def test_a_resize_is_bilinear_at_pixel_centres():
    image = np.array([[0, 100], [100, 200]], np.uint8)[..., None].repeat(3, axis=2)
    pixels = (squash_and_crop(image, size=4, squash=4)[0] + 0.5) * 255
    np.testing.assert_allclose(pixels[0], [0, 25, 75, 100], atol=0.51)  # worked by hand: weights 0, 1/4, 3/4, 1
    np.testing.assert_allclose(pixels[:, 3], [100, 125, 175, 200], atol=0.51)


def test_the_signers_box_is_cut_first():
    image = np.zeros((100, 200, 3), np.uint8)
    image[20:60, 100:150] = 255
    assert (squash_and_crop(image, bbox=(0.2, 0.5, 0.6, 0.75)) == 0.5).all()
    assert squash_and_crop(image, bbox=(-0.3, -0.1, 1.4, 2.0)).min() == -0.5  # beyond the picture is left out


@pytest.mark.parametrize("bbox", [(0.5, 0, 0.5, 1), (0, 0.9, 1, 0.1), (1.0, 0, 2.0, 1), (0, 0, float("nan"), 1)])
def test_impossible_boxes(bbox):
    with pytest.raises(OptionsError):
        squash_and_crop(np.zeros((10, 10, 3), np.uint8), bbox=bbox)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 0.999), st.floats(0, 0.999), st.floats(1e-6, 1))
def test_any_box_of_any_picture_gives_pixels_in_range(height, width, y0, x0, side):
    image = np.full((height, width, 3), 255, np.uint8)
    pixels = squash_and_crop(image, size=8, squash=10, bbox=(y0, x0, y0 + side, x0 + side))
    assert (pixels == 0.5).all()


@pytest.mark.parametrize("image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.float32)])
def test_what_is_no_picture_is_refused(image):
    with pytest.raises(OptionsError):
        squash_and_crop(image)


def test_a_crop_larger_than_the_square_is_refused():
    with pytest.raises(OptionsError, match="256"):
        squash_and_crop(np.zeros((4, 4, 3), np.uint8), size=300, squash=256)


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
    with pytest.raises(OptionsError):
        thumbnail(make_video(tmp_path / "v.mp4", frames=1), height=0)
