"""From labels and subtitles to items: a subtitled stretch of a video, its labelled word, and its other words."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from signspot.corpus.labels import LeastConfidence
from signspot.errors import OptionsError
from signspot.records import Label, LabelSource
from signspot.timeline import Segment
from signspot.training.configuration import check_numbers


@dataclass(frozen=True, slots=True)
class SubtitleWords:
    """When a subtitle is shown, and which dictionary words it has."""

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
        """Where it is."""
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
    """Which labels become items. The defaults are the paper's (Sec. 4.1)."""

    padding: float = 2.0  # seconds around a subtitle in which its signing is looked for
    shortest: float = 2.0  # seconds that a subtitle must last
    least: LeastConfidence = field(default_factory=LeastConfidence)  # of a label, by its source
    sources: tuple[str, ...] = ("M", "D", "V")  # whose labels count

    def __post_init__(self) -> None:
        known = [source.value for source in LabelSource]
        for source in self.sources:
            if source not in known:
                raise OptionsError(f"no source of labels '{source}'. There are: {', '.join(known)}")
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
    given = list(labels)
    if not given:
        raise OptionsError("the corpus has no labels. Spot mouthings or signs in it first.")
    wanted, known = set(labelled) & set(listed), set(listed)
    items = [
        _item(label, subtitle, chosen, known)
        for label in given
        if label.word in wanted and chosen.least.admits(label) and label.source.value in chosen.sources
        if (subtitle := _around(label, subtitles.get(label.video, ()), chosen)) is not None
    ]
    _check(items, given, chosen)
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
