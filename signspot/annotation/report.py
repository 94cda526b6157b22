"""A run in a few tables: its yield (Fig. 9), what decoys say of its precision, and which words are worth asking for."""

import csv
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.candidate_confidence import Judgement, contrast, judge
from signspot.annotation.run_spottings import labels_by_video, spottings
from signspot.annotation.store import Store
from signspot.annotation.store_records import Candidate, SubtitleQuery
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.formats.csv_json_parquet import csv_cell
from signspot.io.files import atomic_write
from signspot.mouthing.mouthing_spotter import agrees
from signspot.types import Label, LabelSource

CUTS = (0.5, 0.8, 0.9, 0.95)  # confidences that the report tells of
MARGIN = 0.2  # seconds outside of the sign at which a candidate still is right
CONFIDENCE = 0.5  # of mouthings, from which they count, as in the paper
TOLERANCE = 1.0  # seconds between a spotting and a mouthing of the same sign, at most
_KEEP = "keep"  # the setting of a run: least score that it stores
_STEPS = 8  # thresholds, unless they are named
_QUANTILES = (0.0, 0.25, 0.5, 0.75)  # quantiles of the scores at which agreement is told
_MOUTHED_COLUMNS = (
    f"New: the word has no mouthing around the same subtitle. Near a mouthing: it has one within {TOLERANCE:g} s. "
    f"Mouthed words: those with a mouthing of {CONFIDENCE:g} or more anywhere, and the signs of these words."
)

IsRight = Callable[[Candidate], bool]


def is_in_truth(corpus: Corpus, candidate: Candidate) -> bool:
    """Whether the word is signed at its place, or another word whose sign is the very one of the exemplar."""
    return any(
        sign.start - MARGIN <= candidate.time <= sign.end + MARGIN
        and (sign.word == candidate.word or candidate.exemplar in sign.exemplars)
        for sign in corpus.signs(candidate.video)
    )


@dataclass(frozen=True, slots=True)
class Count:
    """Yield of one vocabulary at one threshold."""

    words: int
    signs: int  # localised; one that overlapping subtitles find counts once
    in_window: int  # of them: a mouthing of the word lies in the same search window, as the paper counts duplicates
    near: int  # of them: a mouthing of the word lies within the tolerance
    right: int | None  # of them, by the truth; None: it is not known

    @property
    def new(self) -> int:
        """Signs in whose search window no mouthing of the word lies."""
        return self.signs - self.in_window

    @property
    def precision(self) -> float | None:
        """Right signs over all; None where the truth is not known or there is none."""
        return None if self.right is None or self.signs == 0 else self.right / self.signs


@dataclass(frozen=True, slots=True)
class YieldRow:
    """One threshold: the words that have mouthings (the paper's 1K vocabulary), and all words of the dictionary."""

    threshold: float
    mouthed: Count
    full: Count


class Mouthings:
    """Times of mouthed words: labels of source M that are sure enough."""

    def __init__(self, labels: Iterable[Label]):
        self._times: dict[tuple[str, str], list[float]] = defaultdict(list)
        for label in labels:
            if label.source is LabelSource.MOUTHING and label.confidence >= CONFIDENCE:
                self._times[label.video, label.word].append(label.time)
        for times in self._times.values():
            times.sort()

    @property
    def words(self) -> frozenset[str]:
        """The words that are mouthed anywhere."""
        return frozenset(word for _, word in self._times)

    def between(self, video: str, word: str, start: float, end: float) -> bool:
        """Whether a mouthing lies in a segment, both ends included."""
        times = self._times.get((video, word), ())
        index = bisect_left(times, start)
        return index < len(times) and times[index] <= end

    def near(self, video: str, word: str, time: float) -> bool:
        """Whether a mouthing lies within the tolerance of a time."""
        return self.between(video, word, time - TOLERANCE, time + TOLERANCE)


def count_yield(
    evidence: Iterable[tuple[SubtitleQuery, Candidate]],
    thresholds: Sequence[float],
    mouthings: Mouthings,
    is_right: IsRight | None = None,
) -> list[YieldRow]:
    """Count what a run yields at each threshold.

    Args:
        evidence: the best candidate of each query, as `store.evidence(rank=1)` gives them.
        thresholds: least scores.
        mouthings: which words make the smaller vocabulary, and which signs are not new.
        is_right: the truth; None: it is not known.
    """
    rows: dict[tuple[str, str, float], tuple[float, bool, bool, bool, bool]] = {}  # by location: windows may share one
    vocabulary = mouthings.words
    for query, candidate in evidence:
        location = (candidate.video, candidate.word, candidate.time)
        if location not in rows:
            rows[location] = (
                candidate.score,
                candidate.word in vocabulary,
                mouthings.between(candidate.video, candidate.word, query.start, query.end),
                mouthings.near(*location),
                is_right is not None and is_right(candidate),
            )
    words = np.array([word for _, word, _ in rows])
    columns = np.array(list(rows.values()), np.float64).reshape(-1, 5).T
    scores, (is_mouthed, in_window, near, right) = columns[0], columns[1:].astype(bool)

    def count(chosen: NDArray[np.bool_]) -> Count:
        in_windows, nearby, correct = (int(flags[chosen].sum()) for flags in (in_window, near, right))
        right_or_none = correct if is_right else None
        return Count(len(np.unique(words[chosen])), int(chosen.sum()), in_windows, nearby, right_or_none)

    return [YieldRow(t, count((scores >= t) & is_mouthed), count(scores >= t)) for t in thresholds]


def spread_thresholds(keep: float) -> list[float]:
    """Thresholds from the lowest score that is kept to just below 1, closer together towards 1.

    Raises:
        OptionsError: `keep` is not a score below 1.
    """
    if not 0 <= keep < 1:
        raise OptionsError(f"thresholds are spread from a score of at least 0 and below 1; got {keep}")
    return [round(1 - (1 - keep) * (0.02 / max(1 - keep, 0.02)) ** (step / (_STEPS - 1)), 3) for step in range(_STEPS)]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a report. The first column is a threshold; whole numbers are counts, others are shares."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]  # None, or not a number: nothing to divide by
    note: str = ""  # what the columns count, where their names do not say it

    def cells(self) -> Iterator[list[str]]:
        """The rows as people read them."""
        for threshold, *values in self.rows:
            yield [f"{threshold:g}", *(f"{value:,}" if isinstance(value, int) else _share(value) for value in values)]

    def as_markdown(self) -> str:
        """The table with its title."""
        lines = [self.columns, ["---"] * len(self.columns), *self.cells()]
        note = f"\n{self.note}\n" if self.note else ""
        return f"{self.title}:\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + note

    def as_dict(self) -> dict[str, Any]:
        """The table for JSON."""
        plain = ((None if value is None or value != value else value for value in row) for row in self.rows)
        return {"title": self.title, "rows": [dict(zip(self.columns, row, strict=True)) for row in plain]}


def tabulate_yield(rows: Sequence[YieldRow], promised: Sequence[float] | None = None) -> ReportTable:
    """The counts; what mouthings tell, where there are some; the precision where it is known, or promised by decoys."""
    by_column: dict[str, list[float | None]] = {
        "least score": [row.threshold for row in rows],
        "words": [row.full.words for row in rows],
        "signs": [row.full.signs for row in rows],
    }
    is_mouthed = any(row.mouthed.words for row in rows)
    if is_mouthed:
        by_column |= {
            "new signs": [row.full.new for row in rows],
            "near a mouthing": [row.full.near for row in rows],
            "mouthed words": [row.mouthed.words for row in rows],
            "their signs": [row.mouthed.signs for row in rows],
            "their new signs": [row.mouthed.new for row in rows],
        }
    if any(row.full.precision is not None for row in rows):
        by_column["precision"] = [row.full.precision for row in rows]
    if promised is not None:
        by_column["precision promised by decoys"] = list(promised)
    note = _MOUTHED_COLUMNS if is_mouthed else ""
    return ReportTable("Signs by least score", tuple(by_column), tuple(zip(*by_column.values(), strict=True)), note)


def _share(value: float | None) -> str:
    return "–" if value is None or value != value else f"{100 * value:.1f} %"


def tabulate_agreement(store: Store, labels: Sequence[Label], is_right: IsRight | None) -> ReportTable:
    """Count the spottings that are mouthed, too, at some thresholds, and the share of either kind that is right."""
    candidates = list(spottings(store, 0.0))
    by_video = labels_by_video(labels)
    kinds = [
        any(agrees(candidate.as_spotting(), label) for label in by_video.get(candidate.video, ()))
        for candidate in candidates
    ]
    ordered = sorted(candidate.score for candidate in candidates)
    rows: list[tuple[float | None, ...]] = []
    for step in _QUANTILES if ordered else ():
        threshold = ordered[int(step * (len(ordered) - 1))]
        row: list[float | None] = [round(threshold, 3)]
        for is_confirmed in (True, False):
            part = [
                candidate
                for candidate, kind in zip(candidates, kinds, strict=True)
                if kind is is_confirmed and candidate.score >= threshold
            ]
            row.append(len(part))
            if is_right:
                row.append(sum(map(is_right, part)) / len(part) if part else None)
        rows.append(tuple(row))
    columns: tuple[str, ...] = ("least score", "mouthed, too", "not mouthed")
    if is_right:
        columns = ("least score", "mouthed, too", "of them right", "not mouthed", "of those right")
    return ReportTable("Signs that are mouthed, too", columns, tuple(rows))


@dataclass(frozen=True, slots=True)
class YieldReport:
    """The report, and what can be done with it."""

    tables: tuple[ReportTable, ...]
    unseen: tuple[str, ...]  # videos of which something could not be seen, or that could not be searched at all
    judged: Judgement | None  # None: there were no decoys

    def as_markdown(self) -> str:
        """The report as it is written."""
        lines = "".join(f"* {line}\n" for line in self.unseen)
        remark = f"Videos that could not be searched, or not everywhere:\n\n{lines}"
        return "\n".join([*(table.as_markdown() for table in self.tables), *([remark] if lines else [])])


def report_yield(
    store: Store,
    out: Path,
    corpus: Corpus | None = None,
    decoys: Store | None = None,
    thresholds: Sequence[float] = (),
    mouthings: Sequence[Label] | None = None,
) -> YieldReport:
    """Write `yield.md` and `yield.png`, and with decoys `words.csv`, into a folder.

    Args:
        store: of the run.
        out: the folder to write to.
        corpus: that was annotated: its mouthings tell which signs are new, its truth, where it is known, the precision.
        decoys: the store of the same corpus, annotated with decoys.
        thresholds: least scores; none: spread over what the run stores.
        mouthings: of a run by mouthing of the same corpus, in place of the corpus's own labels.

    Raises:
        StoreError: a store holds no candidate.
        OptionsError: a threshold is not a score.
    """
    wrong = [threshold for threshold in thresholds if not 0 <= threshold <= 1]
    if wrong:
        raise OptionsError(f"thresholds lie between 0 and 1; got {wrong[0]}")
    chosen = thresholds or spread_thresholds(float(store.settings().get(_KEEP, 0.5)))
    labels = mouthings if mouthings is not None else corpus.labels() if corpus is not None else []
    truth = None
    if corpus is not None and any(corpus.signs(video) for video in corpus.videos):
        truth = partial(is_in_truth, corpus)
    rows = count_yield(store.evidence(rank=1), chosen, Mouthings(labels), truth)
    judged = None
    if decoys is None:
        tables = [tabulate_yield(rows)]
    else:
        contrasted = contrast(store, decoys)
        judged = judge(contrasted)
        _write_words(store, judged, out / "words.csv")
        promised = [judged.promised_precision(contrasted.score, threshold) for threshold in chosen]
        right = list(map(truth, store.candidates(rank=1))) if truth else None
        tables = [tabulate_yield(rows, promised), _tabulate_confidences(judged, right)]
    if mouthings is not None:
        tables.append(tabulate_agreement(store, labels, truth))
    draw_yield(rows, out / "yield.png")
    unseen = [
        f"{video.video}: {line}" for video in store.videos() for line in (video.problem or video.remarks).splitlines()
    ]
    report = YieldReport(tuple(tables), tuple(unseen), judged)
    with atomic_write(out / "yield.md") as temporary:
        temporary.write_text(report.as_markdown(), encoding="utf-8")
    return report


def _tabulate_confidences(judged: Judgement, right: Sequence[bool] | None) -> ReportTable:
    """The candidates that are accepted above some confidences."""
    columns = ("least confidence", "accepted", "candidates", *(["precision"] if right else []))
    rows: list[tuple[float | None, ...]] = []
    for cut in CUTS:
        accepted = judged.asked >= cut
        row: list[float | None] = [cut, int(accepted.sum()), len(accepted)]
        if right:
            passed = [truth for truth, passes in zip(right, accepted, strict=True) if passes]
            row.append(sum(passed) / len(passed) if passed else None)
        rows.append((*row, float(judged.promised_precision(judged.confidence, cut))))
    return ReportTable("Signs by confidence", (*columns, "precision promised by decoys"), tuple(rows))


def _write_words(store: Store, judged: Judgement, path: Path) -> None:
    """Every word with the share of its mentions that seem to be signed, the least first."""
    mentions = Counter(query.word for query in store.queries())
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("word", "mentions", "signed share"))
        for word, share in sorted(judged.word_shares.items(), key=lambda item: (item[1], item[0])):
            if mentions[word]:
                table.writerow((csv_cell(word), mentions[word], f"{share:.3f}"))


def accepted(store: Store, judged: Judgement, confidence: float) -> Iterator[Candidate]:
    """The best candidates of a run that reach a confidence, each location of a word once."""
    locations = set()
    for candidate, value in zip(store.candidates(rank=1), judged.asked, strict=True):
        location = (candidate.video, candidate.word, candidate.time)
        if value >= confidence and location not in locations:
            locations.add(location)
            yield candidate


_NEW, _MOUTHED = "#0072b2", "#e69f00"


def draw_yield(rows: Sequence[YieldRow], path: str | Path) -> Path:
    """Draw the vocabulary (left) and the localised signs of all words, and of words with mouthings if there are any."""
    from matplotlib.figure import Figure

    from signspot.plots.plot import save_figure

    is_mouthed = any(row.mouthed.words for row in rows)
    figure = Figure(figsize=(12 if is_mouthed else 8, 3.8), layout="constrained")
    left, right, *middle = figure.subplots(1, 3 if is_mouthed else 2)
    labels = [f"{row.threshold:g}" for row in rows]
    left.plot(labels, [row.full.words for row in rows], "o-", color=_NEW, label="all words")
    left.set(title="Vocabulary", ylabel="words", ylim=(0, None))
    _bars(right, labels, [row.full for row in rows], "Signs of all words")
    for axes in middle:
        left.plot(labels, [row.mouthed.words for row in rows], "s--", color=_MOUTHED, label="words with mouthings")
        _bars(axes, labels, [row.mouthed for row in rows], "Signs of words with mouthings")
    for axes in (left, right, *middle):
        axes.set_xlabel("least score")
        axes.tick_params(axis="x", labelrotation=60)
        axes.yaxis.get_major_locator().set_params(integer=True)
        if is_mouthed:
            axes.legend()
    return save_figure(figure, path)


def _bars(axes: Any, labels: Sequence[str], counts: Sequence[Count], title: str) -> None:
    """Bars of the signs; those that are mouthed, too, in another colour."""
    mouthed = [count.in_window for count in counts]
    axes.bar(labels, mouthed, color=_MOUTHED, label="mouthed, too, around the subtitle")
    axes.bar(labels, [count.new for count in counts], bottom=mouthed, color=_NEW, label="new")
    highest = max((count.signs for count in counts), default=0)
    axes.set(title=title, ylabel="signs", ylim=(0, 1.3 * max(1, highest)))  # the legend needs room, too
