"""Data of the tables: words and videos of any corpus; what a corpus lacks is said at once."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper.setup import ReproductionSize, Setup
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.errors import OptionsError


def test_a_full_vocabulary_adds_background_words_and_no_labels(tiny: Setup) -> None:
    config, test = tiny.size.embedding, set(tiny.words.test)
    few = tiny.items("unseen", config, "labelled")
    many = tiny.items("unseen", config, "full")
    assert not {item.word for item in (*few, *many)} & test
    assert not {word for item in few for word in item.background} & test
    assert {word for item in many for word in item.background} & test


def _forget_labels(corpus: Corpus) -> None:
    shutil.rmtree(corpus.folder / "labels")


def _keep_one_word(corpus: Corpus) -> None:
    splits = json.loads(corpus.layout.splits.read_text())
    one = splits["words"]["test"][:1]
    splits["words"] = {"all": one, "train": [], "test": one}
    corpus.layout.splits.write_text(json.dumps(splits))


def _list_a_word_without_exemplar(corpus: Corpus) -> None:
    splits = json.loads(corpus.layout.splits.read_text())
    splits["words"]["all"].append("zzyzx")
    corpus.layout.splits.write_text(json.dumps(splits))


@pytest.mark.parametrize("damage", [_forget_labels, _keep_one_word, _list_a_word_without_exemplar])
def test_what_a_corpus_lacks_is_an_error(
    tiny_copy: Corpus, size: ReproductionSize, tmp_path: Path, damage: Callable[[Corpus], None]
) -> None:
    damage(tiny_copy)
    setup = Setup(size, tmp_path, open_corpus(tiny_copy.folder))
    with pytest.raises(OptionsError):
        setup.items("seen", size.embedding, "labelled")


def test_a_corpus_without_splits_gets_one_of_videos_and_of_words(
    tiny_copy: Corpus, size: ReproductionSize, tmp_path: Path
) -> None:
    videos = {name: replace(video, split="") for name, video in tiny_copy.videos.items()}
    tiny_copy.layout.splits.unlink()
    setup = Setup(size, tmp_path, replace(tiny_copy, videos=videos))
    assert {video.split for video in setup.corpus.videos.values()} == {"train", "test"}
    labelled = {label.word for label in setup.labels}
    assert set(setup.words.all) <= labelled
    assert set(setup.words.test) == set(setup.words.all) - set(setup.words.train) != set()
    again = Setup(size, tmp_path, replace(tiny_copy, videos=videos))
    assert (again.words, again.corpus.videos) == (setup.words, setup.corpus.videos)


def test_neither_truth_nor_a_sure_label_is_an_error(tiny_copy: Corpus, size: ReproductionSize, tmp_path: Path) -> None:
    shutil.rmtree(tiny_copy.folder / "truth")
    labels = [
        line for path in sorted((tiny_copy.folder / "labels").iterdir()) for line in path.read_text().splitlines()
    ]
    shutil.rmtree(tiny_copy.folder / "labels")
    (tiny_copy.folder / "labels").mkdir()
    unsure = [json.dumps({**json.loads(line), "confidence": 0.6}) for line in labels]
    (tiny_copy.folder / "labels" / "M.jsonl").write_text("\n".join(unsure) + "\n")
    setup = Setup(size, tmp_path, open_corpus(tiny_copy.folder))
    with pytest.raises(OptionsError, match="truth/signs"):
        setup.queries(setup.features("joint", "seen", 0))
