"""Data of the tables: made once, named by what it follows from; what a corpus lacks is said at once."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from experiments.paper.setup import ReproductionSize, Setup, check_corpus
from signspot.corpus.corpus import Corpus
from signspot.errors import FormatError, OptionsError


def test_a_full_vocabulary_adds_background_words_and_no_labels(tiny: Setup) -> None:
    config, test = tiny.size.embedding, set(tiny.corpus.splits().words.test)
    few = tiny.items("unseen", config, "labelled")
    many = tiny.items("unseen", config, "full")
    assert not {item.word for item in (*few, *many)} & test
    assert not {word for item in few for word in item.background} & test
    assert {word for item in many for word in item.background} & test


def test_seeds_are_counted_from_one(size: ReproductionSize) -> None:
    with pytest.raises(OptionsError, match="seeds"):
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
    "damage", [_forget_truth, _forget_labels, _forget_splits, _keep_one_word, _list_a_word_without_exemplar]
)
def test_what_a_corpus_lacks_is_an_error(lame: Corpus, damage: Callable[[Corpus], None]) -> None:
    check_corpus(lame)
    damage(lame)
    with pytest.raises((OptionsError, FormatError)):
        check_corpus(lame)


def test_videos_of_splits_must_be_there(lame: Corpus) -> None:
    with pytest.raises(OptionsError):
        check_corpus(replace(lame, videos={}))
