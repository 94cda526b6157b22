"""A classifier on features that tell words apart, and on labels that are wrong."""

import numpy as np
import pytest

from signspot.corpus.truth import SignTruth
from signspot.errors import OptionsError
from signspot.timeline import Grid
from signspot.training.embedding.trunk_features import Windows
from signspot_lab.annotated_worlds.probe import Place, Probe

WORDS = ("apple", "pear", "plum")
SECONDS = 2.0  # each sign


def footage(seed: int) -> tuple[Windows, list[int]]:
    """Sixty signs of two seconds; each word has a direction of its own."""
    rng = np.random.default_rng(seed)
    words = rng.integers(len(WORDS), size=60)
    shown = np.repeat(np.eye(16)[words], int(25 * SECONDS), axis=0)
    features = (shown + rng.normal(0, 0.3, shown.shape)).astype(np.float16)
    return Windows(features, Grid(25.0, 16, 1, len(features) + 15)), words.tolist()


def time_of(index: int) -> float:
    return SECONDS * index + SECONDS / 2 + 8 / 25


@pytest.fixture(scope="module")
def videos() -> dict[str, tuple[Windows, list[int]]]:
    return {"train": footage(0), "test": footage(1)}


@pytest.fixture(scope="module")
def probe(videos: dict[str, tuple[Windows, list[int]]]) -> Probe:
    signs = [
        SignTruth("test", i, WORDS[w], time_of(i) - 0.3, time_of(i) + 0.3, "1", "anna", (), True, False, False, None)
        for i, w in enumerate(videos["test"][1])
    ]
    return Probe({name: windows for name, (windows, _) in videos.items()}, WORDS, signs)


def places(videos: dict[str, tuple[Windows, list[int]]]) -> list[Place]:
    return [("train", WORDS[word], time_of(index)) for index, word in enumerate(videos["train"][1])]


def test_right_labels_teach(probe: Probe, videos: dict[str, tuple[Windows, list[int]]]) -> None:
    learned = probe.accuracy([*places(videos), ("train", "unknown", 3.0)])
    assert (learned.labels, learned.signs) == (60, 60)
    assert learned.top_1 > 0.95
    assert learned.top_5 == 1


def test_wrong_labels_do_not(probe: Probe, videos: dict[str, tuple[Windows, list[int]]]) -> None:
    wrong = [(video, WORDS[(WORDS.index(word) + 1) % 3], time) for video, word, time in places(videos)]
    assert probe.accuracy(wrong).top_1 < 0.05


def test_the_same_seed_gives_the_same(probe: Probe, videos: dict[str, tuple[Windows, list[int]]]) -> None:
    assert probe.accuracy(places(videos)[:9], 3) == probe.accuracy(places(videos)[:9], 3)


def test_mistakes_are_told(probe: Probe, videos: dict[str, tuple[Windows, list[int]]]) -> None:
    with pytest.raises(OptionsError, match="to learn from"):
        probe.accuracy([])
    with pytest.raises(OptionsError, match="nothing to test on"):
        Probe({"test": videos["test"][0]}, WORDS, [])
