"""SubRip as people and tools really write it."""

import pytest

from signspot.subtitles.cues import parse_stamp
from signspot.subtitles.reading import read_srt


def cues(text: str) -> list[tuple[float, float, str]]:
    return [(cue.start, cue.end, cue.text) for cue in read_srt(text, "a.srt").cues]


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("00:00:01,500", 1.5),
        ("00:00:01.500", 1.5),
        ("1:02:03", 3723.0),
        ("02:03,4", 123.4),
        ("00:00:01:500", 1.5),
        ("00: 00: 01, 500", 1.5),
        ("100:00:00,000", 360000.0),
        ("-00:00:01,500", -1.5),
        ("00:60:00", None),
        ("00:00:75", None),
        ("12", None),
        ("a:b:c", None),
        ("00:00:-1,000", None),
        ("", None),
    ],
)
def test_stamps(stamp: str, seconds: float | None) -> None:
    assert parse_stamp(stamp) == seconds


def test_missing_blank_lines_and_numbers() -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\none\n"
        "2\n00:00:02,000 --> 00:00:03,000\ntwo\nlines\n"
        "00:00:03,000 --> 00:00:04,000\nno number\n\n"
        "00:00:04,000 --> 00:00:05,000\nfour"
    )
    assert cues(text) == [(1, 2, "one"), (2, 3, "two\nlines"), (3, 4, "no number"), (4, 5, "four")]


def test_a_subtitle_that_is_a_number() -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\n20\n\n"
        "2\n00:00:02,000 --> 00:00:03,000\nHow many?\n20\n"
        "3\n00:00:03,000 --> 00:00:04,000\n7\n"
        "00:00:04,000 --> 00:00:05,000\n2012\n"
    )
    assert cues(text) == [(1, 2, "20"), (2, 3, "How many?\n20"), (3, 4, "7"), (4, 5, "2012")]


def test_blank_lines_inside_a_text_and_after_a_number() -> None:
    text = "1\n\n00:00:01,000 --> 00:00:02,000\none\n\nmore\n\n\n2\n\n00:00:02,000 --> 00:00:03,000\ntwo\n"
    assert cues(text) == [(1, 2, "one\nmore"), (2, 3, "two")]


def test_numbers_out_of_order_and_empty_cues() -> None:
    text = "9\n00:00:01,000 --> 00:00:02,000\n\n9\n00:00:02,000 --> 00:00:03,000\n\n4\n00:00:03,000 --> 00:00:04,000\nx"
    assert cues(text) == [(1, 2, ""), (2, 3, ""), (3, 4, "x")]


@pytest.mark.parametrize("arrow", ["-->", "->", "--->", "—>", "–>", "→", "-- >"])
def test_arrows(arrow: str) -> None:
    assert cues(f"00:00:01,000 {arrow} 00:00:02,000\nHi") == [(1, 2, "Hi")]
    assert cues(f"00:00:01,000{arrow}00:00:02,000  X1:10 X2:20 align:start\nHi") == [(1, 2, "Hi")]


def test_text_on_the_line_of_the_times_and_arrows_in_a_text() -> None:
    assert cues("00:00:01,000 --> 00:00:02,000 Hello\nyou -> me --> him") == [(1, 2, "Hello\nyou -> me --> him")]


def test_broken_times_are_reported_with_their_line() -> None:
    sheet = read_srt(
        "1\n00:00:01,000 --> 00:00:02,000\none\n\n2\n00:00:xx --> 00:00:03\ntwo\n\n3\n1:1:1 --> 1:1:2\nx", "a"
    )
    assert [cue.text for cue in sheet.cues] == ["one", "x"]
    assert [problem.line for problem in sheet.problems] == [6]
    assert "'00:00:xx --> 00:00:03'" in str(sheet.problems[0])


def test_text_before_the_first_times_is_reported() -> None:
    sheet = read_srt("Subtitles by me\n\n1\n00:00:01,000 --> 00:00:02,000\none", "a")
    assert [cue.text for cue in sheet.cues] == ["one"]
    assert str(sheet.problems[0]) == "line 1: text before the first times; left out"
