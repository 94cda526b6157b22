"""From subtitled video to D with no label given: M by the mouthing spotter, then Watch-Read-Lookup, then look-up.

The same training on the same corpora: with the labels M that the spotter reads off the lips, with those of all signs
that are really mouthed, with the labels of the generator, with each word of a subtitle in the middle of its
time (nobody looks at lips), and with none: then nothing is learned besides the trunk, which knows exemplars alone. Run
with `python -m experiments.without_labels --out FOLDER`; what is there already is not made again.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from experiments.paper.protocol import Embed, embedded, grids_of, retrieve
from experiments.paper.reproduce import QUICK
from experiments.paper.setup import ReproductionSize, Setup
from signspot.annotation.options import RunOptions
from signspot.annotation.run import MouthingJob, annotate_mouthings
from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import SignTruth
from signspot.errors import OptionsError
from signspot.evaluation.queries import RetrievalQuery, find_queries
from signspot.io.files import atomic_write, text_digest
from signspot.io.processes import WorkerPool
from signspot.io.progress import Stage, quiet
from signspot.metrics.bootstrap import Interval, bootstrap_mean, bootstrap_ratio
from signspot.metrics.localisation import Tolerance
from signspot.models.checkpoints import load_encoder
from signspot.models.mlp import UnitNorm
from signspot.mouthing.spotter import LEAST
from signspot.training.embedding import train_embedding
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, Loss
from signspot.training.items import Item, collect_items, read_words
from signspot.training.trunk_features import TrunkFeatures
from signspot.types import Label, LabelSource, TimeMeaning
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.knobs import Knobs
from signspot_synthetic.options import CorpusOptions

CONFIDENCES = (0.9, 0.8, 0.7, 0.6, 0.5)  # of Table 4
SPOTTER, TRUTH, DICE = "this spotter", "the truth: every mouthed sign", "the generator's labels"
SUBTITLES, NOBODY = "subtitles alone: the middle of their time", "nobody: nothing is learned"
KINDS = (SPOTTER, TRUTH, DICE, SUBTITLES)
SEEDS = (61, 62)  # of the corpora
_PADDING = 4.0  # seconds around a subtitle in which D is looked for (Sec. 4.5)


TOLERANCE = 0.4  # seconds between a label and the end of a sign, at most


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Precision and yield of the labels from one confidence on."""

    source: str
    threshold: float
    labels: int
    words: int
    precision: float  # share at the end of a sign of the word
    recall: float  # share of the mouthed signs that a subtitle mentions
    late: float  # seconds, the median of the distances of right labels


def label_corpus(
    corpus: Corpus, model: str | None, out: Path, least: float = LEAST, stages: Stage = quiet
) -> list[Label]:
    """Labels M for the words of a corpus's own dictionary, by a run of annotation; of every word, sure or not.

    Args:
        corpus: with subtitles.
        model: name or file of a mouthing spotter; None: the shipped one.
        out: folder of the run.
        least: probability of a label.
        stages: as `annotate_mouthings` takes them.
    """
    words = tuple(corpus.dictionary())
    job = MouthingJob(corpus, out, words, model=model, threshold=least, word_threshold=0.0)
    report = annotate_mouthings(job, RunOptions(keep=least, peaks=1, negatives=0), WorkerPool(1), stages)
    return [candidate.as_label() for candidate in report.spottings]


def score_labels(name: str, threshold: float, labels: Sequence[Label], truth: dict[str, list[SignTruth]]) -> LabelScore:
    """Hold labels against the truth about their videos.

    Args:
        name: whose labels they are.
        threshold: confidence that they reach.
        labels: M, each at the end of a sign.
        truth: video → its signs.
    """
    distances = [_distance(label, truth[label.video]) for label in labels]
    right = [distance for distance in distances if distance <= TOLERANCE]
    wanted = [sign for signs in truth.values() for sign in signs if sign.mouthed and sign.subtitle is not None]
    hit = sum(_is_found(sign, labels) for sign in wanted)
    return LabelScore(
        source=name,
        threshold=threshold,
        labels=len(labels),
        words=len({label.word for label in labels}),
        precision=len(right) / len(labels) if labels else float("nan"),
        recall=hit / len(wanted) if wanted else float("nan"),
        late=float(np.median(right)) if right else float("nan"),
    )


def _distance(label: Label, signs: Iterable[SignTruth]) -> float:
    return min((abs(sign.end - label.time) for sign in signs if sign.word == label.word), default=float("inf"))


def _is_found(sign: SignTruth, labels: Iterable[Label]) -> bool:
    return any(
        label.word == sign.word and label.video == sign.video and abs(label.time - sign.end) <= TOLERANCE
        for label in labels
    )


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Size of the corpora, and length of the trainings."""

    words: int = 80
    hours: float = 1.0
    trunk_steps: int = 300  # of the trunk that learns exemplars
    steps: int = 100  # of each training, about so many, whatever the number of its labels
    items: int = 32  # in a batch
    lr: float = 1e-2
    trainings: int = 2  # from other random weights; their results are averaged
    encoder: str | None = None  # whose trunk is frozen; None: one that is trained on the synthetic exemplars
    model: str | None = None  # the mouthing spotter; None: the shipped one


@dataclass(frozen=True, slots=True)
class WordScore:
    """Results of one word: look-up in test videos, and labels D in training videos."""

    average_precision: float
    recall_5: float
    spotted: float  # labels D
    right: float  # of them, those where the word is signed


@dataclass(frozen=True, slots=True)
class Learned:
    """Results of learning from some labels."""

    items: int
    words: Mapping[str, WordScore]


@dataclass(frozen=True, slots=True)
class LoopRow:
    """Scores of one kind of labels, of one corpus or of all together."""

    labels_of: str
    scores: tuple[LabelScore, ...]  # of the labels of training videos, one per loop
    learned: Learned | None  # None: too few labels to learn from


def true_mouthings(corpus: Corpus) -> list[Label]:
    """A label at the end of every sign that is mouthed and that a subtitle mentions."""
    signs = [sign for video in corpus.videos for sign in corpus.signs(video)]
    return [Label(sign.word, sign.video, sign.end) for sign in signs if sign.mouthed and sign.subtitle is not None]


def subtitle_middles(corpus: Corpus) -> list[Label]:
    """Each word of a subtitle in the middle of its time: labels by somebody who looks at no lips."""
    return [
        Label(word, video, subtitle.segment.middle, at=TimeMeaning.MIDDLE)
        for video, subtitles in read_words(corpus, list(corpus.dictionary()), list(corpus.videos)).items()
        for subtitle in subtitles
        for word in subtitle.words
    ]


class LoopCorpus:
    """A synthetic corpus with lips that are hard to read, its labels and a frozen trunk, each made once."""

    def __init__(self, options: LoopOptions, seed: int, out: Path):
        self.options, self.out = options, out / f"loop-{seed}"
        knobs = Knobs(variants=0.5, lips=1.0)
        loop = CorpusOptions(words=options.words, hours=options.hours, seed=seed, test_share=0.3, knobs=knobs)
        self.corpus = make_corpus(loop, self.out / "corpus")
        self.words = tuple(sorted(self.corpus.dictionary()))  # each may have labels, and each is tested
        self.training = tuple(sorted(self.corpus.splits().train))

    def labels(self, kind: str) -> list[Label]:
        """Labels of training videos, for words of the dictionary."""
        if kind == SPOTTER:
            found = self._spotted
        elif kind == TRUTH:
            found = true_mouthings(self.corpus)
        elif kind == SUBTITLES:
            found = subtitle_middles(self.corpus)
        else:
            given = (label for label in self.corpus.labels() if label.source is LabelSource.MOUTHING)
            found = [label for label in given if label.confidence >= LEAST]
        return [label for label in found if label.video in self.training and label.word in self.words]

    @cached_property
    def _spotted(self) -> list[Label]:
        return label_corpus(self.corpus, self.options.model, self.out / "mouthings")

    @cached_property
    def features(self) -> TrunkFeatures:
        """Features of the frozen trunk, of all videos and exemplars."""
        trunk = replace(QUICK.trunk, steps=self.options.trunk_steps)
        size = ReproductionSize(QUICK.corpus, trunk, QUICK.embedding, seeds=1)
        if self.options.encoder is not None:
            encoder = load_encoder(self.options.encoder)
        else:
            encoder = Setup(size, self.out, self.corpus).trunk("dictionary", "seen")
        return Setup(size, self.out, self.corpus, encoder).features("joint", "seen")

    @cached_property
    def queries(self) -> list[RetrievalQuery]:
        """Stretches of test videos whose subtitle has a word that is signed there, for all words."""
        return find_queries(self.corpus, grids_of(self.features), self.words)

    def score(self, labels: Sequence[Label]) -> LabelScore:
        """Labels of training videos against the truth."""
        ends = [replace(label, time=label.segment.end, at=TimeMeaning.END) for label in labels]
        return score_labels("", LEAST, ends, {video: self.corpus.signs(video) for video in self.training})

    def learn(self, labels: Sequence[Label], loss: Loss) -> Learned | None:
        """Train with some labels, several times, and measure; None: they are too few to learn from."""
        batch = replace(QUICK.embedding.batch, items=self.options.items)
        config = replace(QUICK.embedding, loss=loss, lr=self.options.lr, batch=batch)
        subtitles = read_words(self.corpus, self.words, self.training)
        try:
            items = collect_items(labels, subtitles, self.words, self.words, config.items)
        except OptionsError:  # none of these labels is usable, or all are of one word
            return None
        runs = [self._trained(items, replace(config, seed=seed)) for seed in range(self.options.trainings)]
        return Learned(len(items), {word: _mean([run[word] for run in runs]) for word in runs[0]})

    def untaught(self) -> Learned:
        """Results of the trunk itself."""
        return Learned(0, self._measure(UnitNorm(self.features.dimension)))

    def _trained(self, items: Sequence[Item], config: EmbeddingConfig) -> dict[str, WordScore]:
        """Results of one training, kept in a file."""
        data = EmbeddingData(self.features, items, config)
        config = replace(config, epochs=max(1, round(self.options.steps / len(data))))
        name = text_digest(repr((config.as_dict(), self.features.encoder, items)))
        path = self.out / "results" / f"{name}.json"
        if not path.is_file():
            made = self._measure(train_embedding(config, data, self.out / "runs" / name).module)
            path.parent.mkdir(exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.write_text(json.dumps({word: asdict(score) for word, score in made.items()}, indent=1) + "\n")
        return {word: WordScore(**score) for word, score in json.loads(path.read_text()).items()}

    def _measure(self, embed: Embed) -> dict[str, WordScore]:
        ranked = retrieve(embed, self.features, self.queries, self.words).ranked
        precision, recall = ranked.average_precisions.means(), ranked.hits(5).means()
        spotted = self.look_up(embed)
        return {
            str(word): WordScore(precision[word], recall[word], *map(float, spotted.get(str(word), (0, 0))))
            for word in sorted(precision, key=str)
        }

    def look_up(self, embed: Embed) -> dict[str, tuple[int, int]]:
        """D of training videos: the most similar half of all mentions in subtitles; word → labels, right ones."""
        words = np.array([exemplar.word for exemplar in self.features.exemplars])
        gallery = embedded(embed, self.features.exemplar_means(), "dictionary")
        found: list[tuple[float, str, bool]] = []
        for video, subtitles in read_words(self.corpus, self.words, self.training).items():
            windows, signs = self.features.videos[video], self.corpus.signs(video)
            similarity = embedded(embed, np.asarray(windows.features, np.float32), "continuous") @ gallery.T
            for subtitle in subtitles:
                stretch = subtitle.segment.padded(_PADDING)
                inside = np.flatnonzero((windows.grid.times >= stretch.start) & (windows.grid.times <= stretch.end))
                for word in subtitle.words if len(inside) else ():
                    best = similarity[np.ix_(inside, words == word)].max(axis=1)
                    ends = [sign.end for sign in signs if sign.word == word]
                    time = float(windows.grid.times[inside[best.argmax()]])
                    found.append((float(best.max()), word, bool(ends) and bool(Tolerance().accepts(time, ends))))
        kept = sorted(found, reverse=True)[: len(found) // 2]
        return {
            word: (sum(each == word for _, each, _ in kept), sum(each == word and right for _, each, right in kept))
            for word in self.words
        }


def _mean(scores: Sequence[WordScore]) -> WordScore:
    return WordScore(*(statistics.fmean(values) for values in zip(*(asdict(s).values() for s in scores), strict=True)))


def run_loop(
    options: LoopOptions, seeds: Sequence[int], out: Path, kinds: Sequence[str] = KINDS
) -> tuple[list[LoopRow], list[LoopRow]]:
    """Learn from labels of each kind; then, if it is among them, from the spotter's of each confidence (Table 4).

    Args:
        options: size of the corpora, and length of the trainings.
        seeds: of the corpora, which are done one after the other.
        out: folder of everything; what is there already is not made again.
        kinds: of labels.
    """
    tables = [_measure_corpus(LoopCorpus(options, seed, out), kinds) for seed in seeds]
    found = []
    for of_corpora in zip(*tables, strict=True):
        rows = []
        for same in zip(*of_corpora, strict=True):  # the same row of each corpus
            scores = tuple(score for row in same for score in row.scores)
            learned = dict(zip(seeds, (row.learned for row in same), strict=True))
            rows.append(LoopRow(same[0].labels_of, scores, _together(learned)))
        found.append(rows)
    return found[0], found[1]


def _measure_corpus(loop: LoopCorpus, kinds: Sequence[str]) -> tuple[list[LoopRow], list[LoopRow]]:
    """Both tables of one corpus."""
    rows, table_4 = [], []
    for kind in kinds:
        labels = loop.labels(kind)
        rows.append(LoopRow(kind, (loop.score(labels),), loop.learn(labels, "watch_read_lookup")))
    rows.append(LoopRow(NOBODY, (), loop.untaught()))
    for least in CONFIDENCES if SPOTTER in kinds else ():
        kept = [label for label in loop.labels(SPOTTER) if label.confidence >= least]
        table_4.append(LoopRow(f"{least:g}", (loop.score(kept),), loop.learn(kept, "watch_lookup")))
    return rows, table_4


def _together(learned: Mapping[int, Learned | None]) -> Learned | None:
    """The words of all corpora, each under its loop's seed; None where a corpus has too few labels."""
    known = {seed: each for seed, each in learned.items() if each is not None}
    if len(known) < len(learned):
        return None
    words = {f"{seed} {word}": score for seed, each in known.items() for word, score in each.words.items()}
    return Learned(sum(each.items for each in known.values()), words)


def measures(learned: Learned) -> tuple[Interval, Interval, Interval]:
    """MAP and R@5 of look-up, and the share of labels D that are right; 95 % intervals over words."""
    words = learned.words
    spotted = [[getattr(words[word], name) for word in sorted(words)] for name in ("right", "spotted")]
    return (
        bootstrap_mean({word: [score.average_precision] for word, score in words.items()}),
        bootstrap_mean({word: [score.recall_5] for word, score in words.items()}),
        bootstrap_ratio(np.array(spotted[0]), np.array(spotted[1])),
    )


def difference(one: Learned, other: Learned) -> Interval:
    """By how much the first mAP is above the second, word by word."""
    both = {word: one.words[word].average_precision - other.words[word].average_precision for word in one.words}
    return bootstrap_mean({word: [value] for word, value in both.items()})


def as_text(rows: Sequence[LoopRow], title: str, against: Sequence[str]) -> str:
    """The rows as a Markdown table, then differences in mAP.

    Args:
        rows: of one table.
        title: of the first column.
        against: rows that all others are compared with, by name.
    """
    lines = [f"| {title} | labels | words | right | items | mAP | R@5 | D right |", "|" + "---|" * 8]
    for row in rows:
        labels, known = sum(score.labels for score in row.scores), [score for score in row.scores if score.labels]
        right = sum(score.precision * score.labels for score in known)
        cells = [
            f"{labels:,}",
            str(sum(score.words for score in known)),
            f"{100 * right / labels:.0f} %" if labels else "–",
        ]
        found = [_shown(each) for each in measures(row.learned)] if row.learned else ["–"] * 3
        lines.append(
            f"| {' | '.join([row.labels_of, *cells, f'{row.learned.items:,}' if row.learned else '–', *found])} |"
        )
    learned = {row.labels_of: row.learned for row in rows if row.learned}
    lines.append("")
    for other in against:
        lines += [
            f"* {name}, mAP above {other}: {_shown(difference(each, learned[other]), signed=True)}"
            for name, each in learned.items()
            if other in learned and name not in against[: against.index(other) + 1]
        ]
    return "\n".join(lines) + "\n"


def _shown(interval: Interval, *, signed: bool = False) -> str:
    """A share in per cent with its interval."""
    value, low, high = (
        f"{100 * each:{'+' if signed else ''}.1f}" for each in (interval.value, interval.low, interval.high)
    )
    return f"{value} [{low}, {high}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    default = LoopOptions()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of everything")
    parser.add_argument("--seed", type=int, action="append", help="of a synthetic corpus; repeatable")
    for name in ("words", "hours", "trunk_steps", "steps", "items", "lr", "trainings"):
        value = getattr(default, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--encoder", help="whose trunk is frozen, in place of one that learns the exemplars")
    parser.add_argument("--model", help="name or file of a mouthing spotter")
    parser.add_argument("--only-truth", action="store_true", help="learn from the truth alone, to choose a recipe by")
    chosen = vars(parser.parse_args(arguments))
    out, seeds, kinds = chosen.pop("out"), chosen.pop("seed") or SEEDS, (TRUTH,) if chosen.pop("only_truth") else KINDS
    rows, table_4 = run_loop(LoopOptions(**chosen), seeds, out, kinds)
    sys.stdout.write(as_text(rows, "labels of", (NOBODY, SUBTITLES, TRUTH)))
    if table_4:
        sys.stdout.write("\n" + as_text(table_4, "least confidence, Watch-Lookup", (f"{CONFIDENCES[0]:g}",)))


if __name__ == "__main__":
    main()
