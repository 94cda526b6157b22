"""Results that a server keeps in memory for the next search."""

import numpy as np

from signspot.types import Grid, Track
from signspot.web.searching import _Kept, track_bytes


def test_tracks_are_kept_up_to_a_number_of_bytes_those_used_last() -> None:
    grid = Grid(25.0, 16, 1, 115)
    tracks = [Track(np.eye(100, 8, dtype=np.float16), grid, "0123", f"{number}.mp4") for number in range(4)]
    each = track_bytes(tracks[0])
    assert each == 100 * 8 * 2
    kept = _Kept(500, track_bytes, 2 * each)
    for track in tracks[:2]:
        kept.put(track.video, track)
    assert kept.get("0.mp4") is tracks[0]
    kept.put("2.mp4", tracks[2])
    assert [name for name in ("0.mp4", "1.mp4", "2.mp4") if kept.get(name) is not None] == ["0.mp4", "2.mp4"]
    small = _Kept(500, track_bytes, each // 2)
    small.put("3.mp4", tracks[3])
    assert small.get("3.mp4") is tracks[3], "one is kept, however large"
    some = _Kept(2)
    for number in range(3):
        some.put(number, str(number))
    assert list(some.values) == [1, 2]
