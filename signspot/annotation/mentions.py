"""From a video's subtitles to the questions worth asking: which dictionary words stand where, in which form."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from signspot.annotation.decoys import rotated
from signspot.records import Subtitle
from signspot.text.lattice import Form
from signspot.text.match import Matcher


@dataclass(frozen=True, slots=True)
class Mention:
    """A dictionary word in a subtitle: one query to be."""

    subtitle: int  # in order of time, from 0
    start: float  # when the subtitle is shown
    end: float
    text: str  # of the subtitle
    first: int  # text[first:last] is what matched
    last: int
    form: Form
    count: int  # how often the word stands in the text
    nearby: tuple[str, ...]  # words of the panel that subtitles around mention: they may be signed here, too


def find_mentions(
    subtitles: Sequence[Subtitle],
    matcher: Matcher,
    padding: float,
    panel: Collection[str] = (),
    *,
    decoys: bool = False,
) -> dict[str, tuple[Mention, ...]]:
    """Every word that the subtitles of a video mention, with the subtitles that do.

    Args:
        subtitles: in order of time.
        matcher: of all words of the dictionary, so that a word is never found inside of a longer phrase.
        padding: seconds around a subtitle in which its words are looked for.
        panel: words from which impostors are taken.
        decoys: ask for the words of each subtitle around another one.

    Returns:
        Words in order, each with its mentions in order of time.
    """
    matches = [matcher.find_all(subtitle.text) for subtitle in subtitles]
    drawn = frozenset(panel)
    present = [frozenset(match.word for match in found) & drawn for found in matches]
    around = _nearby(subtitles, present, padding)
    mentions: dict[str, list[Mention]] = {}
    asked = [(_storable(subtitle.text), found) for subtitle, found in zip(subtitles, matches, strict=True)]
    asked = rotated(asked) if decoys else asked
    for number, (subtitle, (text, found), nearby) in enumerate(zip(subtitles, asked, around, strict=True)):
        counts: dict[str, int] = {}
        for match in found:
            counts[match.word] = counts.get(match.word, 0) + 1
        for match in found:
            if counts[match.word]:
                here = (number, subtitle.start, subtitle.end, text, match.start, match.end)
                one = Mention(*here, match.form, counts[match.word], nearby)
                mentions.setdefault(match.word, []).append(one)
                counts[match.word] = 0
    return {word: tuple(mentions[word]) for word in sorted(mentions)}


def mentioned_words(subtitles: Iterable[Subtitle], matcher: Matcher) -> set[str]:
    """Which words the subtitles of a video mention."""
    return {match.word for subtitle in subtitles for match in matcher.find_all(subtitle.text)}


def _nearby(
    subtitles: Sequence[Subtitle], present: Sequence[frozenset[str]], padding: float
) -> Iterator[tuple[str, ...]]:
    """For each subtitle: the panel's words in all subtitles whose padded time meets its own."""
    holders = [number for number, words in enumerate(present) if words]
    first = 0
    longest = max((subtitle.end - subtitle.start for subtitle in subtitles), default=0.0)
    for subtitle in subtitles:
        while first < len(holders) and (subtitles[holders[first]].start + longest + 2 * padding < subtitle.start):
            first += 1
        found: set[str] = set()
        for holder in holders[first:]:
            other = subtitles[holder]
            if other.start - 2 * padding > subtitle.end:
                break
            if other.end + 2 * padding >= subtitle.start:
                found |= present[holder]
        yield tuple(sorted(found))


def _storable(text: str) -> str:
    """The text without what no database holds, every other character at its place."""
    return text.replace("\0", "\ufffd")
