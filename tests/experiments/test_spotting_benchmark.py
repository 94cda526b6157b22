"""The spotting benchmark: rare words, all footage searched once by each encoder, localisation beside."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import spotting_benchmark as module
from experiments.paper.spotting_benchmark import QUICK, as_markdown, draw, measure, rare_words
from signspot.corpus.corpus import Corpus
from signspot.io.progress import quiet
from signspot_synthetic.options import CorpusOptions

TINY = replace(
    QUICK, corpus=CorpusOptions(words=24, hours=0.0125, seed=11, dictionary_signers=3), words=100, every=0.004
)


def test_words_are_rare(tiny_corpus: Corpus) -> None:
    signs = [sign.word for video in tiny_corpus.videos for sign in tiny_corpus.signs(video) if sign.listed]
    rare = rare_words(tiny_corpus, 1.5, 1000)
    assert rare == {word: 1 for word in sorted(set(signs)) if signs.count(word) == 1}
    often = rare_words(tiny_corpus, 3.0, 1000)
    assert often == {word: signs.count(word) for word in sorted(set(signs)) if signs.count(word) <= 3}
    assert len(rare_words(tiny_corpus, 3.0, 3)) == 3


@pytest.mark.long
def test_the_whole_way(tiny_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "make_corpus", lambda *_: tiny_corpus)
    found = measure(TINY, tmp_path, "warping", quiet)
    (outcome,) = found.outcomes
    assert outcome.encoder == "warping"
    assert len(outcome.precision) == found.words > 4
    assert all(0 <= value <= 1 for value in outcome.precision.values())
    assert {word: len(own) for word, own in outcome.right.items()} == {
        w: len(own) for w, own in outcome.offsets.items()
    }
    text = as_markdown(found)
    assert "| the paper, BSL-1K | 0.170 | 0.831 | 1,834 |" in text
    assert draw(found, tmp_path / "b.png").read_bytes()[:4] == b"\x89PNG"
    monkeypatch.setattr(module, "_search", lambda *_: pytest.fail("searched again"))
    assert measure(TINY, tmp_path, "warping", quiet) == found
