"""Corpora of lips: the same options give the same bytes, splits share neither people nor words."""

from dataclasses import replace

import numpy as np
import pytest

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.landmarks.pose_file import open_landmarks
from signspot.mouthing.trials import read_vocabulary
from signspot_synthetic.lips_corpus import LipsOptions, make_clip, make_lips_corpus
from tests.fixtures.lips import LIPS


def test_a_corpus_holds_its_clips_and_every_mouthed_word(lips_corpus: Corpus) -> None:
    clip = make_clip(LIPS, "train", 0)
    marks = lips_corpus.videos["train-0001"].landmarks
    assert marks is not None
    stored = open_landmarks(marks).face  # in pixels: rounded to float32 once more
    assert np.allclose(stored, clip.landmarks.face, atol=1e-6, equal_nan=True)
    words = lips_corpus.mouthings("train-0001")
    assert [(word.word, word.phonemes) for word in words] == [(word.word, word.phonemes) for word in clip.words]
    assert [word.end for word in words] == pytest.approx([word.segment.end for word in clip.words], abs=1e-4)
    assert len(words) > 2


def test_splits_share_neither_people_nor_words(lips_corpus: Corpus) -> None:
    people, words = {}, {}
    for split in ("train", "validation", "test"):
        videos = lips_corpus.in_split(split)
        people[split] = {video.signer for video in videos}
        words[split] = {word.word for video in videos for word in lips_corpus.mouthings(video.id)}
    for by_split in (people, words):
        assert by_split["train"] | by_split["validation"] | by_split["test"]
        assert not by_split["train"] & by_split["validation"]
        assert not by_split["test"] & (by_split["train"] | by_split["validation"])
    assert words["test"] <= set(read_vocabulary(unseen=True).words)


def test_a_run_resumes_and_another_corpus_is_refused(lips_corpus: Corpus) -> None:
    before = {path: path.stat().st_mtime_ns for path in lips_corpus.folder.rglob("*.pose")}
    make_lips_corpus(LIPS, lips_corpus.folder)
    assert {path: path.stat().st_mtime_ns for path in lips_corpus.folder.rglob("*.pose")} == before
    with pytest.raises(OptionsError, match="seed"):
        make_lips_corpus(replace(LIPS, seed=2), lips_corpus.folder)


def test_nobody_mouths_where_nobody_is_to() -> None:
    assert not make_clip(replace(LIPS, mouthing=0.0), "train", 0).words
    with pytest.raises(OptionsError):
        LipsOptions(seconds=1)
