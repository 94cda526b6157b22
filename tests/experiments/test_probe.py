"""A classifier on features that tell words apart, and on labels that are wrong."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from experiments.annotated_worlds.probe import Probe
from signspot.corpus.truth import SignTruth
from signspot.errors import OptionsError
from signspot.training.embedding.trunk_features import WindowFeatures
from signspot.types import Grid, Label, LabelSource, TimeMeaning

WORDS = ("apple", "pear", "plum")
SECONDS = 2.0  # each sign


def footage(seed: int) -> tuple[WindowFeatures, list[int]]:
    """Sixty signs of two seconds; each word has a direction of its own."""
    rng = np.random.default_rng(seed)
    words = rng.integers(len(WORDS), size=60)
    shown = np.repeat(np.eye(16)[words], int(25 * SECONDS), axis=0)
    features = (shown + rng.normal(0, 0.3, shown.shape)).astype(np.float16)
    return WindowFeatures(features, Grid(25.0, 16, 1, len(features) + 15)), words.tolist()


def time_of(index: int) -> float:
    return SECONDS * index + SECONDS / 2 + 8 / 25


@pytest.fixture(scope="module")
def videos() -> dict[str, tuple[WindowFeatures, list[int]]]:
    return {"train": footage(0), "test": footage(1)}


@pytest.fixture(scope="module")
def probe(videos: dict[str, tuple[WindowFeatures, list[int]]]) -> Probe:
    signs = [
        SignTruth("test", i, WORDS[w], time_of(i) - 0.3, time_of(i) + 0.3, "1", "anna", (), True, False, False, None)
        for i, w in enumerate(videos["test"][1])
    ]
    return Probe({name: windows for name, (windows, _) in videos.items()}, WORDS, signs)


def labels(videos: dict[str, tuple[WindowFeatures, list[int]]]) -> list[Label]:
    words = videos["train"][1]
    return [Label(WORDS[word], "train", time_of(i), source=LabelSource.DICTIONARY) for i, word in enumerate(words)]


def test_right_labels_teach(probe: Probe, videos: dict[str, tuple[WindowFeatures, list[int]]]) -> None:
    learned = probe.accuracy([*labels(videos), Label("unknown", "train", 3.0)])
    assert (learned.labels, learned.signs) == (60, 60)
    assert learned.top_1 > 0.95
    assert learned.top_5 == 1


def test_wrong_labels_do_not(probe: Probe, videos: dict[str, tuple[WindowFeatures, list[int]]]) -> None:
    wrong = [replace(label, word=WORDS[(WORDS.index(label.word) + 1) % 3]) for label in labels(videos)]
    assert probe.accuracy(wrong).top_1 < 0.05


def test_the_same_seed_gives_the_same(probe: Probe, videos: dict[str, tuple[WindowFeatures, list[int]]]) -> None:
    assert probe.accuracy(labels(videos)[:9], 3) == probe.accuracy(labels(videos)[:9], 3)


def test_mistakes_are_told(probe: Probe, videos: dict[str, tuple[WindowFeatures, list[int]]]) -> None:
    with pytest.raises(OptionsError, match="to learn from"):
        probe.accuracy([])
    with pytest.raises(OptionsError, match="nothing to test on"):
        Probe({"test": videos["test"][0]}, WORDS, [])


def test_a_label_of_the_end_of_a_sign_teaches_what_is_before_it(
    probe: Probe, videos: dict[str, tuple[WindowFeatures, list[int]]]
) -> None:
    """Mouthings 0.1 s after the border of two signs: their sign is the one before; a middle there would be the next."""
    pairs = [(i, one) for i, (one, two) in enumerate(pairwise(videos["train"][1])) if two == (one + 1) % len(WORDS)]
    ends = [Label(WORDS[word], "train", time_of(index) + SECONDS / 2 + 0.1) for index, word in pairs]
    middles = [replace(label, at=TimeMeaning.MIDDLE) for label in ends]
    assert probe.accuracy(ends).top_1 > 0.6  # of few labels
    assert probe.accuracy(middles).top_1 < 0.2
