"""Tables: CSV, JSON Lines and Parquet."""

import csv
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.types import Spotting


def read_csv(text: str, tmp_path: Path) -> list[Spotting]:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return read_spottings(tmp_path / "t.csv")


def test_a_person_can_read_csv(tmp_path: Path) -> None:
    write([Spotting("apple, red", "news.mp4", 1.28, 0.96, 1.6, 0.83, "apple-2")], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "word,video,time,start,end,score,exemplar,variant,mirrored,source,decision,confidence,false_alarms_per_hour,"
        "licence,consent,video_licence,video_consent,mouthed,note",
        '"apple, red",news.mp4,1.28,0.96,1.6,0.83,apple-2,,false,D,,,,,,,,,',
    ]


@pytest.mark.parametrize("word", ["=1+1", "+a", "-b", "@c", "\t=d", "'=e", "''-f", "'quoted'", "'", "good=1"])
def test_no_cell_is_run_by_a_spreadsheet_and_all_come_back(word: str, tmp_path: Path) -> None:
    spotting = Spotting(word, "=cmd|' /C calc'!A0.mp4", 1.0, 0.5, 1.5, 0.8, exemplar="@x")
    write([spotting], tmp_path / "t.csv")
    cells = next(csv.reader((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()[1:]))
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert read_spottings(tmp_path / "t.csv") == [spotting]


@pytest.mark.parametrize(
    "text", ["time,Word\n2,apple\n", "time;word\n2;apple\n", "\ufeffremark\ttime\tword \nx\t2\tapple\n\n"]
)
def test_columns_in_any_order_and_other_separators(text: str, tmp_path: Path) -> None:
    (spotting,) = read_csv(text, tmp_path)
    assert (spotting.word, spotting.time) == ("apple", 2.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word,score\na,1\n", "line 1: no column 'time' among word, score"),
        ("\n", "line 1: no column 'word' among none"),
        ("word,time,time\na,1,2\n", "line 1: column 'time' appears twice"),
        (f"word,time{',word' * 1000}\n", "line 1: 1,002 columns; at most 1,000"),
        ("word,time\na,1\nb\n", "line 3: 1 cells under 2 columns"),
        ("word,time\na,1\nb,2,3\n", "line 3: 3 cells under 2 columns"),
        ("word,time\na,later\n", "line 2: time must be a finite number; got 'later'"),
        ('word,time\n"a,1\n', "line 2: not CSV"),
    ],
)
def test_each_mistake_in_csv_gives_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read_csv(text, tmp_path)


def test_what_a_spreadsheet_saves_on_windows_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("word;time\r\nnaïve;1\r\n".encode("cp1252"))
    assert [spotting.word for spotting in read_spottings(tmp_path / "t.csv")] == ["naïve"]


def test_one_object_per_line_with_words_legible(tmp_path: Path) -> None:
    write([Spotting("手話", "v", 1, 0, 2, 0.5), Spotting("b", "v", 1, 0, 2, 0.5)], tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith('{"word": "手話", "video": "v", "time": 1.0')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"word": "a", "time": 1}\n\n{"word": ', "line 3: not JSON"),
        ('{"word": "a", "time": 1}\n[1]\n', "line 2: expected a JSON object; got a list"),
        ('{"word": "a"}\n', "line 1: no 'time'"),
        ('{"word": "a", "time": NaN}\n', "line 1: time must be a finite number"),
        ("[" * 100_000, "line 1: JSON nested too deeply|line 1: not JSON"),
    ],
)
def test_each_mistake_in_json_lines_gives_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_spottings(tmp_path / "t.jsonl")


def test_columns_are_typed(tmp_path: Path) -> None:
    write([Spotting("007", "v", 1, 0, 2, 0.5)], tmp_path / "t.parquet")
    kinds = {field.name: str(field.type) for field in pyarrow.parquet.read_schema(tmp_path / "t.parquet")}
    assert (kinds["word"], kinds["time"], kinds["mirrored"]) == ("string", "double", "bool")


def test_a_table_of_another_tool_needs_word_and_time(tmp_path: Path) -> None:
    table = pyarrow.table({"time": pyarrow.array([3], pyarrow.int32()), "word": ["a"], "rank": [[1]]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert [(spotting.word, spotting.time) for spotting in read_spottings(tmp_path / "t.parquet")] == [("a", 3.0)]
    pyarrow.parquet.write_table(pyarrow.table({"word": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="'time'"):
        read_spottings(tmp_path / "t.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"word": ["a", None], "time": [1.0, 2.0]}), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="'word'"):
        read_spottings(tmp_path / "t.parquet")


def test_a_pyarrow_that_refuses_this_numpy_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "pyarrow.py").write_text('raise ImportError("pyarrow requires NumPy 2.0, found 1.26.4")')
    monkeypatch.syspath_prepend(tmp_path / "modules")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(FormatError, match=r"does not load \(pyarrow requires NumPy 2\.0.*pip install 'pyarrow=="):
        write([Spotting("apple", "news.mp4", 1.28, 0.96, 1.6, 0.83, "apple-2")], tmp_path / "t.parquet")
