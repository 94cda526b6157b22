"""Sizes that fit; colours that survive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.video.decoding import fitted


@given(st.integers(1, 9000), st.integers(1, 9000), st.integers(1, 9000))
def test_fitted_keeps_the_aspect_within_a_pixel(width, height, side):
    new_width, new_height = fitted(width, height, side)
    assert max(new_width, new_height) == min(side, max(width, height))
    scale = max(new_width, new_height) / max(width, height)
    assert abs(new_width - width * scale) <= 1
    assert abs(new_height - height * scale) <= 1


def test_no_limit_is_no_change():
    assert fitted(7680, 4320, None) == (7680, 4320)


def test_a_limit_is_at_least_one_pixel():
    with pytest.raises(OptionsError, match="got -3"):
        fitted(64, 64, -3)
