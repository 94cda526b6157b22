"""The part of a corpus that a training learns from: videos, words, and items made of labels and subtitles.

An item is a subtitled stretch of a video, its labelled word, and its other words. A digest names
all that a subset holds.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import LeastConfidence, SignWindow
from signspot.dictionary.dictionary import Dictionary
from signspot.errors import OptionsError
from signspot.io.checks import check_numbers
from signspot.io.files import content_digest
from signspot.types import Label, LabelSource, Segment
from signspot.words.match import WordMatcher

logger = logging.getLogger(__name__)

Words = Literal["all", "train"]
SubtitlesOfVideos = Mapping[str, Sequence["SubtitleWords"]]
_NAMED = 3  # words that a message names


@dataclass(frozen=True, slots=True)
class ClipBatchOptions(SignWindow):
    """Composition of a batch of labelled clips and exemplars, and where the sign of a label lies."""

    clips: int = 128  # in a batch
    dictionary: float = 0.5  # share of them that are of exemplars; 0: none, 1: all
    least: LeastConfidence = field(default_factory=LeastConfidence)  # of a label, by its source
    surer: float = 0.0  # minimum confidence of mouthings once the dictionary joins; the paper: 0.8

    def __post_init__(self) -> None:
        SignWindow.__post_init__(self)
        check_numbers(self, "clips", least=2)
        check_numbers(self, "dictionary", "surer", least=0, most=1)

    def is_sure(self, label: Label) -> bool:
        """Whether a label is sure enough to be learned from beside the dictionary."""
        return label.source is not LabelSource.MOUTHING or label.confidence >= self.surer


def draw_words(words: Sequence[int], count: int, random: np.random.Generator) -> list[int]:
    """`count` random words, no word a second time before all were drawn."""
    rounds = -(-count // max(1, len(words)))
    return [word for _ in range(rounds) for word in random.permutation(words).tolist()][:count]


@dataclass(frozen=True, slots=True)
class SubtitleWords:
    """Time of a subtitle, and the dictionary words that it has."""

    segment: Segment
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a batch: continuous signing with one labelled sign."""

    label: Label  # of the foreground word
    span: Segment  # the subtitle's time and some seconds around it: where background clips come from
    background: tuple[str, ...]  # the other words of the subtitle, each once

    @property
    def video(self) -> str:
        """The video that it is in."""
        return self.label.video

    @property
    def word(self) -> str:
        """The foreground word."""
        return self.label.word

    @property
    def time(self) -> float:
        """The time of the label, seconds; what it means, the label says."""
        return self.label.time


@dataclass(frozen=True, slots=True)
class ItemOptions:
    """Choice of the labels that become items. The defaults are the paper's (Sec. 4.1)."""

    padding: float = 2.0  # seconds around a subtitle in which its signing is looked for
    shortest: float = 2.0  # seconds that a subtitle must last
    least: LeastConfidence = field(default_factory=LeastConfidence)  # of a label, by its source
    sources: tuple[str, ...] = ("M", "D", "V")  # whose labels count
    labelled: Words = "all"  # words whose labels count; "train": the others are looked up only (Table 3)

    def __post_init__(self) -> None:
        sources = [source.value for source in LabelSource]
        for source in self.sources:
            if source not in sources:
                raise OptionsError(f"no source of labels '{source}'. There are: {', '.join(sources)}")
        if self.labelled not in get_args(Words):
            raise OptionsError(f"no labelled words '{self.labelled}'. There are: {', '.join(get_args(Words))}")
        check_numbers(self, "padding", "shortest", least=0)


def collect_items(
    labels: Iterable[Label],
    subtitles: Mapping[str, Sequence[SubtitleWords]],
    labelled: Collection[str],
    listed: Collection[str],
    options: ItemOptions | None = None,
) -> list[Item]:
    """Pair every label with the subtitle that has its word, where there is one around it.

    Args:
        labels: of any source; two sources may be mixed.
        subtitles: video → its subtitles.
        labelled: the words whose labels are used.
        listed: the words whose exemplars are used; a label's word must be among them.
        options: which labels become items.

    Raises:
        OptionsError: nothing is left, or one word only, from which nothing can be told apart.
    """
    chosen = options or ItemOptions()
    listed_labels = list(labels)
    if not listed_labels:
        raise OptionsError("the corpus has no labels. Spot mouthings or signs in it first.")
    usable_words, with_exemplar = set(labelled) & set(listed), set(listed)
    items = [
        _item(label, subtitle, chosen, with_exemplar)
        for label in listed_labels
        if label.word in usable_words and chosen.least.admits(label) and label.source.value in chosen.sources
        if (subtitle := _around(label, subtitles.get(label.video, ()), chosen)) is not None
    ]
    _check(items, listed_labels, chosen)
    return items


def _around(label: Label, subtitles: Sequence[SubtitleWords], options: ItemOptions) -> SubtitleWords | None:
    """Of the subtitles with the label's word whose padded time holds the label, the nearest."""
    fitting = [
        subtitle
        for subtitle in subtitles
        if label.word in subtitle.words
        and subtitle.segment.duration >= options.shortest
        and label.time in subtitle.segment.padded(options.padding)
    ]
    return min(fitting, key=lambda subtitle: abs(subtitle.segment.middle - label.time), default=None)


def _item(label: Label, subtitle: SubtitleWords, options: ItemOptions, listed: set[str]) -> Item:
    others = tuple(word for word in dict.fromkeys(subtitle.words) if word != label.word and word in listed)
    span = subtitle.segment.padded(options.padding)
    return Item(label, span, others)


def _check(items: Sequence[Item], labels: Sequence[Label], options: ItemOptions) -> None:
    words = Counter(item.word for item in items)
    if not items:
        raise OptionsError(
            f"none of {len(labels):,} labels is usable: each needs a confidence of {options.least} or more, an "
            f"exemplar, and a subtitle of {options.shortest} s or more with its word within {options.padding} s"
        )
    if len(words) < 2:
        raise OptionsError(
            f"all {len(items):,} usable labels are of one word, '{next(iter(words))}'. Learning needs two."
        )


def read_words(corpus: Corpus, words: Collection[str], videos: Collection[str]) -> SubtitlesOfVideos:
    """Find dictionary words in the subtitles of videos; a video without subtitles has none."""
    matcher = WordMatcher(words, corpus.language)
    by_video: dict[str, list[SubtitleWords]] = {}
    for name in videos:
        subtitles = () if corpus.videos[name].subtitles is None else corpus.subtitles(name)
        by_video[name] = [
            SubtitleWords(
                Segment(subtitle.start, subtitle.end),
                tuple(dict.fromkeys(match.word for match in matcher.find(subtitle.text))),
            )
            for subtitle in subtitles
        ]
    return by_video


@dataclass(frozen=True, slots=True)
class TrainingSubset:
    """The part of a corpus that a training learns from."""

    corpus: Corpus  # with the training videos alone
    dictionary: Dictionary
    words: tuple[str, ...]  # with exemplars, sorted
    labels: tuple[Label, ...]  # of these words

    def describe(self) -> dict[str, Any]:
        """For cards, and to tell a run on one corpus from a run on another."""
        return {"digest": self.digest, "videos": len(self.corpus.videos), "labels": len(self.labels)}

    @property
    def digest(self) -> str:
        """Names all files that are learned from by their content."""
        layout = self.corpus.layout
        videos = self.corpus.videos.values()
        files = [path for video in videos for path in (video.landmarks, video.video, video.subtitles) if path]
        files += [layout.splits, *(exemplar.path for exemplar in self.dictionary.exemplars if exemplar.path)]
        contents = "\n".join(f"{path.name} {content_digest(path)}" for path in files if path.is_file())
        labels = "\n".join(repr(label) for label in self.labels)
        return hashlib.sha256(f"{contents}\n{labels}".encode()).hexdigest()[:16]

    def items(self, options: ItemOptions, words: Collection[str] | None = None) -> list[Item]:
        """The items of all labels, or of the labels and exemplars of some words.

        Raises:
            OptionsError: there are none, or of one word only.
        """
        chosen = self.words if words is None else words
        subtitles = read_words(self.corpus, chosen, list(self.corpus.videos))
        self._check(subtitles)
        labelled = set(chosen) if options.labelled == "all" else set(chosen) & self._training_words()
        return collect_items(self.labels, subtitles, labelled, chosen, options)

    def _training_words(self) -> set[str]:
        words = _split_words(self.corpus, "train")
        if words is None:
            raise OptionsError(
                f"items.labelled is 'train', and {self.corpus.layout.splits} splits no words. Name them there"
            )
        return words

    def _check(self, subtitles: SubtitlesOfVideos) -> None:
        lines = [subtitle for of_video in subtitles.values() for subtitle in of_video]
        where = f"the training videos of {self.corpus.folder} ({len(subtitles)})"
        if not lines:
            raise OptionsError(f"{where} have no subtitles, or empty ones. Put ID.vtt beside ID.mp4 or ID.pose")
        if not any(subtitle.words for subtitle in lines):
            raise OptionsError(f"no subtitle of {where} has a word of the dictionary; {len(lines):,} were read")


def find_training_subset(
    corpus: Corpus, words: Words = "all", *, filmed: bool = False, labels: Sequence[Label] | None = None
) -> TrainingSubset:
    """Find what there is to learn from.

    Args:
        corpus: any; without splits all its videos and all words of its dictionary are for training.
        words: of a corpus with splits, which.
        filmed: take the dictionary with videos, where there is one.
        labels: instead of the corpus's own.

    Raises:
        OptionsError: there is no label, or no labelled word has an exemplar.
        DictionaryError: there is no dictionary.
    """
    training = {video.id: video for video in corpus.in_split("train")}
    filmed = filmed and (corpus.layout.dictionary_video / "dictionary.json").is_file()
    dictionary = corpus.dictionary(video=filmed)
    labels = corpus.labels(list(training)) if labels is None else [label for label in labels if label.video in training]
    if not labels:
        raise OptionsError(
            f"the corpus {corpus.folder} has no labels in its training videos ({len(training)}). "
            "Spot mouthings or signs in it first, or put labels into labels/*.jsonl"
        )
    split_words = _split_words(corpus, words)
    chosen = set(dictionary) if split_words is None else split_words & set(dictionary)
    _report_missing([label for label in labels if split_words is None or label.word in split_words], dictionary)
    usable = tuple(label for label in labels if label.word in chosen)
    return TrainingSubset(replace(corpus, videos=training), dictionary, tuple(sorted(chosen)), usable)


def validation_labels(corpus: Corpus, words: Collection[str]) -> list[Label]:
    """The sure labels of the validation videos, by which the best weights are chosen.

    Raises:
        OptionsError: there are none.
    """
    labels = corpus.sure_labels("validation", words)
    if not labels:
        raise OptionsError(
            "validate_every needs labels of learned words, M from 0.9 or V, in videos of the split 'validation'. Name "
            "some in splits.json"
        )
    return labels


def _split_words(corpus: Corpus, words: Words) -> set[str] | None:
    """The words for training; None: the corpus does not say."""
    path: Path = corpus.layout.splits
    if not path.is_file():
        return None
    split = corpus.splits().words
    if not split.all:
        return None
    return set(split.all if words == "all" else split.train)


def _report_missing(labels: Sequence[Label], dictionary: Dictionary) -> None:
    """Say which labelled words cannot be looked up; they are left out."""
    listed = set(dictionary)
    labelled = {label.word for label in labels}
    missing = sorted(labelled - listed)
    named = ", ".join(f"'{word}'" for word in missing[:_NAMED]) + (" …" if len(missing) > _NAMED else "")
    if labelled and not labelled & listed:
        raise OptionsError(f"no labelled word has an exemplar in the dictionary: {named}. Add exemplars of them.")
    if missing:
        count = sum(label.word not in listed for label in labels)
        logger.warning("left out labels (%d) of words without an exemplar (%d): %s", count, len(missing), named)
