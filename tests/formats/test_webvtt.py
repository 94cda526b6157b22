import re
from dataclasses import replace
from pathlib import Path

import pytest

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.types import LabelSource, Spotting

APPLE = Spotting("apple", "news.mp4", 1.28004, 0.96004, 1.60004, 0.8312345, "apple-2", "b", True)
LATE = replace(APPLE, word="late", time=4000.0, start=3999.5, end=4000.5)


def written(tmp_path: Path, *spottings: Spotting) -> Path:
    write(spottings, tmp_path / "t.vtt")
    return tmp_path / "t.vtt"


def edit(path: Path, old: str, new: str) -> list[Spotting]:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    return read_spottings(path)


def test_a_cue_shows_the_word_and_its_score(tmp_path: Path) -> None:
    text = written(tmp_path, APPLE).read_text()
    assert re.match(r"WEBVTT\n\nNOTE signspot checksum [0-9a-f]{64}\n\nNOTE signspot 1 {", text)
    assert text.endswith("\n\n1\n00:00:00.960 --> 00:00:01.600\napple 0.83\n")


def test_cues_are_in_order_of_time_and_markup_is_escaped(tmp_path: Path) -> None:
    text = written(tmp_path, LATE, replace(APPLE, word="a<b>&-->\n")).read_text()
    assert text.index("\na&lt;b&gt;&amp;--&gt;\\u000a 0.83\n") < text.index("\n01:06:39.500 --> 01:06:40.500\nlate")
    assert sum("-->" in line for line in text.splitlines()) == 2


def test_an_arrow_in_a_word_is_no_time(tmp_path: Path) -> None:
    spottings = [replace(APPLE, word="00:01 → 00:02"), replace(APPLE, word="00:01 --> 00:02")]
    assert read_spottings(written(tmp_path, *spottings)) == spottings


def test_an_edited_word_wins_and_is_a_persons(tmp_path: Path) -> None:
    (edited,) = edit(written(tmp_path, APPLE), "\napple 0.83", "\npear 0.83")
    assert (edited.word, edited.score, edited.exemplar, edited.source) == ("pear", 1.0, "", LabelSource.VERIFIED)
    assert (edited.start, edited.end, edited.video) == (0.96004, 1.60004, "news.mp4")


def test_a_moved_boundary_wins_and_the_rest_stays_exact(tmp_path: Path) -> None:
    (spotting,) = edit(written(tmp_path, APPLE), "--> 00:00:01.600", "--> 00:00:01.700")
    assert spotting == replace(APPLE, end=1.7)


def test_a_span_moved_away_from_the_peak_takes_its_middle(tmp_path: Path) -> None:
    path = written(tmp_path, APPLE)
    (spotting,) = edit(path, "00:00:00.960 --> 00:00:01.600", "00:00:03.000 --> 00:00:04.000")
    assert spotting == replace(APPLE, start=3.0, end=4.0, time=3.5)


def test_a_deleted_cue_does_not_hand_its_note_to_the_next(tmp_path: Path) -> None:
    spottings = edit(written(tmp_path, APPLE, LATE), "1\n00:00:00.960 --> 00:00:01.600\napple 0.83\n\n", "")
    assert spottings == [LATE]


def test_a_foreign_file_gives_a_persons_spottings(tmp_path: Path) -> None:
    (tmp_path / "talk.vtt").write_bytes(
        b"\xef\xbb\xbfWEBVTT - a title\r\nX-MAP: 1\r\n\r\nSTYLE\r\n::cue {}\r\n\r\nNOTE a remark\r\n\r\n"
        b"00:02.000 --> 00:03.500 align:start\r\n<v Ann>red</v> &amp;\r\n<i>green</i>\r\n\r\n\r\n"
        b"intro\r\n01:00:00.000 --> 01:00:01.000\r\napple 0.83\r\n"
    )
    assert read_spottings(tmp_path / "talk.vtt") == [
        Spotting("red & green", "talk", 2.75, 2.0, 3.5, 1.0, source=LabelSource.VERIFIED),
        Spotting("apple 0.83", "talk", 3600.5, 3600.0, 3601.0, 1.0, source=LabelSource.VERIFIED),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n00:01.000 --> 00:02.000\na\n", "line 1: no WEBVTT in the first line"),
        ("WEBVTTX\n", "line 1: neither WEBVTT nor any times"),
        ("WEBVTT\n\n\nname\n00:99.000 --> 00:02.000\na\n", "line 5: the times cannot be read: '00:99.000"),
        ("WEBVTT\n\nname\n", "line 3: text without times: 'name'"),
        ("WEBVTT\n\n00:03.000 --> 00:02.000\na\n", "line 3: the cue ends before it starts"),
    ],
)
def test_each_mistake_gives_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.vtt").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_spottings(tmp_path / "t.vtt")
