"""What is to be done: a unit of work for each video that has words not searched yet, named by content.

The key of a word in a video is a digest of all that its result follows from: the video's content, the subtitles that
mention it, the embeddings of its exemplars, the impostors', and the settings. Where a store has that key, the result is
there; so a run that was killed goes on where it stopped, and a new word or a new video costs what is new.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path

from signspot.annotation.footage import Footage
from signspot.annotation.mentions import Mention

RESERVE = 16  # words of the panel beyond the impostors wanted, in place of those that may be signed


@dataclass(frozen=True, slots=True)
class Unit:
    """One video and the words to look for in it."""

    video: str
    media: Path
    digest: str  # of the media's content
    mentions: Mapping[str, tuple[Mention, ...]] = field(repr=False)  # word → where the subtitles mention it
    keys: Mapping[str, str] = field(repr=False)  # word → digest of all that its result follows from
    synonyms: Mapping[str, tuple[str, ...]] = field(repr=False)  # word → words of the panel with the same sign

    @property
    def id(self) -> str:
        """Names the unit by its content."""
        return _digest([self.video, sorted(self.keys.items())])


@dataclass(frozen=True, slots=True)
class Basis:
    """What the results of all units follow from."""

    settings: Mapping[str, str]  # encoder and options
    words: Mapping[str, str]  # word → digest of its exemplars' embeddings
    panel: tuple[str, ...] = ()  # words from which impostors are taken, in order
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # word → words with the same sign

    def common(self) -> str:
        """The digest of what is the same for every word."""
        return _digest([sorted(self.settings.items()), [[word, self.words[word]] for word in self.panel]])


def draw_panel(words: Iterable[str], impostors: int, seed: int) -> tuple[str, ...]:
    """Draw the words from which impostors are taken; which, follows from the words and the seed alone."""
    if not impostors:
        return ()
    drawn = sorted(words, key=lambda word: hashlib.sha256(f"{seed} {word}".encode("utf-8", "replace")).digest())
    return tuple(drawn[: impostors + RESERVE])


def plan_unit(
    footage: Footage,
    digest: str,
    mentions: Mapping[str, tuple[Mention, ...]],
    basis: Basis,
    done: Mapping[str, str],
) -> Unit | None:
    """What is left to do in one video.

    Args:
        footage: the video.
        digest: of its content.
        mentions: word → where its subtitles mention it, for the words that are asked for.
        basis: what all results follow from.
        done: word → key, for the words that are finished in this video.

    Returns:
        The unit; None if nothing is left.
    """
    common, panel = basis.common(), frozenset(basis.panel)
    keys: dict[str, str] = {}
    synonyms: dict[str, tuple[str, ...]] = {}
    for word, places in mentions.items():
        if word not in basis.words:
            continue  # no exemplar of it can be read
        alike = tuple(sorted(panel.intersection(basis.synonyms.get(word, ()))))
        key = _digest([common, digest, word, basis.words[word], alike, [astuple(place) for place in places]])
        if done.get(word) != key:
            keys[word] = key
            synonyms |= {word: alike} if alike else {}
    if not keys:
        return None
    return Unit(footage.video, footage.media, digest, {word: mentions[word] for word in keys}, keys, synonyms)


def gone_words(
    mentions: Mapping[str, tuple[Mention, ...]], asked: frozenset[str], done: Mapping[str, str]
) -> list[str]:
    """Words that are asked for and stored, but that the subtitles of the video mention no more."""
    return sorted(word for word in done if word in asked and word not in mentions)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[:32]
