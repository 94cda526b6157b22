"""Dense annotation of a video: every dictionary word of the subtitles, found near its subtitle, on one timeline.

The timeline is drawn as in Fig. 7 of the paper: subtitles above, a row for each word, its curve and its peak.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.tasks import WordSearcher
from signspot.annotation.video_units import SubtitleMention, VideoUnit, find_mentions, match_subtitles
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import DictionaryError
from signspot.io.checks import check_numbers
from signspot.io.progress import Progress, silent
from signspot.landmarks.video_estimation import Source
from signspot.plots.curves import COLOURS, clock, view_of
from signspot.plots.plot import lettering, tick_step
from signspot.plots.result_page import heading, paragraph, report, table
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import SearchResult
from signspot.types import Segment, Spotting, Subtitle, Track
from signspot.words.match import WordMatcher


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """Options of following subtitles."""

    padding: float = 4.0  # seconds before and after a subtitle in which its words are looked for (Sec. 4.5)
    language: str = "en"  # of the subtitles
    passage: Segment | None = None  # only subtitles that begin in it; None: all
    search: SpotOptions = field(default_factory=SpotOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "padding", least=0, most=60)


@dataclass(frozen=True, slots=True)
class SubtitleWord:
    """A dictionary word in a subtitle, and where it is signed."""

    word: str
    mention: SubtitleMention
    where: Segment  # where it was looked for
    spotting: Spotting | None  # None: it was not found


@dataclass(frozen=True)
class Timeline:
    """All subtitle words of a passage."""

    subtitles: tuple[Subtitle, ...]
    mentions: tuple[SubtitleWord, ...]  # by time of the subtitle
    result: SearchResult  # the search behind it, whose curves can be drawn

    @property
    def spottings(self) -> list[Spotting]:
        """All spottings by time, each once."""
        return sorted({word.spotting for word in self.mentions if word.spotting is not None}, key=lambda s: s.time)

    @property
    def summary(self) -> str:
        """How many words were found."""
        count = sum(word.spotting is not None for word in self.mentions)
        return f"{count} of {len(self.mentions)} subtitle words were found"


def find_words(
    spotter: Spotter,
    video: Source | Track,
    subtitles: Sequence[Subtitle],
    dictionary: Dictionary,
    options: TimelineOptions | None = None,
    progress: Progress | None = None,
) -> Timeline:
    """Find every dictionary word that subtitles mention, near its subtitle.

    What is found is what `signspot annotate` finds, unless a rate of false alarms is asked for; a spotting counts for
    one mention only, that of the nearest subtitle.

    Args:
        spotter: with an encoder.
        video: any source that `Spotter.search` takes.
        subtitles: in order of time.
        dictionary: words to look for.
        options: how far around subtitles, and how sure.
        progress: receives the frames that are embedded.

    Raises:
        DictionaryError: no word of the dictionary occurs in the subtitles.
    """
    chosen = options or TimelineOptions()
    passage = chosen.passage
    lines = tuple(line for line in subtitles if passage is None or line.start in passage)
    mentions = find_mentions(match_subtitles(lines, WordMatcher(dictionary, chosen.language)), chosen.padding)
    if not mentions:
        raise DictionaryError(
            f"no word of the dictionary ({len(dictionary):,} words) occurs in the {len(lines)} subtitles. "
            "Are both of one language?"
        )
    gallery = spotter.gallery(dictionary.select(mentions), chosen.search)
    track = spotter.track(video, chosen.search, progress)
    result = spotter.search(video if chosen.search.refine else track, gallery, chosen.search)
    mentioned = [
        SubtitleWord(
            word, mention, Segment(max(0.0, mention.start - chosen.padding), mention.end + chosen.padding), None
        )
        for word, own_mentions in mentions.items()
        for mention in own_mentions
    ]
    spottings = result.spottings
    if chosen.search.false_alarms_per_hour is None:
        near = _near_subtitles(spotter, track, gallery, mentions, chosen)
        spottings = tuple(dict.fromkeys(near))  # two subtitles may find the same sign
    placed = _place(mentioned, spottings)
    return Timeline(lines, tuple(sorted(placed, key=lambda word: (word.mention.start, word.mention.first))), result)


def _near_subtitles(
    spotter: Spotter,
    track: Track,
    gallery: Gallery,
    mentions: Mapping[str, tuple[SubtitleMention, ...]],
    options: TimelineOptions,
) -> Iterator[Spotting]:
    """What `signspot annotate` finds in the video."""
    search = options.search
    annotating = AnnotateOptions(
        padding=options.padding,
        keep=spotter.threshold(search),
        negatives=0,
        overlap=search.overlap,
        stride=search.stride,
        mirror=search.mirror,
        seed=search.seed,
    )
    readable = {word: mentions[word] for word in mentions if word in gallery.words}
    unit = VideoUnit(track.video, Path(track.video), track.source, readable, {}, {})
    for _, candidates in WordSearcher(spotter, track, gallery, (), annotating).search(unit):
        yield from (candidate.as_spotting() for candidate in candidates)


def _place(mentioned: Sequence[SubtitleWord], spottings: Sequence[Spotting]) -> list[SubtitleWord]:
    """Give every mention the best spotting of its word near its subtitle, the best spottings first, each only once."""
    free = dict(enumerate(mentioned))
    placed = list(mentioned)
    for spotting in sorted(spottings, key=lambda spotting: -spotting.score):
        near = [
            (abs(word.where.middle - spotting.time), number)
            for number, word in free.items()
            if word.word == spotting.word and spotting.time in word.where
        ]
        if near:
            number = min(near)[1]
            placed[number] = replace(free.pop(number), spotting=spotting)
    return placed


_MOST_ROWS = 24
_LONGEST_TEXT, _SHORTEST_TEXT = 60, 12  # letters of a subtitle
_LETTER = 0.0047  # part of the plot's width that a letter of a subtitle takes
_LINE = 0.45  # rows between two lines of subtitles
_FLOOR = 0.3  # the score at which a curve begins to rise from its row


def draw_timeline(timeline: Timeline, span: Segment) -> Figure:
    """Draw the words whose subtitles begin in a segment."""
    drawn = [mention for mention in timeline.mentions if mention.mention.start in span][:_MOST_ROWS]
    words = list(dict.fromkeys(mention.word for mention in drawn))
    above = subtitle_lines([line for line in timeline.subtitles if line.start in span], span)
    lines = 1 + max((line for _, _, line in above), default=0)
    height = 0.9 + 0.42 * (max(1, len(words)) + _LINE * lines)
    figure = Figure(figsize=(12, height), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    result = timeline.result
    inside = (result.times >= span.start) & (result.times <= span.end)
    for row, word in enumerate(words):
        colour = COLOURS[row % len(COLOURS)]
        of_word = [mention for mention in drawn if mention.word == word]
        scores = result.word_curve(word)[inside]
        top = row + 0.4 - 0.8 * np.clip((scores - _FLOOR) / (1 - _FLOOR), 0, 1)
        axes.fill_between(result.times[inside], row + 0.4, top, color=colour, alpha=0.35, lw=0)
        for mention in of_word:
            axes.plot([mention.where.start, mention.where.end], [row + 0.42] * 2, color="#999999", lw=0.8)
            if mention.spotting is not None:
                axes.barh(
                    row,
                    mention.spotting.end - mention.spotting.start,
                    0.8,
                    left=mention.spotting.start,
                    color=colour,
                    alpha=0.5,
                )
                axes.plot([mention.spotting.time], [row], marker="o", color=colour, mec="white")
    for start, written, line in above:
        text, fonts = lettering(written)
        axes.axvline(start, color="#dddddd", lw=0.8, zorder=0)
        height_of_line = -0.6 - _LINE * line
        axes.text(start, height_of_line, text, size=7, va="bottom", color="#555555", clip_on=True, **fonts)
    names = [lettering(word) for word in words]
    axes.set_yticks(range(len(words)), [name for name, _ in names], size=9)
    for tick, (_, fonts) in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontfamily(fonts["family"])
    axes.set(xlim=(span.start, span.end), ylim=(max(1, len(words)) - 0.4, -0.7 - _LINE * lines))
    ticks = np.arange(np.ceil(span.start), span.end, tick_step(span.duration))
    axes.set_xticks(ticks, [clock(float(tick)) for tick in ticks])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def subtitle_lines(subtitles: Sequence[Subtitle], span: Segment) -> list[tuple[float, str, int]]:
    """The start of each subtitle, as much of its text as there is room for, and the line on which it hides no other."""
    letter, ends, placed = _LETTER * span.duration, list[float](), list[tuple[float, str, int]]()
    for subtitle in sorted(subtitles, key=lambda line: line.start):
        room = max(_SHORTEST_TEXT, min(_LONGEST_TEXT, int((span.end - subtitle.start) / letter)))
        whole = " ".join(subtitle.text.split())
        text = whole if len(whole) <= room else f"{whole[: room - 1]}…"
        line = next((n for n, end in enumerate(ends) if end <= subtitle.start), len(ends))
        ends[line : line + 1] = [subtitle.start + (len(text) + 2) * letter]
        placed.append((subtitle.start, text, line))
    return placed


def write_timeline_page(
    timeline: Timeline, path: str | Path, *, pixels: bool = True, progress: Progress = silent
) -> Path:
    """Write a page: the video with its subtitles beside the spottings, curves, and a table of the subtitles' words."""
    result = replace(timeline.result, spottings=tuple(timeline.spottings))
    view = replace(view_of(result, pixels=pixels), subtitles=timeline.subtitles, competes=False)
    rows, previous = [], ""
    for mention in sorted(timeline.mentions, key=lambda mention: (mention.word, mention.mention.start)):
        spotting = mention.spotting
        rows.append(
            (
                *("" if mention.word == previous else mention.word, clock(mention.mention.start, 1)),
                "not found" if spotting is None else clock(spotting.time, 1),
                "" if spotting is None else f"{spotting.score:.2f} {spotting.confidence}".rstrip(),
                " ".join(mention.mention.text.split()),
            )
        )
        previous = mention.word
    heads = ("word", "subtitle at", "signed at", "score", "subtitle")
    report(view, path, progress, [heading("Words of the subtitles"), paragraph(timeline.summary), table(heads, rows)])
    return Path(path)
