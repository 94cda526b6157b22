"""Streams with subtitles: a corpus whose truth, dictionary and subtitles fit each other, by signers apart."""

from pathlib import Path

import pytest

from experiments.subtitled_streams import SubtitledStreams, make_stream_corpus
from signspot.errors import OptionsError
from signspot.training.corpus_subset import read_words
from signspot_synthetic.isolated_signs import isolated_clips


def test_a_corpus_of_streams(tmp_path: Path) -> None:
    options = SubtitledStreams(exemplars=1, shift=0.2)
    corpus = make_stream_corpus(isolated_clips(6, 4, 1), tmp_path / "streams", options)
    dictionary, splits = corpus.dictionary(), corpus.splits()
    assert len(dictionary) == 6
    assert set(splits.train) | set(splits.test) == set(corpus.videos)
    assert not {corpus.videos[name].signer for name in splits.train} & {
        corpus.videos[name].signer for name in splits.test if corpus.videos[name].signer != "several"
    }
    named = read_words(corpus, list(dictionary), list(corpus.videos))
    for name in corpus.videos:
        signs = corpus.signs(name)
        assert signs
        assert {sign.word for sign in signs} <= set(dictionary)
        mentioned = [word for subtitle in named[name] for word in subtitle.words]
        assert len(set(mentioned) & {sign.word for sign in signs}) >= 1
    with pytest.raises(OptionsError):
        make_stream_corpus(isolated_clips(6, 4, 1), tmp_path / "streams", options)
