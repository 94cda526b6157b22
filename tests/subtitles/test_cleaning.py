"""What is said stays; marks, sounds and speakers' names go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.subtitles.cues import clean


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("<i>Hello</i> there", "Hello there"),
        ('<font color="#ff0000">Red</font>', "Red"),
        ("<c.yellow.bg_blue>Hello</c> <v John Smith>you</v>", "Hello you"),
        ("one<00:00:01.500> two <00:01,5>three", "one two three"),
        (r"{\an8}{\pos(1,2)}Up here", "Up here"),
        ("{y:i}Slanted", "Slanted"),
        (r"two\Nlines and\hspace", "two\nlines and space"),
        ("two<br/>lines", "two\nlines"),
        ("<ruby>漢<rt>kan</rt></ruby>字", "漢字"),
        ("I <3 you, 2 < 3 > 1", "I <3 you, 2 < 3 > 1"),
        ("Tom &amp; Jerry&nbsp;&lt;3 &#233;&#xE9;", "Tom & Jerry <3 éé"),
        ("AT&T & R&copy", "AT&T & R&copy"),
        ("JOHN: Hello", "Hello"),
        ("MAN 2: Hello", "Hello"),
        (">> JOHN SMITH: Hello", "Hello"),
        ("- DR. O'NEIL: Hello", "Hello"),
        (">>> Good evening", "Good evening"),
        ("- Yes?\n– No!", "Yes?\nNo!"),
        ("-5 degrees", "-5 degrees"),
        ("Remember: be kind", "Remember: be kind"),
        ("It is 10:30", "It is 10:30"),
        ("♪ Happy birthday to you ♪", "Happy birthday to you"),
        ("# Happy birthday #", "Happy birthday"),
        ("We're #1", "We're #1"),
        ("♪♪", ""),
        ("[APPLAUSE]", ""),
        ("[door\nopens] Hello", "Hello"),
        ("(LAUGHS) Well (as I said)", "Well (as I said)"),
        ("It cost (100) pounds", "It cost (100) pounds"),
        ("  a \t b\u00a0c\u200b ", "a b c"),
    ],
)
def test_a_cue_by_hand(cue: str, text: str) -> None:
    assert clean(cue) == text


@given(st.text())
def test_lines_are_never_empty_and_never_padded(text: str) -> None:
    cleaned = clean(text)
    assert all(line and line == line.strip() for line in cleaned.split("\n")) or cleaned == ""


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1).map(" ".join))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert clean(text) == text
    assert clean(f"- <i>{{\\an8}}{text}</i> [SOUND]") == text
