"""The measure of promised alarms: halves of a corpus share no word, and every promise has its row."""

import pytest

from experiments.promised_false_alarms import half_of, keep_promises
from signspot.evaluation.streams import StreamOptions, material_of_clips
from signspot.spotting.spotter import load
from signspot_synthetic.isolated_signs import isolated_clips


def test_halves_share_no_word() -> None:
    clips = isolated_clips(8, 1, 3)
    first, second = ({clip.word for clip in half_of(clips, half)} for half in ("first", "second"))
    assert first.isdisjoint(second)
    assert first | second == {clip.word for clip in clips}


@pytest.mark.long
def test_the_table_has_a_row_for_every_promise() -> None:
    options = StreamOptions(
        words=3, signs=170, signs_per_stream=170, signed=False
    )  # over a minute, so that there are rates
    streams = material_of_clips("synthetic", isolated_clips(24, 6, 3), options)
    rows = keep_promises(load("warping", cache=False), streams)
    assert [row[1:4] for row in rows] == [("synthetic", n, rate) for n in ("1", "3", "5") for rate in ("1", "10", "60")]
    assert all(float(row[4]) >= 0 for row in rows)
