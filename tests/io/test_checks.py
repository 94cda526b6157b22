"""Checks of numbers, times, scores, texts, names of files and records."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from signspot.errors import FormatError
from signspot.io.checks import (
    LATEST,
    check_int,
    check_number,
    check_score,
    check_text,
    check_time,
    parse_json,
    path_inside,
    quoted,
    record_checker,
)


@pytest.mark.parametrize(
    ("value", "number"), [(1, 1.0), ("1.5", 1.5), (" -2e-3 ", -0.002), (".5", 0.5), ("7.", 7.0), (Decimal("0.1"), 0.1)]
)
def test_numbers(value: object, number: float) -> None:
    assert check_number(value, "x") == number


@pytest.mark.parametrize(
    "value", ["", "nan", "inf", "1_0", "٣", "½", "0x1", "1e999", "9" * 5000, 10**400, True, None, [1], b"1", 1j]
)
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(FormatError, match=r"^here: score .{1,120}$"):
        check_number(value, "here: score")


def test_times_and_scores_have_bounds() -> None:
    assert check_time(LATEST, "t") == LATEST
    assert check_score(1 + 1e-7, "s") == 1.0
    assert check_score("0", "s") == 0.0
    for value in (-0.001, LATEST + 1, 1e308):
        with pytest.raises(FormatError, match=r"^t "):
            check_time(value, "t")
    for value in (-0.01, 1.01, 99):
        with pytest.raises(FormatError, match=r"^s "):
            check_score(value, "s")


def test_whole_numbers() -> None:
    assert check_int(3, "n", 1, 3) == 3
    for value in (0, 4, True, 2.0, "2", 10**5000):
        with pytest.raises(FormatError, match=r"n .* 1 .* 3"):
            check_int(value, "n", 1, 3)


def test_text_is_unicode() -> None:
    assert check_text(None, "word") == ""
    assert check_text("手話", "word") == "手話"
    for value in ("a\udc80", 7, b"a", ["a"]):
        with pytest.raises(FormatError, match=r"^word "):
            check_text(value, "word")


@pytest.mark.parametrize(
    "name", ["../a", "a/../../b", "/etc/x", "..\\a", "C:\\a", "C:a", "\\a", "a\0b", " ", "x" * 300, 7, None]
)
def test_no_name_leads_out_of_its_folder(tmp_path: Path, name: object) -> None:
    with pytest.raises(FormatError, match=r"^video "):
        path_inside(tmp_path, name, "video")


@pytest.mark.parametrize("there", [True, False])
def test_no_link_leads_out_of_its_folder(tmp_path: Path, there: bool) -> None:
    """Neither to a file, nor to a place where one may be made."""
    (tmp_path / "own").mkdir()
    if there:
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret" / "a").write_text("x")
    (tmp_path / "own" / "link").symlink_to(tmp_path / "secret")
    for name in ("link", "link/a"):
        with pytest.raises(FormatError, match=r"^video "):
            path_inside(tmp_path / "own", name, "video")
    (tmp_path / "own" / "within").symlink_to(tmp_path / "own" / "b")
    assert path_inside(tmp_path / "own", "within", "video") == tmp_path / "own" / "within"


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "x, line 3: not JSON"), ("[" * 100_000, "nested too deeply"), ("9" * 5000, "too many digits")],
)
def test_json_that_is_none(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_json(text, "x", 3)


class Side(StrEnum):
    LEFT = "L"
    RIGHT = "R"


@dataclass(frozen=True)
class Sign:
    word: str
    start: float
    end: float
    score: float = 1.0
    side: Side = Side.LEFT
    rank: int = 0
    seen: bool = False
    others: tuple[str, ...] = ()
    note: str | None = None


SIGN: dict[str, Any] = {"word": "a", "start": 1, "end": 2.5, "side": "R", "seen": True, "others": ["b"], "foreign": 1}


def test_a_record_of_plain_values() -> None:
    assert record_checker(Sign, ("score",))(SIGN) == Sign("a", 1.0, 2.5, 1.0, Side.RIGHT, 0, True, ("b",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"word": 1}, "word must be text"),
        ({"start": 3}, "it ends at 2.5 s, before it starts at 3 s"),
        ({"score": 2}, "score must be between"),
        ({"side": "X"}, "side must be one of L, R; got 'X'"),
        ({"side": []}, "side must be one of"),
        ({"rank": 1.0}, "rank must be a whole number"),
        ({"seen": 1}, "seen must be one of True, False; got 1"),
        ({"others": "b"}, "others must be a list"),
        ({"others": [None, 1]}, "others must be text; got 1"),
    ],
)
def test_a_value_that_does_not_fit_its_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        record_checker(Sign, ("score",))(SIGN | change)


def test_a_field_that_is_missing() -> None:
    with pytest.raises(FormatError, match=r"no Sign: .*'word'"):
        record_checker(Sign)({"start": 1, "end": 2})


def test_values_are_shown_shortly() -> None:
    assert quoted("x" * 500) == "'" + "x" * 59 + "…"
    assert quoted(10**5000) == "a number of about 5,000 digits"
    assert quoted({"a": 1}) == "a dict of 1"
