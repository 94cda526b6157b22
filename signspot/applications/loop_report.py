"""One page on a run of the loop: what each stage came to, the gain, labels by score and by word, examples."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from signspot.applications.loop import SOURCES, Learnt
from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import are_beside
from signspot.corpus.truth import right_labels
from signspot.embedding.inputs import footage_landmarks
from signspot.errors import SignspotError
from signspot.io.files import cache_folder
from signspot.landmarks.features import features
from signspot.plots.curves import COLOURS
from signspot.plots.drawing import lettering
from signspot.plots.pages import clips, drawing, heading, paragraph, table, write_page
from signspot.plots.skeletons import skeleton_address
from signspot.types import Label

_WORDS = 30  # bars of a picture
_EXAMPLES = 6  # of each kind
_NEAR = 1.0  # seconds between the middles of a D and an M of the same sign, at most
_RIGHT, _WRONG = "#009e73", "#d55e00"
_MEASURES = {
    "naming": "of two stretches the one whose subtitle names a word scores higher",
    "labelled": "reciprocal rank of a labelled word among all words, at its label",
}


def write_loop_report(learnt: Learnt, corpus: Corpus, path: str | Path) -> Path:
    """Write a self-contained page; people are shown as skeletons alone."""

    def blocks() -> Iterator[str]:
        found = learnt.labels["D"]
        right = _judged(found, corpus)
        yield table(("stage", "", "outcome"), learnt.lines())
        yield heading("What was gained on held-out footage")
        yield paragraph(gained(learnt))
        yield from _gains(learnt)
        scores = list(_scores(learnt))
        if scores:
            yield table(("labels", "tested on", "signs", "top 1", "top 5", "per word, top 1", "95 %"), scores)
        yield heading("Labels by score (as Fig. 9)")
        yield drawing(draw_yield(learnt.labels), "how many labels and words there are from each confidence on")
        yield heading("Labels by word (as Fig. 10)")
        known = "right and wrong labels D of each word" if right else "labels of the most frequent words"
        yield drawing(draw_right(found, right) if right else draw_words(learnt.labels), known)
        order = sorted(range(len(found)), key=lambda index: -found[index].confidence)
        if not right:
            yield heading("Examples of D, the surest (as Fig. 11)")
            yield clips(_examples([found[index] for index in order], corpus))
            return
        for title, wanted in (("that are right", True), ("that are wrong", False)):
            chosen = [found[index] for index in order if right[index] is wanted]
            yield heading(f"The surest labels D {title} (as Fig. 11)")
            yield clips(_examples(chosen, corpus)) if chosen else paragraph("There are none.")

    return write_page(path, f"What was learnt from {corpus.folder.name}", blocks())


def gained(learnt: Learnt) -> str:
    """The loop in one sentence: what the recogniser on M + D, or on what there is, reaches, beside the others."""
    shares: dict[str, Mapping[str, float]] = {}
    reasons = []
    for name in SOURCES:
        outcome = learnt.outcome(f"recogniser {name}")
        shares[name] = {each["tested"]: each["instance"][0] for each in outcome.get("scores", ())}
        reasons.append(str(outcome.get("told", "")).partition("not tested: ")[2])
    best = next((name for name in reversed(SOURCES) if shares[name]), "")
    if not best:
        return f"Nothing can be said about a gain: {next(filter(None, reasons), 'no recogniser was tested')}."
    told = []
    for tested, share in shares[best].items():
        others = [f"{shares[n][tested]:.0%} from {n} alone" for n in ("M", "D") if n != best and tested in shares[n]]
        source = best.replace("+", " + ")
        told.append(f"of {tested} {share:.0%} are named right by what was learnt from {source}" + _beside(others))
    said = "; ".join(told)
    return f"{said[:1].upper()}{said[1:]}."


def _beside(others: Sequence[str]) -> str:
    return f", {' and '.join(others)}" if others else ""


def _gains(learnt: Learnt) -> Iterator[str]:
    gains = learnt.outcome("adaptation").get("gains", {})
    if gains:
        heads = ("adaptation", "measure", "words", "before", "after", "difference, 95 %")
        rows = []
        for match, gain in gains.items():
            gap = gain["difference"]
            interval = f"{gap['value']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}]"
            shares = (f"{gain['before']:.3f}", f"{gain['after']:.3f}")
            rows.append((match, _MEASURES.get(gain["measure"], gain["measure"]), str(gain["words"]), *shares, interval))
        yield table(heads, rows)


def _scores(learnt: Learnt) -> Iterator[tuple[str, ...]]:
    for name in SOURCES:
        for each in learnt.outcome(f"recogniser {name}").get("scores", ()):
            low, high = each["interval"]
            one, five = each["instance"]
            cells = (f"{one:.3f}", f"{five:.3f}", f"{each['classes'][0]:.3f}", f"{low:.3f} to {high:.3f}")
            yield (name, each["tested"], f"{each['clips']:,}", *cells)


def _judged(labels: Sequence[Label], corpus: Corpus) -> list[bool]:
    """Whether each label is right; empty where the truth about any of their videos is not known."""
    signs = {video: corpus.signs(video) for video in {label.video for label in labels}}
    return right_labels(labels, signs) if all(signs.values()) else []


def draw_yield(labels: Mapping[str, Sequence[Label]]) -> Figure:
    """Draw the words with labels and the number of labels by confidence, and the share of D that are near an M."""
    figure = Figure(figsize=(10, 3.2), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    beside = are_beside(labels["D"], labels["M"], _NEAR, str.__eq__)
    near = [label for label, is_so in zip(labels["D"], beside, strict=True) if is_so]
    for number, (source, own) in enumerate({**labels, "D with an M of its word within 1 s": near}.items()):
        ordered = sorted(own, key=lambda label: label.confidence)
        if not ordered:
            continue
        values = [label.confidence for label in ordered]
        right.step(values, np.arange(len(values), 0, -1), where="post", color=COLOURS[number], label=source)
        if source in labels:
            words = [len({label.word for label in ordered[first:]}) for first in range(len(ordered))]
            left.step(values, words, where="post", color=COLOURS[number], label=source)
    left.set(xlabel="least confidence", ylabel="words")
    right.set(xlabel="least confidence", ylabel="labels")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.has_data():
            axes.legend(frameon=False, fontsize=8)
    return figure


def draw_words(labels: Mapping[str, Sequence[Label]]) -> Figure:
    """Labels of the words that have most, by source."""
    counts = {source: Counter(label.word for label in own) for source, own in labels.items()}
    return _bars({source: (COLOURS[number], each) for number, (source, each) in enumerate(counts.items())})


def draw_right(labels: Sequence[Label], right: Sequence[bool]) -> Figure:
    """Labels of the words that have most: those that are right, and those that are not."""
    parts = {
        name: (colour, Counter(label.word for label, fits in zip(labels, right, strict=True) if fits is wanted))
        for name, colour, wanted in (("right", _RIGHT, True), ("wrong", _WRONG, False))
    }
    return _bars(parts)


def _bars(parts: Mapping[str, tuple[str, Counter[str]]]) -> Figure:
    total: Counter[str] = Counter()
    for _, each in parts.values():
        total.update(each)
    words = [word for word, _ in total.most_common(_WORDS)]
    figure = Figure(figsize=(10, 3.4), layout="constrained", facecolor="white")
    axes = figure.add_subplot(ylabel="labels")
    below = np.zeros(len(words))
    for name, (colour, each) in parts.items():
        heights = np.array([each[word] for word in words], float)
        axes.bar(range(len(words)), heights, bottom=below, color=colour, label=name)
        below += heights
    axes.set_xticks(range(len(words)), [lettering(word)[0] for word in words], rotation=60, ha="right", size=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if len(total) > len(words):
        axes.set_title(f"the {len(words)} most frequent of {len(total):,} words", fontsize=9, loc="left")
    return figure


def _examples(labels: Sequence[Label], corpus: Corpus) -> Iterator[tuple[str, str]]:
    shown: set[str] = set()
    for label in labels:
        video = corpus.videos.get(label.video)
        if label.word in shown or video is None or len(shown) >= _EXAMPLES:
            continue
        try:
            seen = footage_landmarks(video, cache_folder() / "landmarks")
            landmarks = seen.between(label.segment.padded(0.3)).resampled(25.0)
            caption = f"{label.word} {label.confidence:.2f}, {label.video} at {label.time:.1f} s"
            yield skeleton_address(features(landmarks)), caption
            shown.add(label.word)
        except SignspotError:
            continue
