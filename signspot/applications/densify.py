"""Dense annotation of a passage: every dictionary word of the subtitles, found near its subtitle, on one timeline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from signspot.annotation.plan import SubtitleMention, find_mentions
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.inputs import Source
from signspot.errors import DictionaryError, OptionsError
from signspot.io.progress import Progress
from signspot.spotting.options import SpotOptions
from signspot.spotting.search import Found
from signspot.spotting.spotter import Spotter
from signspot.types import Segment, Spotting, Subtitle, Track
from signspot.words.match import WordMatcher


@dataclass(frozen=True, slots=True)
class DensifyOptions:
    """Options of following subtitles."""

    padding: float = 4.0  # seconds before and after a subtitle in which its words are looked for (Sec. 4.5)
    rate: float = 120.0  # false alarms per hour and word that are allowed inside of such a stretch
    language: str = "en"  # of the subtitles
    passage: Segment | None = None  # only subtitles that begin in it; None: all

    def __post_init__(self) -> None:
        if not 0 <= self.padding <= 60:
            raise OptionsError(f"padding is 0 to 60 seconds; got {self.padding}")
        if not 0 < self.rate < float("inf"):
            raise OptionsError(f"false alarms per hour must be above 0; got {self.rate}")


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A dictionary word in a subtitle, and where it is signed."""

    word: str
    mention: SubtitleMention
    where: Segment  # where it was looked for
    spotting: Spotting | None  # None: it was not found


@dataclass(frozen=True)
class Timeline:
    """All subtitle words of a passage."""

    subtitles: tuple[Subtitle, ...]
    mentioned: tuple[Mentioned, ...]  # by time of the subtitle
    found: Found  # the search behind it, whose curves can be drawn

    @property
    def spottings(self) -> list[Spotting]:
        """All spottings by time, each once."""
        return sorted({each.spotting for each in self.mentioned if each.spotting is not None}, key=lambda s: s.time)


def densify(
    spotter: Spotter,
    video: Source | Track,
    subtitles: Sequence[Subtitle],
    dictionary: Dictionary,
    options: DensifyOptions | None = None,
    progress: Progress | None = None,
) -> Timeline:
    """Find every dictionary word that subtitles mention, near its subtitle.

    A place counts for one mention only: that of the nearest subtitle.

    Args:
        spotter: with an encoder.
        video: any source that `Spotter.search` takes.
        subtitles: in order of time.
        dictionary: words to look for.
        options: how far around subtitles, and how sure.
        progress: told the frames that are embedded.

    Raises:
        DictionaryError: no word of the dictionary occurs in the subtitles.
    """
    chosen = options or DensifyOptions()
    passage = chosen.passage
    kept = tuple(each for each in subtitles if passage is None or each.start in passage)
    mentions = find_mentions(kept, WordMatcher(dictionary, chosen.language), chosen.padding)
    if not mentions:
        raise DictionaryError(
            f"no word of the dictionary ({len(dictionary):,} words) occurs in the {len(kept)} subtitles. "
            "Are both of one language?"
        )
    how = SpotOptions(false_alarms_per_hour=chosen.rate)
    found = spotter.search(video, spotter.gallery(dictionary.select(mentions), how), how, progress)
    mentioned = [
        Mentioned(word, each, Segment(max(0.0, each.start - chosen.padding), each.end + chosen.padding), None)
        for word, own in mentions.items()
        for each in own
    ]
    placed = _place(mentioned, found.spottings)
    return Timeline(kept, tuple(sorted(placed, key=lambda each: (each.mention.start, each.mention.first))), found)


def _place(mentioned: Sequence[Mentioned], spottings: Sequence[Spotting]) -> list[Mentioned]:
    """Give every mention the best spotting of its word in its stretch, the best spottings first, each only once."""
    free = dict(enumerate(mentioned))
    placed = list(mentioned)
    for spotting in sorted(spottings, key=lambda each: -each.score):
        near = [
            (abs(each.where.middle - spotting.time), number)
            for number, each in free.items()
            if each.word == spotting.word and spotting.time in each.where
        ]
        if near:
            number = min(near)[1]
            placed[number] = replace(free.pop(number), spotting=spotting)
    return placed
