"""The spotting benchmark of Sec. 4.3: rare words in hours of footage, by every encoder that ships.

A word occurs about once in 90 minutes. All footage is searched by `Spotter.search`, as users search, and every
occurrence has to be found among everything else. The word is also looked for where a subtitle names it (Sec. 4.4).
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from signspot.corpus.corpus import Corpus
from signspot.evaluation.queries import find_queries
from signspot.io.files import atomic_write, text_digest
from signspot.io.progress import Stage
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.detection import Detection
from signspot.metrics.localisation import Tolerance
from signspot.metrics.ranking import Group
from signspot.models.contract import shipped
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot_synthetic.corpus_writer import GENERATOR_VERSION, make_corpus
from signspot_synthetic.options import CorpusOptions, options_as_json

NAME, TITLE = "spotting-benchmark", "Spotting rare words in long footage (Sec. 4.3), and localisation (Sec. 4.4)"
EVERY = 1.5  # hours in which a word occurs about once
LOWEST = 0.5  # score from which spottings enter the precision-recall curve
_PAPER_MAP, _PAPER_LOCALISATION = 0.170, 83.08  # the paper's Watch-Read-Lookup; its footage is real
_FRAMES = 25.0  # per second
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")


@dataclass(frozen=True, slots=True)
class BenchmarkSize:
    """Amount of footage, and number of words that are looked for."""

    corpus: CorpusOptions
    words: int = 60  # at most
    every: float = EVERY  # hours in which a word occurs about once


FULL = BenchmarkSize(CorpusOptions(words=500, hours=3.0, seed=81, video_seconds=1800.0, test_share=0.5))
QUICK = BenchmarkSize(CorpusOptions(words=60, hours=0.1, seed=81, video_seconds=90.0), words=12, every=0.03)


@dataclass(frozen=True, slots=True)
class BenchmarkOutcome:
    """Scores of one encoder."""

    encoder: str
    hash: str
    precision: dict[str, float]  # word → average precision over all footage
    offsets: dict[str, list[float]]  # word → seconds from the end of the sign to the best place, query by query
    right: dict[str, list[float]]  # word → 1 where the best place is right, else 0

    @property
    def mean_average_precision(self) -> Interval:
        """Over words."""
        groups: dict[Group, list[float]] = {word: [value] for word, value in self.precision.items()}
        return bootstrap_mean(groups)

    @property
    def localisation(self) -> Interval:
        """Over words: the word is known; its best place lies from 20 frames before the sign's end to 5 after."""
        return bootstrap_mean(dict(self.right.items()))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """All measurements."""

    hours: float
    words: int
    signs: int
    outcomes: tuple[BenchmarkOutcome, ...]


def rare_words(corpus: Corpus, hours: float, most: int, every: float = EVERY) -> dict[str, int]:
    """Words that occur at least once, and less than twice as often as once in so many hours; their occurrences."""
    counts = Counter(sign.word for video in corpus.videos for sign in corpus.signs(video) if sign.listed)
    allowed = max(1, round(2 * hours / every) - 1)
    chosen = sorted(word for word, count in counts.items() if count <= allowed)
    step = max(1, len(chosen) // most)
    return {word: counts[word] for word in chosen[::step][:most]}


def measure(size: BenchmarkSize, out: Path, only: str | None, stage: Stage) -> Benchmark:
    """Make the footage, search it with every shipped encoder, or with one; what is there already is not made again."""
    name = text_digest(json.dumps([options_as_json(size.corpus), GENERATOR_VERSION]))
    with stage("footage") as progress:
        corpus = make_corpus(size.corpus, out / f"benchmark-{name}", progress)
    words = rare_words(corpus, size.corpus.hours, size.words, size.every)
    found = []
    for encoder in shipped() if only is None else [only]:
        spotter = replace(load(encoder), cache=out / "benchmark-cache")
        path = out / "cells" / f"spotting-{text_digest(json.dumps([name, spotter.encoder.hash, sorted(words)]))}.json"
        if not path.is_file():
            outcome = _search(spotter, corpus, sorted(words), stage)
            values = {key: getattr(outcome, key) for key in ("encoder", "hash", "precision", "offsets", "right")}
            with atomic_write(path) as temporary:
                temporary.write_text(json.dumps(values) + "\n", encoding="utf-8")
        found.append(BenchmarkOutcome(**json.loads(path.read_text(encoding="utf-8"))))
    return Benchmark(size.corpus.hours, len(words), sum(words.values()), tuple(found))


def _search(spotter: Spotter, corpus: Corpus, words: Sequence[str], stage: Stage) -> BenchmarkOutcome:
    options = SpotOptions(threshold=LOWEST)
    gallery = spotter.gallery(corpus.dictionary().select(list(words)), options)
    detection, tolerance = Detection(), Tolerance()
    offsets: dict[str, list[float]] = {}
    right: dict[str, list[float]] = {}
    tracks = {}
    with stage(f"{spotter.encoder.name}: tracks") as progress:
        for done, (name, video) in enumerate(corpus.videos.items()):
            progress(done, len(corpus.videos))
            assert video.landmarks is not None, "the synthetic corpus gives landmarks of every video"
            tracks[name] = spotter.track(video.landmarks, options)
    every = replace(corpus, videos={name: replace(video, split="test") for name, video in corpus.videos.items()})
    queries = find_queries(every, {name: track.grid for name, track in tracks.items()}, list(gallery.words))
    with stage(f"{spotter.encoder.name}: search") as progress:
        for done, (name, track) in enumerate(tracks.items()):
            progress(done, len(tracks))
            found = spotter.search(track, gallery, options)
            truths = [sign for sign in corpus.signs(name) if sign.word in gallery.words]
            spottings = [replace(spotting, video=name) for spotting in found.spottings]
            detection.add(name, track.grid.frames / track.grid.fps, spottings, truths)
            for query in (each for each in queries if each.video == name):
                place = slice(*np.searchsorted(found.times, (query.span.start, query.span.end + 1e-9)).tolist())
                rows = [n for n, exemplar in enumerate(found.gallery.exemplars) if exemplar.word == query.word]
                curve = np.max([found.curve(row)[place] for row in rows], axis=0)
                best = float(found.times[place][int(curve.argmax())])
                nearest = min(query.times, key=lambda end: abs(best - end))
                offsets.setdefault(query.word, []).append(round(best - nearest, 4))
                hit = bool(np.any(tolerance.accepts(np.array([best]), query.times)))
                right.setdefault(query.word, []).append(float(hit))
        progress(len(tracks), len(tracks))
    encoder = spotter.encoder
    return BenchmarkOutcome(encoder.name, encoder.hash, dict(detection.value().average_precision), offsets, right)


def as_markdown(found: Benchmark) -> str:
    """One line an encoder."""
    lines = ["| encoder | mAP | localisation | queries |", "|---|---|---|---|"]
    for each in found.outcomes:
        queries = sum(map(len, each.right.values()))
        lines.append(f"| {each.encoder} | {each.mean_average_precision} | {each.localisation} | {queries} |")
    lines.append(f"| the paper, BSL-1K | {_PAPER_MAP:.3f} | {_PAPER_LOCALISATION / 100:.3f} | 1,834 |")
    said = (
        f"{found.hours:g} h of footage, {found.words} words with {found.signs} signs in all, one in "
        f"{60 * found.hours * found.words / max(1, found.signs):.0f} minutes of each word; 95 % intervals over words. "
        "Localisation: the word is known to be in a stretch of footage, its subtitle's with 2 s on either side."
    )
    return "\n".join([*lines, "", said]) + "\n"


def draw(found: Benchmark, path: Path) -> Path:
    """Average precision by encoder, and where the best place of a known word lies from the end of its sign."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    figure.suptitle(TITLE, fontsize=11)
    left, middle = figure.subplots(1, 2, width_ratios=(1, 2))
    names = [each.encoder for each in found.outcomes]
    values = [each.mean_average_precision for each in found.outcomes]
    errors = np.array([(v.value - v.low, v.high - v.value) for v in values]).T
    colours = [_COLOURS[n % len(_COLOURS)] for n in range(len(names))]
    left.bar(range(len(names)), [v.value for v in values], yerr=np.maximum(errors, 0), color=colours)
    left.axhline(_PAPER_MAP, color="black", linestyle="--", linewidth=1, label="the paper, BSL-1K")
    left.set(xticks=range(len(names)), ylabel="mAP", ylim=(0, 1))
    left.set_xticklabels(names, rotation=20)
    left.legend(fontsize=8)
    edges = np.arange(-60, 62, 4)
    middle.axvspan(-20, 5, color="#dddddd", label="right: from 20 frames before to 5 after")
    for colour, each in zip(colours, found.outcomes, strict=True):
        frames = [_FRAMES * offset for own in each.offsets.values() for offset in own]
        share = each.localisation.value
        label = f"{each.encoder}: {100 * share:.0f} % right"
        middle.hist(np.clip(frames, edges[0], edges[-1]), edges, histtype="step", color=colour, label=label)
    middle.set(xlabel="best place of a known word, frames from the end of its sign", ylabel="queries")
    middle.legend(fontsize=8)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=100)
    return path
