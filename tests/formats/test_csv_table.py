from pathlib import Path

import pytest

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.records import Spotting


def read(text: str, tmp_path: Path) -> list[Spotting]:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return read_spottings(tmp_path / "t.csv")


def test_a_person_can_read_it(tmp_path: Path) -> None:
    write([Spotting("apple, red", "news.mp4", 1.28, 0.96, 1.6, 0.83, "apple-2")], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "word,video,time,start,end,score,exemplar,variant,mirrored,source",
        '"apple, red",news.mp4,1.28,0.96,1.6,0.83,apple-2,,false,D',
    ]


@pytest.mark.parametrize(
    "text", ["time,Word\n2,apple\n", "time;word\n2;apple\n", "\ufeffnote\ttime\tword \nx\t2\tapple\n\n"]
)
def test_columns_in_any_order_and_other_separators(text: str, tmp_path: Path) -> None:
    (found,) = read(text, tmp_path)
    assert (found.word, found.time) == ("apple", 2.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word,score\na,1\n", "line 1: no column 'time' among word, score"),
        ("\n", "line 1: no column 'word' among none"),
        ("word,time,time\na,1,2\n", "line 1: column 'time' is there twice"),
        ("word,time\na,1\nb\n", "line 3: 1 cells under 2 columns"),
        ("word,time\na,1\nb,2,3\n", "line 3: 3 cells under 2 columns"),
        ("word,time\na,later\n", "line 2: time must be a finite number; got 'later'"),
        ('word,time\n"a,1\n', "line 2: not CSV"),
    ],
)
def test_each_mistake_gives_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read(text, tmp_path)


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("word,time\nnaïve,1\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"not UTF-8 text \(byte 12\). Save it as UTF-8"):
        read_spottings(tmp_path / "t.csv")
