"""A hit beside its exemplar: moments that look the same are shown at the same time."""

import numpy as np
import pytest

from signspot.web.aligned import exemplar_shares


def test_a_hold_in_the_hit_holds_the_exemplar() -> None:
    """The exemplar goes 0 1 2 3 4; the hit holds 1 for four frames, then hurries."""
    exemplar = np.arange(5.0)[:, None] ** 2
    hit = np.array([0, 1, 1, 1, 1, 2, 4])[:, None] ** 2
    shares = exemplar_shares(hit, exemplar)
    assert shares[0] == 0
    assert shares[1:5] == pytest.approx(0.25)
    assert shares[-1] == pytest.approx(1.0, abs=0.13)
    assert (np.diff(shares) >= 0).all()


def test_the_same_sign_at_another_speed_is_a_straight_line() -> None:
    exemplar = np.linspace(0, 1, 20)[:, None]
    shares = exemplar_shares(np.linspace(0, 1, 41)[:, None], exemplar)
    assert shares == pytest.approx(np.linspace(0, 1, 41), abs=0.04)
    assert list(exemplar_shares(exemplar[:1], exemplar)) == [0.0]
