from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from signspot.errors import FormatError
from signspot.formats.formats import read_spottings, write
from signspot.records import Spotting


def test_columns_are_typed(tmp_path: Path) -> None:
    write([Spotting("007", "v", 1, 0, 2, 0.5)], tmp_path / "t.parquet")
    kinds = {field.name: str(field.type) for field in pyarrow.parquet.read_schema(tmp_path / "t.parquet")}
    assert (kinds["word"], kinds["time"], kinds["mirrored"]) == ("string", "double", "bool")


def test_a_table_of_another_tool_needs_word_and_time(tmp_path: Path) -> None:
    table = pyarrow.table({"time": pyarrow.array([3], pyarrow.int32()), "word": ["a"], "rank": [[1]]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert [(found.word, found.time) for found in read_spottings(tmp_path / "t.parquet")] == [("a", 3.0)]
    pyarrow.parquet.write_table(pyarrow.table({"word": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="no column 'time'"):
        read_spottings(tmp_path / "t.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"word": ["a", None], "time": [1.0, 2.0]}), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="row 2: no 'word'"):
        read_spottings(tmp_path / "t.parquet")
