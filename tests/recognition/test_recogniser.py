"""A recogniser: labels' own windows, what counts, from and to files, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.errors import CheckpointError, EmptyVideoError, NoHandsError, OptionsError
from signspot.landmarks.pose_file import open_landmarks
from signspot.models.registry import build
from signspot.recognition.recogniser import Recogniser, load_recogniser, save_recogniser
from signspot.recognition.scoring import RecogniserScores
from signspot.training.landmark_clips import ClipOptions
from signspot.training.recogniser import RecogniserConfig, train_recogniser_on_corpus
from signspot.types import LabelSource, Segment
from tests.fixtures.corpora import TINY
from tests.fixtures.headers import with_card

Trained = tuple[Recogniser, list[RecogniserScores]]
CONFIG = replace(TINY.trunk, name="tiny")


@pytest.fixture(scope="module")
def trained(tiny_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train_recogniser_on_corpus(CONFIG, tiny_corpus, tmp_path_factory.mktemp("recogniser"))


def test_it_knows_the_labelled_words_and_is_tested_on_signs(trained: Trained, tiny_corpus: Corpus) -> None:
    recogniser, scores = trained
    train = [video.id for video in tiny_corpus.in_split("train")]
    assert set(recogniser.words) == {label.word for label in tiny_corpus.labels(train, CONFIG.clips.least)}
    assert [score.tested for score in scores][-1] == "all signs"
    assert all(0 <= score.instance[0] <= score.instance[1] <= 1 for score in scores)
    signs = [s for v in tiny_corpus.in_split("test") for s in tiny_corpus.signs(v.id) if s.word in recogniser.words]
    assert scores[-1].clips == len(signs)


def test_files_give_it_back(trained: Trained, tiny_corpus: Corpus, tmp_path: Path) -> None:
    recogniser = trained[0]
    exemplar = tiny_corpus.dictionary().exemplars[0].path
    assert exemplar is not None
    again = load_recogniser(save_recogniser(recogniser, tmp_path / "r.safetensors"))
    assert again.recognise(exemplar, top=3) == recogniser.recognise(exemplar, top=3)
    assert sum(guess.probability for guess in again.recognise(exemplar, top=1000)) == pytest.approx(1, abs=1e-3)
    (tmp_path / "r.safetensors").write_bytes((tmp_path / "r.safetensors").read_bytes()[:-40])
    with pytest.raises(CheckpointError):
        load_recogniser(tmp_path / "r.safetensors")
    with pytest.raises(CheckpointError):
        load_recogniser(tmp_path / "nothing.safetensors")
    with pytest.raises(OptionsError, match="safetensors"):
        save_recogniser(recogniser, tmp_path / "r.pt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"width": 1_000_000}}, "does not fit"),
        ({"model": {"width": 10**30}}, "a card may say at most 1,000,000"),
        ({"words": ["apple"] * 3}, "of another shape"),
        ({"words": "apple"}, "words must be a list"),
        ({"words": []}, "knows no word"),
        ({"name": None}, "its card lacks 'name'"),
    ],
)
def test_a_card_that_asks_for_more_than_the_file_holds_is_refused(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    module = build("landmark", width=8, hand_width=8, part_width=4, last_width=8)
    small = Recogniser("small", ("apple", "pear"), module, torch.nn.Linear(module.trunk.dimension, 2))
    path = save_recogniser(small, tmp_path / "r.safetensors")
    assert load_recogniser(path).words == small.words
    with pytest.raises(CheckpointError, match=message):
        load_recogniser(with_card(path, "signspot_recogniser", **changes))


def test_a_segment_is_averaged_over_its_windows(trained: Trained, tiny_corpus: Corpus) -> None:
    recogniser = trained[0]
    path = next(iter(tiny_corpus.videos.values())).landmarks
    assert path is not None
    landmarks = open_landmarks(path)
    assert recogniser.recognise(landmarks, Segment(0.0, 1.0), top=2)[0].probability > 0
    with pytest.raises(EmptyVideoError):
        recogniser.recognise(landmarks, Segment(9000.0, 9001.0))
    with pytest.raises(OptionsError, match="at least 1"):
        recogniser.recognise(landmarks, top=0)
    blind = np.full_like(landmarks.left_hand, np.nan)
    with pytest.raises(NoHandsError):
        recogniser.recognise(replace(landmarks, left_hand=blind, right_hand=blind))
    length = recogniser.module.trunk.frames
    frames = torch.randn(length + 2, 69, 4).numpy()
    windows = np.stack([recogniser.logits(frames[None, start : start + length])[0] for start in range(3)])
    assert np.allclose(recogniser.of_frames(frames), windows.mean(axis=0), atol=1e-4)


def test_a_corpus_from_which_nothing_can_be_learnt_is_reported(tiny_corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(OptionsError):
        train_recogniser_on_corpus(CONFIG, tiny_corpus, tmp_path, labels=[])
    only = RecogniserConfig(clips=ClipOptions(sources="D"))
    assert all(label.source is LabelSource.MOUTHING for label in tiny_corpus.labels())
    with pytest.raises(OptionsError, match="labels of D"):
        train_recogniser_on_corpus(only, tiny_corpus, tmp_path)
    with pytest.raises(OptionsError):
        ClipOptions(sources="X")
