from dataclasses import replace
from pathlib import Path

import pytest

from signspot.dictionary.csv_file import read_table, table_in
from signspot.errors import DictionaryError
from signspot.formats.formats import write
from signspot.types import LabelSource, Segment, Spotting


def table(tmp_path: Path, text: str | bytes, name: str = "signs.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_all_columns(tmp_path: Path) -> None:
    text = "file,word,signer,source,licence,variant,start,end\na.mp4,apple,Anna,Home,CC BY 4.0,2,0.5,1.25\n"
    (one,) = read_table(table(tmp_path, text)).exemplars
    assert (one.word, one.id, one.path, one.signer) == ("apple", "a@0.50", tmp_path / "a.mp4", "Anna")
    assert (one.source, one.licence, one.variant, one.segment) == ("Home", "CC BY 4.0", "2", Segment(0.5, 1.25))


@pytest.mark.parametrize(
    "data",
    [
        b"word,file\nice cream,a.mp4\n",
        b"\xef\xbb\xbffile;word\r\na.mp4;ice cream\r\n",
        "file\tWord\na.mp4\tice cream".encode("utf-16"),
        b'FILE , word,remark\na.mp4,"ice cream","one, two\nthree"\n',
        b"\n\nfilename,gloss\n\na.mp4, ice  cream \n\n",
        b"file,word,signer\na.mp4,ice cream\n",
    ],
)
def test_tables_as_spreadsheets_save_them(tmp_path: Path, data: bytes) -> None:
    contents = read_table(table(tmp_path, data))
    assert [(e.id, e.word, e.signer) for e in contents.exemplars] == [("a", "ice cream", "")]
    assert contents.problems == ()


def test_words_in_the_windows_alphabet(tmp_path: Path) -> None:
    (one,) = read_table(table(tmp_path, "file;word\na.mp4;café\n".encode("cp1252"))).exemplars
    assert one.word == "café"


def test_backslashes_and_absolute_paths(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.mp4").touch()
    text = f"file,word\nsub\\a.mp4,a\n{tmp_path / 'sub' / 'a.mp4'},b\n../up.mp4,c\n"
    exemplars = read_table(table(tmp_path, text)).exemplars
    assert [e.path for e in exemplars] == [tmp_path / "sub" / "a.mp4"] * 2 + [tmp_path / ".." / "up.mp4"]
    assert [e.id for e in exemplars] == [r"sub\a", "a", "up"], "folders of one machine are in no result"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,signer\na,b\n", "line 1: no column 'word'; found: file, signer"),
        ("x;y\na;b\n", "no column 'file' and no column 'word'; found: x, y"),
        ("", "no column 'file'.*found: none"),
        ("file,word\n,\n", "no line with a file and a word"),
        ("file,word\na.mp4,\n", "line 2: no word"),
    ],
)
def test_no_table(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DictionaryError, match=message):
        read_table(table(tmp_path, text))


def test_bad_lines_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    text = (
        'file,word,start,end\na.mp4,good,,\n,nofile,,\n"b\nb.mp4",,,\nc.mp4,yes, please,1,2\n'
        'd.mp4,late,3,2\ne.mp4,half,1,\nf.mp4,text,x,y\ng.mp4,fine,"0,5",1\n'
    )
    contents = read_table(table(tmp_path, text))
    assert [e.word for e in contents.exemplars] == ["good", "fine"]
    lines = [problem.message.partition(":")[0] for problem in contents.problems]
    assert lines == ["line 3", "line 4", "line 6", "line 7", "line 8", "line 9"]
    assert "no file" in contents.problems[0].message
    assert "5 cells for 4 columns" in contents.problems[2].message
    assert "got '3' and '2'" in contents.problems[3].message


def test_a_file_with_several_words_or_segments(tmp_path: Path) -> None:
    elsewhere = tmp_path / "mon" / "b.mp4"
    rows = ("a.mp4,one,0,1", "a.mp4,two,1,2", "mon/a.mp4,one,1,2", f"{elsewhere},one,1.234,2", "../c.mp4,two,,")
    text = "\n".join(("file,word,start,end", *rows, *rows[:1], *rows[-1:]))
    assert [(e.id, e.word) for e in read_table(table(tmp_path, text)).exemplars] == [
        ("a@0.00", "one"),
        ("a@1.00", "two"),
        ("mon/a@1.00", "one"),
        ("b@1.23", "one"),
        ("c", "two"),
        ("a@0.00#2", "one"),
        ("c#2", "two"),
    ]


class TestChoosing:
    def test_the_one_that_fits(self, tmp_path: Path) -> None:
        table(tmp_path, "start,end\n1,2\n", "spottings.csv")
        assert table_in(tmp_path / ".") == tmp_path / "spottings.csv"  # nothing else is there
        (tmp_path / "a.mp4").touch()
        assert table_in(tmp_path) is None
        fitting = table(tmp_path, "file,word\n", "signs.csv")
        assert table_in(tmp_path) == fitting
        table(tmp_path, "file;word\n", "more.tsv")
        with pytest.raises(DictionaryError, match=r"more\.tsv"):
            table_in(tmp_path)
        assert table_in(table(tmp_path, "", "dictionary.csv").parent) == tmp_path / "dictionary.csv"


def test_a_table_of_spottings_is_a_dictionary(tmp_path: Path) -> None:
    (tmp_path / "mon").mkdir()
    (tmp_path / "mon" / "a.mp4").touch()
    video = str(tmp_path / "mon" / "a.mp4")
    yes = Spotting("apple", video, 1.0, 0.5, 1.5, 0.9, "x", "north", source=LabelSource.VERIFIED, decision="yes")
    write([yes, replace(yes, start=3.0, end=4.0, variant=""), replace(yes, decision="no")], tmp_path / "found.csv")
    contents = read_table(tmp_path / "found.csv")
    assert [(e.word, e.path, e.variant, e.segment) for e in contents.exemplars] == [
        ("apple", tmp_path / "mon" / "a.mp4", "north", Segment(0.5, 1.5)),
        ("apple", tmp_path / "mon" / "a.mp4", "", Segment(3.0, 4.0)),
    ]
    assert [e.source for e in contents.exemplars] == ["", ""]
    assert [problem.message for problem in contents.problems] == ["line 4: a person rejected it (decision no)"]
