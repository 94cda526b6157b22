import json

import pytest

from signspot.corpus.truth import ExemplarTruth, MentionTruth, SignTruth, read_records, write_records
from signspot.errors import FormatError
from signspot.types import Label, LabelSource

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


def label(**values):
    return json.dumps({"word": "a", "video": "v", "time": 1} | values)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "no Label: .*missing 3"),
        ("[1]", "expected a JSON object; got a list of 1"),
        ("not json", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (label(source="Z"), "source must be one of M, D, V; got 'Z'"),
        (label(time=-5), "time must be between 0 and"),
        (label(time=float("nan")), "time must be a finite number; got nan"),
        (label(time=10**400), "a number of about 400 digits"),
        ('{"word": "a", "video": "v", "time": ' + "9" * 5000 + "}", "a number of too many digits"),
        (label(confidence=99), "confidence must be between"),
        (label(start=2, end=1), "must end after it starts"),
        (label(word=["a"]), "word must be text; got a list of 1"),
        (label(word="\ud800"), "word holds halves of characters"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, message):
    path = tmp_path / "l.jsonl"
    path.write_text(f'{{"word": "a", "video": "v", "time": 1}}\n{line}\n')
    with pytest.raises(FormatError, match=rf"l\.jsonl, line 2: .*{message}"):
        list(read_records(Label, path))
