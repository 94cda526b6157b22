"""The eight orientations, pixel by pixel."""

import itertools

import numpy as np
import pytest

from signspot.video.probing import Orientation, from_display_matrix

ALL = [Orientation(*flags) for flags in itertools.product([False, True], repeat=3)]


@pytest.mark.parametrize("orientation", ALL)
def test_upright_moves_pixels_where_the_matrix_sends_them(orientation):
    across, down = (-1 if orientation.flipped_across else 1), (-1 if orientation.flipped_down else 1)
    a, b, c, d = (0, down, across, 0) if orientation.transposed else (across, 0, 0, down)
    matrix = np.array([a, b, 0, c, d, 0, 0, 0, 1], np.int32) * 65536
    assert from_display_matrix(matrix) == orientation
    image = np.random.default_rng(0).integers(0, 255, (5, 7, 3), dtype=np.uint8)
    upright = orientation.upright(image)
    assert upright.flags.c_contiguous
    for y, x in itertools.product(range(5), range(7)):
        column, row = a * x + c * y, b * x + d * y
        column += 0 if (a + c) > 0 else upright.shape[1] - 1
        row += 0 if (b + d) > 0 else upright.shape[0] - 1
        assert (upright[row, column] == image[y, x]).all()


def test_degrees():
    assert [o.degrees for o in ALL if not (o.transposed and o.flipped_across == o.flipped_down)] == [
        0, 180, 0, 180, 270, 90,
    ]  # fmt: skip


def test_a_slightly_turned_matrix_is_the_nearest_quarter_turn():
    matrix = np.array([3000, 65000, 0, -65000, 3000, 0, 0, 0, 1 << 30], np.int32)
    assert from_display_matrix(matrix) == Orientation(transposed=True, flipped_across=True)
