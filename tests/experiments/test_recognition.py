"""Tables 6 to 8: labels through files, cells kept, words without labels missed; labels off the lips."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.paper import recognition
from experiments.paper.cells import KeptCells
from experiments.paper.page import table_text
from experiments.paper.recognition import (
    LOOSE,
    LabelChoice,
    LabelledCorpus,
    LipReadCorpus,
    Recognisers,
    RecognitionTables,
    Vocabulary,
    as_bobsl,
    subtitle_middles,
    true_mouthings,
)
from experiments.paper.setup import Setup
from signspot.corpus.corpus import Corpus
from signspot.recognition.scoring import ALL, LABELLED
from signspot.training.corpus_subset import read_words
from signspot.training.rgb_clips import RgbBatchOptions, RgbConfig
from signspot.types import Label, LabelSource, TimeMeaning
from tests.fixtures.corpora import TINY
from tests.fixtures.filmed import filmed_corpus

CONTINUOUS = replace(TINY.trunk, clips=replace(TINY.trunk.clips, dictionary=0.0))
BOTH = LabelChoice(0.5, LOOSE)


@pytest.fixture(scope="module")
def labelled(tiny: Setup, encoder_file: Path) -> LabelledCorpus:
    """Labelled by an encoder that knows nothing: it finds every word somewhere."""
    return LabelledCorpus(0, tiny, str(encoder_file))


@pytest.mark.long
def test_labels_are_of_training_videos_and_follow_the_choice(labelled: LabelledCorpus) -> None:
    full = labelled.of_source(LabelSource.DICTIONARY, 0.0, "full")
    some = labelled.of_source(LabelSource.DICTIONARY, 0.0, "mouthed")
    assert {label.word for label in some} < {label.word for label in full} <= labelled.words("full")
    assert {label.video for label in full} <= labelled.training
    assert all(label.confidence >= LOOSE for label in full)
    unpadded = labelled.of_source(LabelSource.DICTIONARY, 0.0, "full", padded=False)
    assert {(label.video, label.word, label.time) for label in unpadded} != {(e.video, e.word, e.time) for e in full}
    sure = labelled.labels(LabelChoice(0.8, LOOSE))
    assert {label.source.value for label in sure} == {"M", "D"}
    assert all(label.confidence >= 0.8 for label in sure)


@pytest.mark.long
def test_files_of_bobsl_give_the_same_labels_and_ranks(labelled: LabelledCorpus, tmp_path: Path) -> None:
    read = as_bobsl(labelled)
    assert sorted(path.name for path in (read.corpus.folder / "labels").iterdir()) == [
        "dict_spottings.json",
        "mouthing_spottings.json",
    ]
    vocabularies: dict[LabelSource, Vocabulary] = {LabelSource.MOUTHING: "mouthed", LabelSource.DICTIONARY: "full"}
    for source, words in vocabularies.items():
        ours, theirs = (
            {
                (label.word, label.video, round(label.segment.middle, 3))
                for label in corpus.of_source(source, 0.0, words)
            }
            for corpus in (labelled, read)
        )
        assert ours == theirs
    recognisers = Recognisers(tmp_path, CONTINUOUS)
    direct, files = (recognisers.cell(corpus, BOTH, 0) for corpus in (labelled, read))
    first = direct.compute()
    assert first.counts["labels"] == len(labelled.labels(BOTH))
    assert 0 <= first.counts["right, %"] <= 100
    assert files.compute() == first


def test_words_without_labels_count_as_missed(labelled: LabelledCorpus, tmp_path: Path) -> None:
    choice = LabelChoice(mouthing=0.99)
    result = Recognisers(tmp_path, CONTINUOUS).cell(labelled, choice, 0).compute()
    every = [s for v in labelled.corpus.in_split("test") for s in labelled.corpus.signs(v.id)]
    tested = [sign for sign in every if sign.word in labelled.words("mouthed")]
    hits = result.values[f"{ALL}, top-5"]
    assert sum(map(len, hits.values())) == len(tested)
    unknown = {sign.word for sign in tested} - {label.word for label in labelled.labels(choice)}
    assert unknown
    assert not any(hit for word in unknown for hit in hits[word])


def test_a_whole_table_of_a_given_corpus(labelled: LabelledCorpus, tmp_path: Path) -> None:
    table = RecognitionTables(Recognisers(tmp_path, CONTINUOUS), [labelled], 1).table_6()
    cells = KeptCells(tmp_path / "cells.jsonl")
    for cell in table.cells():
        cells.measure(cell)
    text = table_text(table, cells)
    assert f"{len(table.rows)} of {len(table.rows)} cells are measured" in text
    assert "(62.3)" in text


def test_a_recogniser_that_sees_pixels_takes_the_place_of_the_landmark_one(tmp_path: Path) -> None:
    setup = Setup(TINY, tmp_path, filmed_corpus(tmp_path / "filmed"))
    config = RgbConfig(
        model={"frames": 6, "image_size": 32, "width": 0.06}, fps=12.5, epochs=3, optimiser="adam", lr=3e-3,
        batch=RgbBatchOptions(clips=8, before=9, after=3), continuous_only_fraction=0.3,
    )  # fmt: skip
    tables = RecognitionTables(Recognisers(tmp_path, config), [LabelledCorpus(0, setup, None)], 1)
    table = tables.table_6()
    result = KeptCells(tmp_path / "cells.jsonl").measure(table.rows[0].cells[""][0])
    assert result.counts["labels"] == 18  # of two words in three videos; they have no truth
    assert {word: len(hits) for word, hits in result.values[f"{LABELLED}, top-1"].items()} == {"apple": 3, "dog": 3}
    assert all(hit for hits in result.values[f"{LABELLED}, top-5"].values() for hit in hits)
    assert "sees pixels: i3d" in table.note


@pytest.mark.long
def test_the_story_uses_no_given_label(tiny: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spotter of mouthings finds nothing in a minute of signing, so its report is replaced by true mouthings."""
    setup = Setup(tiny.size, tmp_path, tiny.corpus)
    lips = [
        Label(sign.word, sign.video, sign.end, 0.8)
        for video in tiny.corpus.in_split("train")
        for sign in tiny.corpus.signs(video.id)
        if sign.mouthed and sign.listed
    ]

    spottings = [SimpleNamespace(as_label=partial(replace, label)) for label in lips]
    monkeypatch.setattr(recognition, "annotate_mouthings", lambda *_: SimpleNamespace(spottings=spottings, failed=[]))
    monkeypatch.setattr(Corpus, "labels", lambda *_: pytest.fail("a given label was read"))
    story = LipReadCorpus(0, setup)
    assert sorted(map(repr, story.of_source(LabelSource.MOUTHING, 0.0, "full"))) == sorted(map(repr, lips))
    labels = story.of_source(LabelSource.DICTIONARY, 0.0, "full")
    assert {label.video for label in labels} <= story.training
    assert (story.folder / "encoder.safetensors").is_file()


def test_truth_is_every_mouthed_sign_that_a_subtitle_mentions(tiny_corpus: Corpus) -> None:
    labels = true_mouthings(tiny_corpus)
    signs = [sign for video in tiny_corpus.in_split("train") for sign in tiny_corpus.signs(video.id)]
    assert 0 < len(labels) < len(signs)
    assert {(label.video, label.word, label.time) for label in labels} == {
        (sign.video, sign.word, sign.end) for sign in signs if sign.mouthed and sign.subtitle is not None
    }


def test_who_looks_at_no_lips_labels_every_mention_in_the_middle(tiny_corpus: Corpus) -> None:
    labels = subtitle_middles(tiny_corpus)
    videos = [video.id for video in tiny_corpus.in_split("train")]
    subtitles_of = read_words(tiny_corpus, list(tiny_corpus.dictionary()), videos)
    assert len(labels) == sum(len(subtitle.words) for subtitles in subtitles_of.values() for subtitle in subtitles) > 0
    first = next(subtitle for subtitle in subtitles_of[labels[0].video] if subtitle.words)
    assert (labels[0].word, labels[0].time) == (first.words[0], first.segment.middle)
    assert {label.at for label in labels} == {TimeMeaning.MIDDLE}
