"""Truth and splits of a corpus: every sign, subtitle word and exemplar, one JSON record per line."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from signspot.errors import FormatError
from signspot.io.checks import check_text, parse_json, quoted, record_checker
from signspot.io.files import atomic_write
from signspot.io.text import json_rows, read_text
from signspot.types import Label, Segment

TEST_WORD_SHARE = 264 / 1064  # the paper's test vocabulary


@dataclass(frozen=True, slots=True)
class SignTruth:
    """One sign of a continuous video."""

    video: str
    index: int  # in the video
    word: str
    start: float  # seconds
    end: float
    variant: str  # as in the dictionary
    signer: str
    exemplars: tuple[str, ...]  # ids of the dictionary's exemplars that show this very sign
    listed: bool  # the dictionary lists the word
    fingerspelled: bool
    mouthed: bool
    subtitle: int | None  # the subtitle that mentions it, in order of time; None: none does

    @property
    def segment(self) -> Segment:
        """The span of the sign."""
        return Segment(self.start, self.end)


@dataclass(frozen=True, slots=True)
class MentionTruth:
    """A dictionary word in a subtitle, signed or not."""

    video: str
    subtitle: int  # in order of time
    word: str
    first: int  # its characters in the subtitle's text
    last: int  # the character after its last
    signs: tuple[int, ...]  # the signs that render it; empty: it is not signed
    signing_start: float  # where the sentence is signed, seconds
    signing_end: float


@dataclass(frozen=True, slots=True)
class MouthingTruth:
    """One word on the lips of a video."""

    video: str
    word: str
    start: float  # seconds
    end: float
    phonemes: tuple[str, ...] = ()  # as they were said; empty: those of the word
    share: float = 1.0  # of the word that was said; less: it was only begun

    @property
    def segment(self) -> Segment:
        """The span of the mouthing."""
        return Segment(self.start, self.end)


@dataclass(frozen=True, slots=True)
class ExemplarTruth:
    """One exemplar of the dictionary."""

    exemplar: str
    word: str
    start: float
    end: float
    variant: str
    signer: str
    sign: str  # the phonological bundle, in words
    fingerspelled: bool

    @property
    def segment(self) -> Segment:
        """The span of the sign in the exemplar's video."""
        return Segment(self.start, self.end)


Record = TypeVar("Record", SignTruth, MentionTruth, MouthingTruth, ExemplarTruth, Label)


def write_records(records: Iterable[Any], path: Path) -> Path:
    """Write dataclass records as JSON Lines, times rounded to a tenth of a millisecond."""
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            optional = {item.name for item in fields(record) if item.default is None}
            fields_of_record = {k: v for k, v in asdict(record).items() if v is not None or k not in optional}
            values = {k: round(v, 4) if isinstance(v, float) else v for k, v in fields_of_record.items()}
            file.write(json.dumps(values, ensure_ascii=False) + "\n")
    return path


def read_records(kind: type[Record], paths: Path | Sequence[Path]) -> Iterator[Record]:
    """Read JSON Lines of one kind of record.

    Raises:
        FormatError: a line is not such a record.
    """
    for path in [paths] if isinstance(paths, Path) else paths:
        yield from records_of(kind, json_rows(path))


def records_of(kind: type[Record], rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Record]:
    """The objects of JSON Lines, each with its place, as records of one kind; raises as `read_records` does."""
    make = record_checker(kind, scores=("confidence", "share"))
    for where, row in rows:
        try:
            yield make(row)
        except FormatError as error:
            raise FormatError(f"{where}: {error}") from error


def right_labels(labels: Sequence[Label], signs: Mapping[str, Sequence[SignTruth]]) -> list[bool]:
    """Whether each label lies within 0.3 s of a sign of its word; `signs` are all of them, by video."""
    return [
        any(
            sign.word == label.word and sign.segment.padded(0.3).overlap(label.segment) > 0
            for sign in signs[label.video]
        )
        for label in labels
    ]


@dataclass(frozen=True, slots=True)
class WordSplit:
    """The words of the two training settings and of the test that both share; none where words are not split."""

    all: tuple[str, ...] = ()  # 'train 1064': the test words are seen in training
    train: tuple[str, ...] = ()  # 'train 800': the test words are unseen in training
    test: tuple[str, ...] = ()  # '264': tested in both settings


@dataclass(frozen=True, slots=True)
class Splits:
    """Videos for training and for testing, and the word protocol."""

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
    """All words; first one from each of `count` equal parts of the ranks, then the rest."""
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
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(asdict(splits), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def read_splits(path: Path) -> Splits:
    """Read splits: {"train": [...], "test": [...]} names videos; "words", which splits words, may be left out.

    Raises:
        FormatError: the file holds none.
    """
    try:
        data = parse_json(read_text(path, exact=True).text, str(path))
        words = WordSplit()
        if "words" in data:
            words = WordSplit(**{key: _names(data["words"][key], path, key) for key in ("all", "train", "test")})
        return Splits(_names(data["train"], path, "train"), _names(data["test"], path, "test"), words)
    except (KeyError, TypeError) as error:
        raise FormatError(f"{path} holds no splits: {error!r}") from error


def _names(values: Any, path: Path, value_name: str) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise FormatError(f"{path}: {value_name} must be a list of names; got {quoted(values)}.")
    return tuple(check_text(value, f"{path}: a name in {value_name}") for value in values)
