"""Splits: videos by signer into train and test, words by the seen/unseen protocol of Sec. 4.2."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from signspot.errors import FormatError
from signspot.files import write_beside

TEST_WORD_SHARE = 264 / 1064  # the paper's test vocabulary


@dataclass(frozen=True, slots=True)
class WordSplit:
    """The words of the two training settings and of the test that both share."""

    all: tuple[str, ...]  # 'train 1064': the test words are seen in training
    train: tuple[str, ...]  # 'train 800': the test words are unseen in training
    test: tuple[str, ...]  # '264': tested in both settings


@dataclass(frozen=True, slots=True)
class Splits:
    """Which videos are for training and which for testing, and the word protocol."""

    train: tuple[str, ...]  # video ids
    test: tuple[str, ...]
    words: WordSplit


def split_words(words: Sequence[str], same_sign: Mapping[str, frozenset[str]], rng: np.random.Generator) -> WordSplit:
    """Choose the test words, spread evenly over common and rare ones; synonyms stay on one side.

    Args:
        words: the vocabulary, common words first.
        same_sign: word → all words that share its sign, itself included.
        rng: decides.
    """
    count = round(len(words) * TEST_WORD_SHARE)
    test: set[str] = set()
    listed = set(words)
    for word in _spread(words, count, rng):
        group = same_sign.get(word, frozenset([word])) & listed
        if word not in test and len(test) + len(group) <= count:
            test |= group
    return WordSplit(tuple(words), tuple(w for w in words if w not in test), tuple(w for w in words if w in test))


def _spread(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """All words; first one from each of `count` equal stretches of the ranks, then the rest."""
    if count == 0:
        return []
    order = rng.permutation(len(words))
    edges = np.linspace(0, len(words), count + 1).astype(int)
    first = [min(range(a, b), key=lambda i: order[i]) for a, b in pairwise(edges)]
    chosen = set(first)
    rest = [i for i in rng.permutation(len(words)) if int(i) not in chosen]
    return [words[int(i)] for i in [*first, *rest]]


def write_splits(splits: Splits, path: Path) -> Path:
    """Write the splits as JSON."""
    with write_beside(path) as beside:
        beside.write_text(json.dumps(asdict(splits), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def read_splits(path: Path) -> Splits:
    """Read splits.

    Raises:
        FormatError: the file holds none.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        words = WordSplit(**{key: tuple(data["words"][key]) for key in ("all", "train", "test")})
        return Splits(tuple(data["train"]), tuple(data["test"]), words)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} holds no splits: {error}") from error
