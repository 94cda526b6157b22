"""The spotting benchmark: rare words, test footage searched by a model of its training videos and by others."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper.cells import KeptCells
from experiments.paper.page import table_text
from experiments.paper.setup import ReproductionSize, Setup
from experiments.paper.spotting_benchmark import rare_words, spotting_benchmark
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError


def test_words_are_rare(tiny_corpus: Corpus) -> None:
    signs = [sign.word for video in tiny_corpus.videos for sign in tiny_corpus.signs(video) if sign.listed]
    rare = rare_words(tiny_corpus, 1000)
    assert rare == {word: 1 for word in sorted(set(signs)) if signs.count(word) == 1}
    hours = sum(max(sign.end for sign in tiny_corpus.signs(video)) for video in tiny_corpus.videos) / 3600
    often = rare_words(tiny_corpus, 1000, every=hours / 2)
    assert often == {word: signs.count(word) for word in sorted(set(signs)) if signs.count(word) <= 3}
    assert len(rare_words(tiny_corpus, 3, every=hours / 2)) == 3


@pytest.mark.long
def test_a_model_of_the_training_videos_is_a_row(tiny: Setup, tmp_path: Path) -> None:
    table, cells = spotting_benchmark(tiny), KeptCells(tmp_path / "cells.jsonl")
    assert [row.titles[0] for row in table.rows][:2] == ["the trunk alone", "Watch-Read-Lookup"]
    assert "`warping`" in [row.titles[0] for row in table.rows]
    test = {video.id for video in tiny.corpus.in_split("test")}
    words = rare_words(replace(tiny.corpus, videos={name: tiny.corpus.videos[name] for name in test}))
    for row in table.rows[:2]:
        result = cells.measure(row.cells[""][0])
        assert set(result.values["mAP"]) == set(words)  # of test videos alone
        assert all(0 <= value <= 1 for values in result.values["mAP"].values() for value in values)
        assert set(result.values["localisation"]) <= set(words)
    assert "(17)" in table_text(table, cells)


def test_every_sign_has_to_be_known(tiny_copy: Corpus, size: ReproductionSize, tmp_path: Path) -> None:
    for video in tiny_copy.in_split("test"):
        tiny_copy.layout.truth("signs", video.id).unlink()
    with pytest.raises(OptionsError, match=tiny_copy.folder.name):
        spotting_benchmark(Setup(size, tmp_path, tiny_copy))
