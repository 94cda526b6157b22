"""The plan of a run: a unit of work for each video that has words not searched yet, named by content.

The key of a word in a video is a digest of all that its result follows from: the video's content, the subtitles that
mention it, the embeddings of its exemplars, the negatives', and the settings. Where a store has that key, the result is
there; so a run that was killed goes on where it stopped, and a new word or a new video costs what is new.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Protocol, TypeVar

from signspot.corpus.corpus import Footage
from signspot.types import Subtitle
from signspot.words.match import Form, WordMatch


class WordFinder(Protocol):
    """Finds words in subtitles; `words.match.WordMatcher` is one."""

    def find_all(self, text: str) -> list[WordMatch]:
        """Every word of a text with its place, in order."""


@dataclass(frozen=True, slots=True)
class SubtitleMention:
    """A dictionary word in a subtitle: one query to be."""

    subtitle: int  # in order of time, from 0
    start: float  # when the subtitle is shown
    end: float
    text: str  # of the subtitle
    first: int  # text[first:last] is what matched
    last: int
    form: Form
    count: int  # how often the word stands in the text
    nearby: tuple[str, ...]  # words of the pool that subtitles around mention: they may be signed here, too

    def values(self) -> list[object]:
        """All of it, in order, for a digest."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True, slots=True)
class MatchedSubtitles:
    """The subtitles of a video, in order of time, and the words in each."""

    subtitles: tuple[Subtitle, ...]
    matches: tuple[tuple[WordMatch, ...], ...]

    @property
    def words(self) -> set[str]:
        """Words that the subtitles mention."""
        return {match.word for matches in self.matches for match in matches}


def match_subtitles(subtitles: Iterable[Subtitle], finder: WordFinder) -> MatchedSubtitles:
    """Find the words of each subtitle.

    Args:
        subtitles: in order of time.
        finder: of all words that may be asked for, so that a word is never found inside of a longer phrase.
    """
    ordered = tuple(subtitles)
    return MatchedSubtitles(ordered, tuple(tuple(finder.find_all(subtitle.text)) for subtitle in ordered))


def find_mentions(
    matched: MatchedSubtitles, padding: float, pool: Collection[str] = (), *, decoys: bool = False
) -> dict[str, tuple[SubtitleMention, ...]]:
    """Every word that the subtitles of a video mention, with the subtitles that do.

    Args:
        matched: the subtitles.
        padding: seconds around a subtitle in which its words are looked for.
        pool: words from which negatives are taken.
        decoys: ask for the words of each subtitle around another one.

    Returns:
        Words in order, each with its mentions in order of time.
    """
    subtitles = matched.subtitles
    in_pool = frozenset(pool)
    present = [frozenset(match.word for match in matches) & in_pool for matches in matched.matches]
    around = _nearby(subtitles, present, padding)
    mentions: dict[str, list[SubtitleMention]] = {}
    storable = (subtitle.text.replace("\0", "\ufffd") for subtitle in subtitles)  # no database holds a NUL
    texts = list(zip(storable, matched.matches, strict=True))
    texts = rotated(texts) if decoys else texts
    for number, (subtitle, (text, matches), nearby) in enumerate(zip(subtitles, texts, around, strict=True)):
        counts = Counter(match.word for match in matches)
        for match in matches:
            count = counts.pop(match.word, 0)
            if count:
                where = (number, subtitle.start, subtitle.end, text, match.start, match.end)
                mentions.setdefault(match.word, []).append(SubtitleMention(*where, match.form, count, nearby))
    return {word: tuple(mentions[word]) for word in sorted(mentions)}


def _nearby(
    subtitles: Sequence[Subtitle], present: Sequence[frozenset[str]], padding: float
) -> Iterator[tuple[str, ...]]:
    """For each subtitle: the pool's words in all subtitles whose padded time meets its own."""
    holders = [number for number, words in enumerate(present) if words]
    first = 0
    longest = max((subtitle.end - subtitle.start for subtitle in subtitles), default=0.0)
    for subtitle in subtitles:
        while first < len(holders) and (subtitles[holders[first]].start + longest + 2 * padding < subtitle.start):
            first += 1
        words_around: set[str] = set()
        for holder in holders[first:]:
            other = subtitles[holder]
            if other.start - 2 * padding > subtitle.end:
                break
            if other.end + 2 * padding >= subtitle.start:
                words_around |= present[holder]
        yield tuple(sorted(words_around))


T = TypeVar("T")


def rotated(subtitles: Sequence[T]) -> list[T]:
    """Queries exchanged between subtitles: each gets those of the subtitle that is half of them later.

    Words, their number and the signer stay the same, only the place is wrong. Where a word happens to be mentioned
    around its wrong place, too, `contrast` leaves the decoy out; so it does with the only subtitle of a video.
    """
    half = len(subtitles) // 2
    return [*subtitles[half:], *subtitles[:half]]


RESERVE = 16  # words of the pool beyond the negatives wanted, in place of those that may be signed


@dataclass(frozen=True, slots=True)
class VideoUnit:
    """One video and the words to look for in it."""

    video: str
    media: Path
    digest: str  # of the media's content
    mentions: Mapping[str, tuple[SubtitleMention, ...]] = field(repr=False)  # word → where the subtitles mention it
    keys: Mapping[str, str] = field(repr=False)  # word → digest of all that its result follows from
    synonyms: Mapping[str, tuple[str, ...]] = field(repr=False)  # word → words of the pool with the same sign

    @property
    def id(self) -> str:
        """Names the unit by its content."""
        return _digest([self.video, sorted(self.keys.items())])


@dataclass(frozen=True, slots=True)
class ResultKey:
    """What the results of all units follow from."""

    settings: Mapping[str, str]  # encoder and options
    words: Mapping[str, str]  # word → digest of its exemplars' embeddings
    pool: tuple[str, ...] = ()  # words from which negatives are taken, in order
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # word → words with the same sign

    def common(self) -> str:
        """The digest of what is the same for every word."""
        return _digest([sorted(self.settings.items()), [[word, self.words[word]] for word in self.pool]])


def sample_negatives(words: Iterable[str], count: int, seed: int) -> tuple[str, ...]:
    """Sample the words from which negatives are taken; which, follows from the words and the seed alone."""
    if not count:
        return ()
    ordered = sorted(words, key=lambda word: hashlib.sha256(f"{seed} {word}".encode("utf-8", "replace")).digest())
    return tuple(ordered[: count + RESERVE])


def plan_unit(
    footage: Footage,
    digest: str,
    mentions: Mapping[str, tuple[SubtitleMention, ...]],
    key: ResultKey,
    done: Mapping[str, str],
) -> VideoUnit | None:
    """Plan the work that is left in one video.

    Args:
        footage: the video.
        digest: of its content.
        mentions: word → where its subtitles mention it, for the words that are asked for.
        key: what all results follow from.
        done: word → key, for the words that are finished in this video.

    Returns:
        The unit; None if nothing is left.
    """
    common, pool = key.common(), frozenset(key.pool)
    keys: dict[str, str] = {}
    synonyms: dict[str, tuple[str, ...]] = {}
    for word, of_word in mentions.items():
        if word not in key.words:
            continue  # no exemplar of it can be read
        alike = tuple(sorted(pool.intersection(key.synonyms.get(word, ()))))
        digested = _digest([common, digest, word, key.words[word], alike, [mention.values() for mention in of_word]])
        if done.get(word) != digested:
            keys[word] = digested
            synonyms |= {word: alike} if alike else {}
    if not keys:
        return None
    return VideoUnit(footage.video, footage.media, digest, {word: mentions[word] for word in keys}, keys, synonyms)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[:32]
