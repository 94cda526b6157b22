"""Tables 6 to 8 and C.1: labels through files, cells kept and shared, accuracies and differences worked by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import recognition_cells, recognition_tables, table_c1
from experiments.paper.labelled_corpora import LOOSE, LabelledCorpus, RecognitionSize, as_bobsl
from experiments.paper.recognition_cells import CellOutcome, LabelChoice, RecognitionCells
from experiments.paper.recognition_tables import TABLE_6, accuracies, as_markdown, difference, draw, measure
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.progress import quiet
from signspot.recognition.scoring import ALL
from signspot.types import LabelSource
from tests.fixtures.corpora import TINY

CONTINUOUS = replace(TINY.trunk, clips=replace(TINY.trunk.clips, dictionary=0.0))
BATCH_NORM = replace(TINY.trunk, model={**TINY.trunk.model, "norm": "batch"})


@pytest.fixture(scope="module")
def labelled(tiny_corpus: Corpus, encoder_file: Path, tmp_path_factory: pytest.TempPathFactory) -> LabelledCorpus:
    """Labelled by an encoder that knows nothing: it finds every word somewhere."""
    return LabelledCorpus("tiny", tmp_path_factory.mktemp("labelled"), tiny_corpus, str(encoder_file))


@pytest.mark.long
def test_labels_are_of_training_videos_and_follow_the_choice(labelled: LabelledCorpus) -> None:
    full = labelled.labels(LabelSource.DICTIONARY, 0.0, "full")
    some = labelled.labels(LabelSource.DICTIONARY, 0.0, "mouthed")
    assert {label.word for label in some} < {label.word for label in full} <= labelled.words("full")
    assert {label.video for label in full} <= labelled.training
    assert all(label.confidence >= LOOSE for label in full)
    unpadded = labelled.labels(LabelSource.DICTIONARY, 0.0, "full", padded=False)
    assert {(each.video, each.word, each.time) for each in unpadded} != {(e.video, e.word, e.time) for e in full}
    sure = LabelChoice(0.8, LOOSE).of(labelled)
    assert {label.source.value for label in sure} == {"M", "D"}
    assert all(label.confidence >= 0.8 for label in sure)


@pytest.mark.long
def test_files_of_bobsl_give_the_same_cells(
    labelled: LabelledCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, cells = as_bobsl(labelled), RecognitionCells(tmp_path, CONTINUOUS)
    assert sorted(path.name for path in (read.corpus.folder / "labels").iterdir()) == [
        "dict_spottings.json",
        "mouthing_spottings.json",
    ]
    for source in (LabelSource.MOUTHING, LabelSource.DICTIONARY):
        ours = {(each.word, each.video, round(each.segment.middle, 3)) for each in labelled.labels(source, 0.0, "full")}
        theirs = {(each.word, each.video, round(each.segment.middle, 3)) for each in read.labels(source, 0.0, "full")}
        assert ours == theirs
    choice = LabelChoice(0.5, LOOSE)
    first = cells.measure(labelled, choice, 0)
    assert first.labels == len(choice.of(labelled))
    assert first.right is not None
    monkeypatch.setattr(recognition_cells, "train_recogniser", lambda *_: pytest.fail("trained again"))
    assert cells.measure(read, choice, 0) == first
    with pytest.raises(pytest.fail.Exception):
        cells.measure(read, choice, 1)


def test_words_without_labels_count_as_missed(labelled: LabelledCorpus, tmp_path: Path) -> None:
    outcome = RecognitionCells(tmp_path, CONTINUOUS).measure(labelled, LabelChoice(mouthing=0.99), 0)
    every = [s for v in labelled.corpus.in_split("test") for s in labelled.corpus.signs(v.id)]
    asked = [sign for sign in every if sign.word in labelled.words("mouthed")]
    assert sum(map(len, outcome.ranks[ALL].values())) == len(asked)
    unknown = {sign.word for sign in asked} - {each.word for each in LabelChoice(mouthing=0.99).of(labelled)}
    assert unknown
    assert all(rank > outcome.words for word in unknown for rank in outcome.ranks[ALL][word])


def test_a_whole_table_of_a_given_corpus(tiny_corpus: Corpus, encoder_file: Path, tmp_path: Path) -> None:
    size = RecognitionSize(seeds=1, training=CONTINUOUS, encoder=str(encoder_file))
    table = replace(TABLE_6, rows=TABLE_6.rows[2:], orders=((1, 0),), sets=(ALL,))
    found = measure(table, size, tmp_path, tiny_corpus, quiet)
    text = as_markdown(table, *found, size)
    assert text.count("\n| ") == 3  # two rows, and the nearest exemplar
    assert "nearest exemplar, warping" in text
    assert "(62.3)" in text
    assert "* M ≥ 0.5 + D ≥ 0.8 above D ≥ 0.8, all signs: " in text
    assert draw(table, *found, tmp_path / "t.png").read_bytes()[:4] == b"\x89PNG"
    alone = replace(tiny_corpus, videos={video.id: video for video in tiny_corpus.in_split("train")})
    with pytest.raises(OptionsError):
        measure(table, size, tmp_path, alone, quiet)


def test_accuracies_and_differences_by_hand() -> None:
    better = [(0, CellOutcome(9, 2, 1.0, {ALL: {"a": [1, 1], "b": [1, 7]}}))]
    worse = [(0, CellOutcome(9, 2, 1.0, {ALL: {"a": [1, 2], "b": [6, 7]}}))]
    one, five, words_one, words_five = accuracies(better, ALL)
    assert (one, five) == (0.75, 0.75)
    assert (words_one.value, words_five.value) == (0.75, 0.75)
    gap = difference(better, worse, ALL)
    assert (gap.value, gap.low, gap.high) == (0.5, 0.5, 0.5)
    two = [*worse, (1, CellOutcome(9, 2, 1.0, {ALL: {"a": [1]}}))]  # another corpus: its word a is another
    assert accuracies(two, ALL)[0] == pytest.approx((0.25 + 1) / 2)
    assert accuracies(two, ALL)[2].value == pytest.approx((0.5 + 0 + 1) / 3)


@pytest.mark.long
def test_recipes_of_the_appendix(tiny_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = RecognitionSize(seeds=1, training=BATCH_NORM)
    assert len({str(table_c1.recipe(row, size, 0)) for row in table_c1.ROWS}) == len(table_c1.ROWS)
    forget = table_c1.recipe(table_c1.ROWS[0], size, 0)
    assert (forget.reinitialise, forget.dictionary_from, forget.steps) == (True, 2, 4)
    assert (forget.clips.least.mouthing, forget.clips.surer) == (0.5, 0.8)
    monkeypatch.setattr(table_c1, "ROWS", table_c1.ROWS[2:4])  # domain-specific, consecutive
    monkeypatch.setattr(
        table_c1, "make_labelled_corpus", lambda *_: LabelledCorpus("tiny", tmp_path / "labelled", tiny_corpus, None)
    )
    found = table_c1.measure(size, tmp_path, quiet)
    assert table_c1.as_markdown(found, size).count("\n| ") == 2
    shown, held = table_c1.hold_out(tiny_corpus.dictionary().exemplars)
    assert held
    assert not {each.id for each in shown} & {each.id for each in held}
    left = {(each.word, each.variant) for each in shown}
    assert all((each.word, each.variant) in left for each in held)  # what is tested could be learnt
    assert sum(map(len, found[0][0].held.values())) <= len(held)
    assert "(62.73)" in table_c1.as_markdown(found, size)
    assert table_c1.draw(found, tmp_path / "c1.png").is_file()
    monkeypatch.setattr(table_c1, "train_recogniser", lambda *_: pytest.fail("trained again"))
    assert table_c1.measure(size, tmp_path, quiet) == found


def test_mistakes_are_named() -> None:
    with pytest.raises(OptionsError, match="got 0"):
        RecognitionSize(corpora=0)
    assert set(recognition_tables.TABLES) == {"table6", "table7", "table8"}
