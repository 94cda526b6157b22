"""Labels: what their times mean, from which confidence they count, and in which files they may stand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.corpus.corpus import open_corpus
from signspot.corpus.labels import LeastConfidence, are_beside, contradicted, label_of, video_id
from signspot.corpus.truth import read_records, write_records
from signspot.errors import FormatError, OptionsError
from signspot.formats.formats import write
from signspot.types import Label, LabelSource, Segment, Spotting, TimeMeaning

M, D, V = LabelSource


@pytest.mark.parametrize(
    ("label", "at", "segment", "stretch"),
    [
        (Label("a", "v", 5.0), TimeMeaning.END, (4.4, 5.0), (4.2, 5.2)),
        (Label("a", "v", 5.0, source=D), TimeMeaning.MIDDLE, (4.7, 5.3), (4.5, 5.5)),
        (Label("a", "v", 5.0, source=V), TimeMeaning.MIDDLE, (4.7, 5.3), (4.5, 5.5)),
        (Label("a", "v", 5.0, source=D, start=4.0, end=5.0), TimeMeaning.SPAN, (4.0, 5.0), (4.0, 5.0)),
        (Label("a", "v", 5.0, source=V, at=TimeMeaning.END), TimeMeaning.END, (4.4, 5.0), (4.2, 5.2)),
    ],
)
def test_a_label_says_where_its_sign_is(
    label: Label, at: TimeMeaning, segment: tuple[float, float], stretch: tuple[float, float], tmp_path: Path
) -> None:
    assert label.at is at
    assert (label.segment.start, label.segment.end) == pytest.approx(segment)
    drawn_from = label.stretch(before=0.8, after=0.2, around=0.5)
    assert (drawn_from.start, drawn_from.end) == pytest.approx(stretch)
    assert list(read_records(Label, write_records([label], tmp_path / "l.jsonl"))) == [label]


def test_half_a_span_is_refused() -> None:
    with pytest.raises(OptionsError, match="'a'"):
        Label("a", "v", 5.0, start=1.0)
    with pytest.raises(OptionsError, match=r"got 2\.0"):
        Label("a", "v", 5.0, start=2.0, end=1.0)
    with pytest.raises(OptionsError):
        Label("a", "v", 5.0, at=TimeMeaning.SPAN)


def corpus_with(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "labels").mkdir()
    return tmp_path


SPOTTINGS = (Spotting("apple", "news/a.mp4", 2.0, 1.8, 2.4, 0.83), Spotting("pear", "b", 3.0, 2.8, 3.2, 0.61))


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.bobsl.json", "d.eaf", "below/d.vtt"])
def test_spottings_are_labels_of_their_score_in_every_format(tmp_path: Path, name: str) -> None:
    """Their videos are named as the user named them: by id, or by a path in any folder."""
    folder = corpus_with(tmp_path, "news/a.mp4", "b.pose")
    (folder / "labels" / name).parent.mkdir(exist_ok=True)
    write([spotting for spotting in SPOTTINGS if name != "d.eaf" or spotting.word == "apple"], folder / "labels" / name)
    labels = open_corpus(folder).labels()
    expected = [
        Label("pear", "b", 3.0, 0.61, D, 2.8, 3.2),
        Label("apple", "news/a", 2.0, 0.83, D, 1.8, 2.4),
    ]
    assert labels == [label for label in expected if name != "d.eaf" or label.word == "apple"]
    assert labels[-1].segment == Segment(1.8, 2.4)


def test_labels_of_ours_and_of_other_videos(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = corpus_with(tmp_path, "a.mp4")
    lines = [{"word": "x", "video": "a", "time": 1.0}, {"word": "x", "video": "gone", "time": 1.0, "confidence": 0.4}]
    (folder / "labels" / "m.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "labels" / "README.txt").write_text("not labels")
    assert open_corpus(folder).labels() == [Label("x", "a", 1.0)]
    assert "left out labels (1) of videos (1) that are not in the corpus, such as 'gone'" in caplog.text
    (folder / "labels" / "m.jsonl").write_text("nonsense")
    with pytest.raises(FormatError, match="line 1"):
        open_corpus(folder).labels()


def test_three_scales_have_three_thresholds(tmp_path: Path) -> None:
    folder = corpus_with(tmp_path, "a.mp4")
    every = [Label("x", "a", 1.0, 0.7, source) for source in LabelSource]
    write_records(every, folder / "labels" / "all.jsonl")
    corpus = open_corpus(folder)
    assert len(corpus.labels()) == 3
    assert [label.source for label in corpus.labels(least=LeastConfidence(0.8, 0.6, 0.8))] == [D]
    assert [label.source for label in corpus.labels(least=LeastConfidence(0.6, 0.8, 0.8))] == [M]
    with pytest.raises(OptionsError, match="nan"):
        LeastConfidence(dictionary=float("nan"))


@pytest.mark.parametrize(
    ("name", "video"),
    [
        ("a", "a"),
        ("a.mp4", "a"),
        ("/home/me/footage/mon/a.MP4", "mon/a"),
        ("footage\\mon\\a.mov", "mon/a"),
        ("c.v2", "c.v2"),
        ("x/c.v2.pose", "c.v2"),
        ("tue/b.mp4", None),
    ],
)
def test_the_nearest_id_that_ends_a_path_is_meant(name: str, video: str | None) -> None:
    assert video_id(name, {"a", "mon/a", "c.v2"}) == video


def test_a_persons_decision_goes_before_the_score() -> None:
    spotting = Spotting("apple", "a", 1.0, 0.5, 1.5, 0.83, source=LabelSource.VERIFIED)
    confidences = [label_of(replace(spotting, decision=decision)).confidence for decision in ("yes", "no", "")]
    assert confidences == [1.0, 0.0, 0.83]


def test_signs_contradict_mouthings_and_never_people() -> None:
    signs = [
        Label("tree", "a", 10.0, source=LabelSource.DICTIONARY),
        Label("river", "a", 10.2, source=LabelSource.DICTIONARY),
    ]
    at = {  # of mouthings, whose times mark the end of a sign: 0.3 s after its middle
        "another word is there": (Label("boat", "a", 10.3), True),
        "the same word is there, too": (Label("river", "a", 10.3), False),
        "the same word is near": (Label("tree", "a", 10.8), False),
        "nothing is near": (Label("boat", "a", 12.0), False),
        "another video": (Label("boat", "b", 10.3), False),
        "a person said so": (Label("boat", "a", 10.0, source=LabelSource.VERIFIED), False),
    }
    contradictions = contradicted([label for label, _ in at.values()], signs)
    assert dict(zip(at, contradictions, strict=True)) == {name: is_so for name, (_, is_so) in at.items()}
    assert contradicted([Label("boat", "a", 10.3)], []) == [False]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 20), st.sampled_from("xy")), max_size=12), st.floats(0, 3)
)
def test_neighbours_are_those_of_a_plain_search(places: list[tuple[str, float, str]], within: float) -> None:
    labels = [Label(word, video, time) for video, time, word in places]
    ones, others = labels[: len(labels) // 2], labels[len(labels) // 2 :]
    plain = [
        any(
            other.video == one.video
            and other.word == one.word
            and one.segment.middle - within <= other.segment.middle <= one.segment.middle + within
            for other in others
        )
        for one in ones
    ]
    assert are_beside(ones, others, within, str.__eq__) == plain


def test_glosses_of_a_subtitle_file_are_verified_labels_with_their_spans(tmp_path: Path) -> None:
    folder = corpus_with(tmp_path, "news.pose")
    text = "1\n00:00:01,000 --> 00:00:01,500\nBUENOS-DIAS\n\n2\n00:00:02,000 --> 00:00:02,400\nniño\n"
    (folder / "labels" / "news.srt").write_text(text, encoding="utf-8")
    labels = open_corpus(folder).labels()
    assert [(label.word, label.video, label.source, label.confidence) for label in labels] == [
        ("buenos dias", "news", V, 1.0),
        ("niño", "news", V, 1.0),
    ]
    assert [(label.segment.start, label.segment.end) for label in labels] == [(1.0, 1.5), (2.0, 2.4)]


def test_a_corpus_reads_its_labels_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = open_corpus(corpus_with(tmp_path, "a.mp4", "b.mp4"))
    file = write_records([Label("pear", "a", 1.0), Label("apple", "b", 2.0)], tmp_path / "labels" / "all.jsonl")
    opened: list[Path] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read_bytes(path))
    assert [label.word for label in corpus.labels()] == ["pear", "apple"]
    assert [label.word for label in corpus.labels(["b"])] == ["apple"]
    assert opened.count(file) == 1
