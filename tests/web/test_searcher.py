"""Searches for the pages: results that stay in memory, and a hit in time with its exemplar."""

import numpy as np
import pytest

from signspot.types import Grid, Track
from signspot.web.searcher import _RecentResults, exemplar_shares, track_bytes


def test_tracks_are_kept_up_to_a_number_of_bytes_those_used_last() -> None:
    grid = Grid(25.0, 16, 1, 115)
    tracks = [Track(np.eye(100, 8, dtype=np.float16), grid, "0123", f"{number}.mp4") for number in range(4)]
    size = track_bytes(tracks[0])
    assert size == 100 * 8 * 2
    recent = _RecentResults(500, track_bytes, 2 * size)
    for track in tracks[:2]:
        recent.put(track.video, track)
    assert recent.get("0.mp4") is tracks[0]
    recent.put("2.mp4", tracks[2])
    assert [name for name in ("0.mp4", "1.mp4", "2.mp4") if recent.get(name) is not None] == ["0.mp4", "2.mp4"]
    small = _RecentResults(500, track_bytes, size // 2)
    small.put("3.mp4", tracks[3])
    assert small.get("3.mp4") is tracks[3], "one is kept, however large"
    few = _RecentResults(2)
    for number in range(3):
        few.put(number, str(number))
    assert list(few.values) == [1, 2]


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
