"""Clips for a trunk's classifier: words and domains equally often, inside the labelled stretch, by seed and step."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import LeastConfidence
from signspot.errors import OptionsError
from signspot.landmarks.features import CHANNELS, JOINTS, LEFT_HAND, RIGHT_HAND
from signspot.training.landmark_clips import (
    Augmentation,
    ClipOptions,
    LabelledSigns,
    SignBatches,
    augment,
    collect_signs,
    cut_signs,
)
from tests.fixtures.corpora import corpus_once

STILL = Augmentation(*[0.0] * 13)


def ramp(frames: int, base: float) -> np.ndarray:
    """A sign whose every point is at `base` + its frame."""
    points = np.ones((frames, JOINTS, CHANNELS), np.float16)
    points[..., :3] = (base + np.arange(frames))[:, None, None]
    return points


def signs() -> LabelledSigns:
    """Word a has nine labels, word b one, word c none."""
    labelled = (tuple(ramp(25, 0) for _ in range(9)), (ramp(25, 100),), ())
    return LabelledSigns(("a", "b", "c"), labelled, ((ramp(41, 200),), (ramp(41, 300),), (ramp(41, 400),)))


def test_words_and_domains_are_balanced() -> None:
    batches = SignBatches(signs(), 16, 0, ClipOptions(clips=24), STILL)
    clips, words, isolated = batches.make(3)
    assert clips.shape == (24, 16, JOINTS, CHANNELS)
    assert [int((words[~isolated] == word).sum()) for word in range(3)] == [6, 6, 0]
    assert [int((words[isolated] == word).sum()) for word in range(3)] == [4, 4, 4]
    assert not bool(batches.make(3, dictionary=0.0)[2].any())


def test_a_clip_lies_within_its_sign() -> None:
    clips, words, isolated = SignBatches(signs(), 16, 0, ClipOptions(clips=120), STILL).make(0)
    first, last = clips[:, 0, 0, 0], clips[:, -1, 0, 0]
    base = torch.where(isolated, 200 + 100 * words, 100 * words)
    assert bool((first >= base).all())
    assert bool((last <= base + torch.where(isolated, 40, 24)).all())
    span = last - first
    assert 13 <= float(span[~isolated].min()) < float(span[~isolated].max()) <= 17  # a tenth slower or faster than 15
    assert float(span[isolated].min()) >= 0.8 * 40  # an exemplar is shown whole


def test_a_batch_follows_from_seed_and_step() -> None:
    one, two = (SignBatches(signs(), 16, seed, ClipOptions(clips=8), Augmentation()) for seed in (0, 1))
    assert torch.equal(one.make(5)[0], one.make(5)[0])
    assert not torch.equal(one.make(5)[0], one.make(6)[0])
    assert not torch.equal(one.make(5)[0], two.make(5)[0])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_once(tmp_path_factory, words=12, hours=0.02, seed=5, dictionary_signers=3)


def test_signs_are_cut_out_of_a_corpus(corpus: Corpus, tmp_path: Path) -> None:
    splits = corpus.splits()
    collected = collect_signs(corpus, splits.words.all, splits.train, ClipOptions())
    labels = [label for label in corpus.labels(list(splits.train)) if label.word in splits.words.all]
    assert collected.labels == len(labels)
    assert sum(map(len, collected.dictionary)) == len(corpus.dictionary().exemplars)
    assert all(len(sign) == 25 for word in collected.continuous for sign in word)
    surer = collect_signs(corpus, splits.words.all, splits.train, ClipOptions(least=LeastConfidence(0.8)))
    assert 0 < surer.labels == sum(label.confidence >= 0.8 for label in labels) < collected.labels
    assert not any(collect_signs(corpus, splits.words.all, splits.train, ClipOptions(dictionary=1.0)).continuous)


def test_signs_that_are_cut_once_serve_several_trainings(corpus: Corpus) -> None:
    splits, options = corpus.splits(), ClipOptions()
    labels, exemplars = corpus.labels(list(splits.train)), corpus.dictionary().exemplars
    cut = cut_signs(corpus, labels, exemplars, options)
    unreadable = replace(corpus, videos={})
    for chosen in (labels, labels[::2]):
        fresh = collect_signs(corpus, splits.words.all, splits.train, options, labels=chosen, exemplars=exemplars)
        again = collect_signs(
            unreadable, splits.words.all, splits.train, options, labels=chosen, exemplars=exemplars, cut=cut
        )
        assert again.sure == fresh.sure
        for one, other in zip(again.continuous + again.dictionary, fresh.continuous + fresh.dictionary, strict=True):
            assert len(one) == len(other)
            assert all(map(np.array_equal, one, other))


def test_mistakes_are_named(corpus: Corpus) -> None:
    splits = corpus.splits()
    with pytest.raises(OptionsError, match="0 of 2 words"):
        collect_signs(corpus, ["no", "nay"], splits.train, ClipOptions())
    with pytest.raises(OptionsError, match=r"dictionary .* got 2"):
        ClipOptions(dictionary=2)
    with pytest.raises(OptionsError, match=r"clips .* got 1"):
        ClipOptions(clips=1)


def test_surer_labels_once_the_dictionary_joins() -> None:
    sure = replace(signs(), sure=((True, *[False] * 8), (False,), ()))
    sure.continuous[0][0][..., :3] += 50  # the one that is sure
    batches = SignBatches(sure, 16, 0, ClipOptions(clips=24), STILL)
    clips, words, isolated = batches.make(0)
    assert set(words[~isolated].tolist()) == {0}
    assert float(clips[~isolated][..., 0].min()) >= 50
    assert set(batches.make(0, dictionary=0.0)[1].tolist()) == {0, 1}


def test_exemplars_by_consecutive_frames() -> None:
    clips, _, isolated = SignBatches(signs(), 16, 0, ClipOptions(clips=24, exemplars="consecutive"), STILL).make(0)
    assert set((clips[isolated][:, -1, 0, 0] - clips[isolated][:, 0, 0, 0]).tolist()) == {15.0}
    with pytest.raises(OptionsError, match="'x'"):
        ClipOptions(exemplars="x")  # type: ignore[arg-type]


def test_how_sure_labels_are_is_reported(corpus: Corpus) -> None:
    splits = corpus.splits()
    collected = collect_signs(corpus, splits.words.all, splits.train, ClipOptions(surer=0.8))
    labels = [label for label in corpus.labels(list(splits.train)) if label.word in splits.words.all]
    assert sum(map(sum, collected.sure)) == sum(label.confidence >= 0.8 for label in labels) < collected.labels


NOTHING = Augmentation(*(0.0,) * 13)


@pytest.fixture
def signing() -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(6, 16, 69, 4)).astype(np.float32)
    points[..., 3] = 1
    points[:, :, LEFT_HAND] = 0
    return points


def test_nothing_changes_nothing(signing: np.ndarray) -> None:
    assert augment(signing, np.random.default_rng(1), NOTHING) == pytest.approx(signing, abs=1e-6)


def test_unseen_points_stay_at_zero_and_the_input_is_untouched(signing: np.ndarray) -> None:
    before = signing.copy()
    changed = augment(signing, np.random.default_rng(1), Augmentation())
    assert (signing == before).all()
    assert (changed[:, :, LEFT_HAND] == 0).all()
    assert (changed[changed[..., 3] == 0] == 0).all()
    assert np.isfinite(changed).all()


def test_each_clip_is_changed_in_its_own_way(signing: np.ndarray) -> None:
    same = np.repeat(signing[:1], 4, axis=0)
    changed = augment(same, np.random.default_rng(1), Augmentation(*(0.1, *(0.0,) * 12)))
    assert np.abs(changed[0] - changed[1]).max() > 1e-3


def test_a_tilt_keeps_distances(signing: np.ndarray) -> None:
    tilted = augment(signing, np.random.default_rng(1), Augmentation(*(0.3, 0.3, *(0.0,) * 11)))
    hand = signing[:, :, RIGHT_HAND, :3]
    after = tilted[:, :, RIGHT_HAND, :3]
    assert np.linalg.norm(after[:, :, 5] - after[:, :, 9], axis=-1) == pytest.approx(
        np.linalg.norm(hand[:, :, 5] - hand[:, :, 9], axis=-1), abs=1e-4
    )


def test_a_dropped_hand_goes_with_its_wrist_for_a_run(signing: np.ndarray) -> None:
    signing[..., 3] = 1
    dropped = augment(signing, np.random.default_rng(1), Augmentation(*(0.0,) * 10, 2.0, 0.0, 0.0))
    assert (dropped[..., 3] == 1).all()
    shapes = dropped[:, :, RIGHT_HAND, :2] - dropped[:, :, 6:7, :2]
    for clip, before in zip(dropped, signing, strict=True):
        changed = (np.abs(clip[:, RIGHT_HAND] - before[:, RIGHT_HAND]) > 1e-4).any(axis=(1, 2))
        assert 1 <= changed.sum() < 16
        assert np.abs(np.diff(changed.astype(int))).sum() <= 2
    steps = np.diff(shapes, n=2, axis=1)
    assert (np.abs(steps).max(axis=(2, 3)) < 1e-5).any()  # within a run a shape changes evenly


def test_a_hand_is_not_carried_to_a_wrist_that_is_not_seen(signing: np.ndarray) -> None:
    signing[..., 3] = 1
    signing[:, :, 6] = 0
    dropped = augment(signing, np.random.default_rng(1), Augmentation(*(0.0,) * 10, 2.0, 0.0, 0.0))
    missing = dropped[:, :, RIGHT_HAND, 3] == 0
    for clip in missing.all(axis=2):
        assert 1 <= clip.sum() < 16
        assert np.abs(np.diff(clip.astype(int))).sum() <= 2
