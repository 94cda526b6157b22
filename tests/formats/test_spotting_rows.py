import pytest

from signspot.errors import FormatError
from signspot.formats.spotting_rows import COLUMNS, from_row, to_row
from signspot.types import LabelSource, Spotting


def test_only_word_and_time_are_needed_and_the_span_is_one_window() -> None:
    assert from_row({"word": "apple", "time": "2"}, "here") == Spotting(
        "apple", "", 2.0, 1.68, 2.32, 1.0, source=LabelSource.VERIFIED
    )
    assert from_row({"word": "apple", "time": 0.1}, "here").start == 0.0


def test_a_row_has_every_column_in_order() -> None:
    assert tuple(to_row(Spotting("a", "v", 1, 0, 2, 0.5))) == COLUMNS


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"time": 1}, "here: no 'word'"),
        ({"word": "a"}, "here: no 'time'"),
        ({"word": "a", "time": ""}, "here: time is empty"),
        ({"word": "a", "time": "soon"}, "time must be a finite number; got 'soon'"),
        ({"word": 7, "time": 1}, "word must be text; got 7"),
        ({"word": "a", "time": 1, "score": [1]}, "score must be a finite number; got a list of 1"),
        ({"word": "a", "time": -5}, "time must be between 0 and .*; got -5"),
        ({"word": "a", "time": 1, "start": 3, "end": 2}, "it ends at 2 s, before it starts at 3 s"),
        ({"word": "a", "time": 1, "score": 99}, "score must be between .*; got 99"),
        ({"word": "a", "time": 1, "false_alarms_per_hour": "nan"}, "false_alarms_per_hour must be a finite number"),
        ({"word": "\ud800", "time": 1}, "word contains unpaired surrogates"),
        ({"word": "a", "time": 1, "mirrored": "perhaps"}, "mirrored must be true or false; got 'perhaps'"),
        ({"word": "a", "time": 1, "source": "X"}, "source must be M, D or V"),
    ],
)
def test_each_mistake_says_where_and_what(row: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_row(row, "here")


@pytest.mark.parametrize(("text", "source"), [("M", "M"), ("verified", "V"), ("dictionary", "D"), (" d ", "D")])
def test_a_source_may_be_a_letter_or_a_name(text: str, source: str) -> None:
    assert from_row({"word": "a", "time": 1, "source": text}, "here").source == source


@pytest.mark.parametrize("name", ["\udc80", "\\udc80", "\\u005cudc80", "\\u005c", "\\\udc80u", "\\u005\udc80"])
def test_names_that_are_no_unicode_are_escaped_and_come_back(name: str) -> None:
    row = to_row(Spotting(name, name, 1, 0, 2, 0.5))
    str(row["word"]).encode("utf-8")
    assert from_row(row, "here").word == name
