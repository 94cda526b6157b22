from pathlib import Path

import pytest

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.records import Spotting


def test_one_object_a_line_with_words_legible(tmp_path: Path) -> None:
    write([Spotting("手話", "v", 1, 0, 2, 0.5), Spotting("b", "v", 1, 0, 2, 0.5)], tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith('{"word": "手話", "video": "v", "time": 1.0')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"word": "a", "time": 1}\n\n{"word": ', "line 3: not JSON"),
        ('{"word": "a", "time": 1}\n[1]\n', "line 2: expected a JSON object; got list"),
        ('{"word": "a"}\n', "line 1: no 'time'"),
        ('{"word": "a", "time": NaN}\n', "line 1: time must be a finite number"),
        ("[" * 100_000, "line 1: JSON nested too deeply|line 1: not JSON"),
    ],
)
def test_each_mistake_gives_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_spottings(tmp_path / "t.jsonl")
