"""What of a corpus is learned from: training videos, vocabulary, labels and items; and the digest that names it all."""

import hashlib
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from signspot.corpus.corpus import Corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.errors import OptionsError
from signspot.files import content_digest
from signspot.records import Label
from signspot.training.embedding.config import Words
from signspot.training.embedding.data import SubtitlesOfVideos, read_words
from signspot.training.items import Item, ItemOptions, collect_items

logger = logging.getLogger(__name__)

_NAMED = 3  # words that a message names


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
        said = "\n".join(f"{path.name} {content_digest(path)}" for path in files if path.is_file())
        labels = "\n".join(repr(label) for label in self.labels)
        return hashlib.sha256(f"{said}\n{labels}".encode()).hexdigest()[:16]

    def items(self, options: ItemOptions, words: Collection[str] | None = None) -> list[Item]:
        """The items of all labels, or of the labels and exemplars of some words.

        Raises:
            OptionsError: there are none, or of one word only.
        """
        chosen = self.words if words is None else words
        subtitles = read_words(self.corpus, chosen, list(self.corpus.videos))
        self._check(subtitles)
        return collect_items(self.labels, subtitles, chosen, chosen, options)

    def _check(self, subtitles: SubtitlesOfVideos) -> None:
        lines = [subtitle for found in subtitles.values() for subtitle in found]
        where = f"the training videos of {self.corpus.folder} ({len(subtitles)})"
        if not lines:
            raise OptionsError(f"{where} have no subtitles, or empty ones. Put ID.vtt beside ID.mp4 or ID.pose")
        if not any(subtitle.words for subtitle in lines):
            raise OptionsError(f"no subtitle of {where} has a word of the dictionary; {len(lines):,} were read")


def find_training_subset(corpus: Corpus, words: Words = "all", *, filmed: bool = False) -> TrainingSubset:
    """Find what there is to learn from.

    Args:
        corpus: any; without splits all its videos and all words of its dictionary are for training.
        words: of a corpus with splits, which.
        filmed: take the dictionary with videos, where there is one.

    Raises:
        OptionsError: there is no label, or no labelled word has an exemplar.
        DictionaryError: there is no dictionary.
    """
    training = {video.id: video for video in corpus.in_split("train")} or dict(corpus.videos)
    filmed = filmed and (corpus.layout.dictionary_video / "dictionary.json").is_file()
    dictionary = corpus.dictionary(video=filmed)
    labels = corpus.labels(list(training))
    if not labels:
        raise OptionsError(
            f"the corpus {corpus.folder} has no labels in its training videos ({len(training)}). "
            "Spot mouthings or signs in it first, or put labels into labels/*.jsonl"
        )
    wanted = _split_words(corpus, words)
    chosen = set(dictionary) if wanted is None else wanted & set(dictionary)
    _report_missing([label for label in labels if wanted is None or label.word in wanted], dictionary)
    kept = tuple(label for label in labels if label.word in chosen)
    return TrainingSubset(replace(corpus, videos=training), dictionary, tuple(sorted(chosen)), kept)


def _split_words(corpus: Corpus, words: Words) -> set[str] | None:
    """The words for training; None: the corpus does not say."""
    path: Path = corpus.layout.splits
    if not path.is_file():
        return None
    split = corpus.splits().words
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
