"""Data of the tables: made once, named by what it follows from; what a corpus lacks is said at once."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper.setup import ReproductionSize, Setup, check_corpus
from signspot.corpus.corpus import Corpus
from signspot.errors import FormatError, OptionsError


def test_trunks_know_the_words_of_their_setting(tiny: Setup) -> None:
    seen, unseen = tiny.trunk("joint", "seen"), tiny.trunk("joint", "unseen")
    words = tiny.corpus.splits().words
    assert f"exemplars of {len(words.all)} words" in seen.card["data"]
    assert f"exemplars of {len(words.train)} words" in unseen.card["data"]
    assert tiny.trunk("joint", "seen") is seen
    again = Setup(tiny.size, tiny.out, tiny.corpus)
    assert again.trunk("joint", "seen").hash == seen.hash


def test_a_trunk_alone_sees_test_videos_alone(tiny: Setup) -> None:
    splits = tiny.corpus.splits()
    assert set(tiny.features("joint", "seen").videos) == {*splits.train, *splits.test}
    assert set(tiny.features("dictionary", "seen").videos) == set(splits.test)
    assert tiny.trunk("dictionary", "seen").card["data"].startswith("0 labelled signs")


def test_a_full_vocabulary_adds_background_words_and_no_labels(tiny: Setup) -> None:
    config, test = tiny.size.embedding, set(tiny.corpus.splits().words.test)
    few = tiny.items("unseen", config, "labelled")
    many = tiny.items("unseen", config, "full")
    assert not {item.word for item in (*few, *many)} & test
    assert not {word for item in few for word in item.background} & test
    assert {word for item in many for word in item.background} & test


def test_a_given_encoder_takes_the_place_of_trunks(tiny: Setup, tmp_path: Path) -> None:
    given = tiny.trunk("joint", "seen")
    setup = Setup(tiny.size, tmp_path, tiny.corpus, given)
    assert setup.trunk("continuous", "unseen") is given


def test_seeds_are_counted_from_one(size: ReproductionSize) -> None:
    with pytest.raises(OptionsError, match="seeds must be at least 1; got 0"):
        replace(size, seeds=0)


def _forget_truth(corpus: Corpus) -> None:
    shutil.rmtree(corpus.folder / "truth")


def _forget_labels(corpus: Corpus) -> None:
    shutil.rmtree(corpus.folder / "labels")


def _forget_splits(corpus: Corpus) -> None:
    corpus.layout.splits.unlink()


def _keep_one_word(corpus: Corpus) -> None:
    splits = json.loads(corpus.layout.splits.read_text())
    one = splits["words"]["test"][:1]
    splits["words"] = {"all": one, "train": [], "test": one}
    corpus.layout.splits.write_text(json.dumps(splits))


def _list_a_word_without_exemplar(corpus: Corpus) -> None:
    splits = json.loads(corpus.layout.splits.read_text())
    splits["words"]["all"].append("zzyzx")
    corpus.layout.splits.write_text(json.dumps(splits))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_forget_truth, r"no test word is known to be signed in the \d+ test videos"),
        (_forget_labels, "has no labels of its training videos. Spot mouthings or signs"),
        (_forget_splits, r"splits\.json: no such file"),
        (_keep_one_word, "has 1 words, 1 of them to test. Learning needs two"),
        (_list_a_word_without_exemplar, "the word 'zzyzx' has no exemplar. Add one, or leave"),
    ],
)
def test_what_a_corpus_lacks_is_said_in_one_line(lame: Corpus, damage: Callable[[Corpus], None], message: str) -> None:
    check_corpus(lame)
    damage(lame)
    with pytest.raises((OptionsError, FormatError), match=message) as told:
        check_corpus(lame)
    assert "\n" not in str(told.value)


def test_videos_of_splits_must_be_there(lame: Corpus) -> None:
    with pytest.raises(OptionsError, match="lacks the training video"):
        check_corpus(replace(lame, videos={}))
