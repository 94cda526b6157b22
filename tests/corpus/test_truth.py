import pytest

from signspot.corpus.truth import ExemplarTruth, MentionTruth, SignTruth, read_records, write_records
from signspot.errors import FormatError
from signspot.records import Label, LabelSource

RECORDS = [
    SignTruth("v", 0, "ice cream", 1.0, 1.4, "2", "s", ("ice-cream-1",), True, False, True, None),
    MentionTruth("v", 3, "five", 4, 6, (1, 2), 0.5, 2.25),
    ExemplarTruth("a-1", "a", 0.5, 1.5, "1", "d", "one hand: B · × 1", False),
    Label("apple", "v", 1.25, 0.75, LabelSource.MOUTHING),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_round_trip(tmp_path, record):
    path = write_records([record, record], tmp_path / "records.jsonl")
    assert list(read_records(type(record), path)) == [record, record]


def test_times_are_written_to_a_tenth_of_a_millisecond(tmp_path):
    path = write_records([Label("a", "v", 1 / 3, 0.5)], tmp_path / "l.jsonl")
    assert '"time": 0.3333' in path.read_text()


@pytest.mark.parametrize("line", ["{}", "[1]", "not json", '{"word": "a", "video": "v", "time": 1, "source": "Z"}'])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "l.jsonl"
    path.write_text(f'{{"word": "a", "video": "v", "time": 1}}\n{line}\n')
    with pytest.raises(FormatError, match=r"l\.jsonl, line 2: no Label record"):
        list(read_records(Label, path))
