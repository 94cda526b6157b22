"""One page on a run of the loop: what each stage came to, labels by score and by word, recognisers, examples."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from signspot.applications.loop import SOURCES, Learnt
from signspot.corpus.corpus import Corpus
from signspot.errors import SignspotError
from signspot.landmarks.features import features
from signspot.landmarks.pose_file import open_landmarks
from signspot.pictures.curves import COLOURS
from signspot.pictures.drawing import lettering
from signspot.pictures.pages import clips, drawing, heading, paragraph, table, write_page
from signspot.pictures.skeletons import skeleton_address
from signspot.records import Label

_WORDS = 30  # bars of a picture
_EXAMPLES = 8


def write_loop_report(learnt: Learnt, corpus: Corpus, path: str | Path) -> Path:
    """Write a self-contained page; people are shown as skeletons alone."""

    def blocks() -> Iterator[str]:
        yield table(("stage", "", "outcome"), learnt.lines())
        yield heading("Labels by score (as Fig. 9)")
        yield drawing(draw_yield(learnt), "how many labels there are from each confidence on")
        yield heading("Labels by word (as Fig. 10)")
        yield drawing(draw_words(learnt), "labels of the most frequent words")
        yield heading("Recognisers")
        yield paragraph("The share of held-out signs whose word is the best guess, and among the best five.")
        yield table(("labels", "tested on", "clips", "top 1", "top 5", "per word, top 1", "95 %"), _scores(learnt))
        best = sorted(learnt.labels["D"], key=lambda label: -label.confidence)
        yield heading("Examples of D (as Fig. 11)")
        yield clips(_examples(best, corpus))

    return write_page(path, f"What was learnt from {corpus.folder.name}", blocks())


def _scores(learnt: Learnt) -> Iterator[tuple[str, ...]]:
    for name in SOURCES:
        for each in learnt.outcome(f"recogniser {name}").get("scores", ()):
            low, high = each["interval"]
            one, five = each["instance"]
            cells = (f"{one:.3f}", f"{five:.3f}", f"{each['classes'][0]:.3f}", f"{low:.3f} to {high:.3f}")
            yield (name, each["tested"], str(each["clips"]), *cells)


def draw_yield(learnt: Learnt) -> Figure:
    """How many labels of each source reach a confidence."""
    figure = Figure(figsize=(8, 3), layout="constrained", facecolor="white")
    axes = figure.add_subplot(xlabel="least confidence", ylabel="labels")
    for number, (source, labels) in enumerate(learnt.labels.items()):
        values = np.sort([label.confidence for label in labels])
        if len(values):
            axes.step(values, np.arange(len(values), 0, -1), where="post", color=COLOURS[number], label=source)
    axes.legend(frameon=False)
    return figure


def draw_words(learnt: Learnt) -> Figure:
    """Labels of the words that have most, by source."""
    counts = {source: Counter(label.word for label in labels) for source, labels in learnt.labels.items()}
    total: Counter[str] = Counter()
    for each in counts.values():
        total.update(each)
    words = [word for word, _ in total.most_common(_WORDS)]
    figure = Figure(figsize=(11, 3.4), layout="constrained", facecolor="white")
    axes = figure.add_subplot(ylabel="labels")
    below = np.zeros(len(words))
    for number, (source, each) in enumerate(counts.items()):
        heights = np.array([each[word] for word in words], float)
        axes.bar(range(len(words)), heights, bottom=below, color=COLOURS[number], label=source)
        below += heights
    axes.set_xticks(range(len(words)), [lettering(word)[0] for word in words], rotation=60, ha="right", size=8)
    axes.legend(frameon=False)
    return figure


def _examples(labels: list[Label], corpus: Corpus) -> Iterator[tuple[str, str]]:
    shown: set[str] = set()
    for label in labels:
        path = corpus.videos[label.video].landmarks if label.video in corpus.videos else None
        if label.word in shown or path is None or len(shown) >= _EXAMPLES:
            continue
        try:
            landmarks = open_landmarks(path).between(label.segment.padded(0.3)).resampled(25.0)
            caption = f"{label.word} {label.confidence:.2f}, {label.video} at {label.time:.1f} s"
            yield skeleton_address(features(landmarks)), caption
            shown.add(label.word)
        except SignspotError:
            continue
