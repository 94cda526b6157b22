"""A run in a few tables: its yield, what decoys say of its precision, and which words are worth asking for."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from signspot.annotation.abstention import Contrast, Judgement, contrast, judge
from signspot.annotation.records import Candidate
from signspot.annotation.statistics import (
    CONFIDENCE,
    TOLERANCE,
    Count,
    IsRight,
    Mouthings,
    ReportTable,
    YieldRow,
    count_yield,
    is_in_truth,
    spread_thresholds,
    tabulate_agreement,
    tabulate_yield,
)
from signspot.annotation.store import Store
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.formats.tables import csv_cell
from signspot.io.files import atomic_write
from signspot.types import Label

CUTS = (0.5, 0.8, 0.9, 0.95)  # confidences that the report tells of
_KEEP = "keep"  # the setting of a run: least score that it stores


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Options of a report."""

    thresholds: tuple[float, ...] = ()  # least scores; none: spread over what the run stores
    mouthing: float = CONFIDENCE  # confidence from which a mouthing counts
    tolerance: float = TOLERANCE  # seconds between a spotting and a mouthing of the same sign

    def __post_init__(self) -> None:
        wrong = [value for value in (*self.thresholds, self.mouthing) if not 0 <= value <= 1]
        if wrong:
            raise OptionsError(f"thresholds and confidences lie between 0 and 1; got {wrong[0]}")
        if not self.tolerance >= 0:
            raise OptionsError(f"tolerance must be 0 s or more; got {self.tolerance}")


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
    options: ReportOptions | None = None,
    mouthings: Sequence[Label] | None = None,
) -> YieldReport:
    """Write `yield.md` and `yield.png`, and with decoys `words.csv`, into a folder.

    Args:
        store: of the run.
        out: the folder to write to.
        corpus: that was annotated: its mouthings tell which signs are new, its truth, where it is known, the precision.
        decoys: the store of the same corpus, annotated with decoys.
        options: what to tell.
        mouthings: of a run by mouthing of the same corpus, in place of the corpus's own labels.

    Raises:
        StoreError: a store holds no candidate.
    """
    chosen = options or ReportOptions()
    labels = mouthings if mouthings is not None else corpus.labels() if corpus is not None else []
    contrasted = contrast(store, decoys) if decoys is not None else None
    judged = judge(contrasted) if contrasted is not None else None
    if judged is not None:
        _write_words(store, judged, out / "words.csv")
    truth = None
    if corpus is not None and any(corpus.signs(video) for video in corpus.videos):
        truth = partial(is_in_truth, corpus)
    tables = _tabulate(store, (labels, truth), contrasted, judged, chosen, out)
    if mouthings is not None:
        tables.append(tabulate_agreement(store, labels, truth))
    unseen = [
        f"{video.video}: {line}" for video in store.videos() for line in (video.problem or video.remarks).splitlines()
    ]
    report = YieldReport(tuple(tables), tuple(unseen), judged)
    with atomic_write(out / "yield.md") as temporary:
        temporary.write_text(report.as_markdown(), encoding="utf-8")
    return report


def _tabulate(
    store: Store,
    labels_and_truth: tuple[Sequence[Label], IsRight | None],
    contrasted: Contrast | None,
    judged: Judgement | None,
    options: ReportOptions,
    out: Path,
) -> list[ReportTable]:
    thresholds = options.thresholds or tuple(spread_thresholds(float(store.settings().get(_KEEP, 0.5))))
    labels, truth = labels_and_truth
    mouthings = Mouthings(labels, options.mouthing, options.tolerance)
    rows = count_yield(store.evidence(rank=1), thresholds, mouthings, truth)
    draw_yield(rows, out / "yield.png")
    if contrasted is None or judged is None:
        return [tabulate_yield(rows)]
    promised = [judged.promised_precision(contrasted.score, threshold) for threshold in thresholds]
    right = list(map(truth, store.candidates(rank=1))) if truth else None
    return [tabulate_yield(rows, promised), _tabulate_confidences(judged, right)]


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
    asked = Counter(query.word for query in store.queries())
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("word", "mentions", "signed share"))
        for word, share in sorted(judged.word_shares.items(), key=lambda item: (item[1], item[0])):
            if asked[word]:
                table.writerow((csv_cell(word), asked[word], f"{share:.3f}"))


def accepted(store: Store, judged: Judgement, confidence: float) -> Iterator[Candidate]:
    """The best candidates of a run that reach a confidence, each location of a word once."""
    seen = set()
    for candidate, value in zip(store.candidates(rank=1), judged.asked, strict=True):
        location = (candidate.video, candidate.word, candidate.time)
        if value >= confidence and location not in seen:
            seen.add(location)
            yield candidate


_NEW, _MOUTHED = "#0072b2", "#e69f00"
_COLOURS = ("#777777", "#0072b2", "#d55e00", "#009e73", "#cc79a7")


def draw_yield(rows: Sequence[YieldRow], path: str | Path) -> Path:
    """Draw the vocabulary (left) and the localised signs of all words, and of words with mouthings if there are any."""
    from matplotlib.figure import Figure

    is_mouthed = any(row.mouthed.words for row in rows)
    figure = Figure(figsize=(12 if is_mouthed else 8, 3.8), layout="constrained")
    left, right, *middle = figure.subplots(1, 3 if is_mouthed else 2)
    labels = [f"{row.threshold:g}" for row in rows]
    left.plot(labels, [row.full.words for row in rows], "o-", color=_NEW, label="all words")
    left.set(title="Vocabulary", ylabel="words", ylim=(0, None))
    _bars(right, labels, [row.full for row in rows], "Yield, all words")
    for axes in middle:
        left.plot(labels, [row.mouthed.words for row in rows], "s--", color=_MOUTHED, label="words with mouthings")
        _bars(axes, labels, [row.mouthed for row in rows], "Yield, words with mouthings")
    for axes in (left, right, *middle):
        axes.set_xlabel("least score")
        axes.tick_params(axis="x", labelrotation=60)
        axes.legend()
    return _save(figure, path)


def _bars(axes: Any, labels: Sequence[str], counts: Sequence[Count], title: str) -> None:
    mouthed = [count.in_window for count in counts]
    axes.bar(labels, mouthed, color=_MOUTHED, label="also mouthed in the window")
    axes.bar(labels, [count.new for count in counts], bottom=mouthed, color=_NEW, label="new")
    highest = max((count.signs for count in counts), default=0)
    axes.set(title=title, ylabel="localised signs", ylim=(0, 1.3 * max(1, highest)))  # the legend needs room, too


def _save(figure: Any, path: str | Path) -> Path:
    from signspot.plots.plot import save_figure

    target = Path(path)
    save_figure(figure, target)
    return target
