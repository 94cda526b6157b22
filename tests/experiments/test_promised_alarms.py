"""The measure of promised alarms: halves of a corpus share no word, and every promise has its row."""

from experiments.promised_alarms import half_of, keep_promises
from signspot.evaluation.streams import StreamOptions, material_of_clips
from signspot.spotting.spotter import load
from signspot_synthetic.isolated_signs import isolated_clips


def test_halves_share_no_word_and_the_table_has_a_row_for_every_promise() -> None:
    clips = isolated_clips(24, 6, 3)
    first, second = ({clip.word for clip in half_of(clips, half)} for half in ("first", "second"))
    assert first.isdisjoint(second)
    assert first | second == {clip.word for clip in clips}
    options = StreamOptions(words=3, signs=170, each=170, signed=False)  # over a minute, so that there are rates
    rows = keep_promises(load("warping", cache=False), material_of_clips("synthetic", clips, options))
    assert [row[1:4] for row in rows] == [("synthetic", n, rate) for n in ("1", "3", "5") for rate in ("1", "10", "60")]
    assert all(float(row[4]) >= 0 for row in rows)
