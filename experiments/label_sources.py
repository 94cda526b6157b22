"""Labels M and D of a run of `signspot learn` on a corpus beside each other: how many, how right, what D adds to M.

    python -m experiments.label_sources corpus/ learnt/
    python -m experiments.label_sources corpus/ learnt/ other/ learnt-there/ --recognisers runs/ --trainings 3

Only training videos count. The second command trains recognisers on sets of these labels, several times each, as
`signspot learn` trains them, and says how far each set is above M, word by word, in each corpus and in all.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from signspot.applications.loop import SMALL_RECOGNISER
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.labels import SAME_PLACE, are_beside, contradicted
from signspot.corpus.truth import read_records, right_labels
from signspot.metrics.bootstrap import bootstrap_mean
from signspot.recognition.scoring import ALL
from signspot.training.recogniser import RecogniserConfig, train_recogniser_on_corpus
from signspot.types import Label

Row = tuple[str, str, str, str]
LEARNED = (
    "M",
    "D",
    "M + D",
    "M that D does not contradict",
    "M + D, without M that D contradicts",
    "M + D, each place once",
)
_HEADS = ("learnt from", "top 1 per word", "mean", f"above {LEARNED[0]}")


def label_sets(corpus: Corpus, mouthed: Sequence[Label], found: Sequence[Label]) -> dict[str, list[Label]]:
    """Labels of training videos, sorted by what the other source says of them."""
    training = {video.id for video in corpus.in_split("train")}
    m, d = ([label for label in own if label.video in training] for own in (mouthed, found))
    agreed, clash = are_beside(m, d, SAME_PLACE, str.__eq__), contradicted(m, d)
    doubted, undoubted = (
        [label for label, is_so in zip(m, clash, strict=True) if is_so is kind] for kind in (True, False)
    )
    known = are_beside(d, m, SAME_PLACE, str.__eq__)
    new = [label for label, is_so in zip(d, known, strict=True) if not is_so]
    return {
        "M": m,
        "M with D of the same word at its place": [label for label, is_so in zip(m, agreed, strict=True) if is_so],
        "M with D of another word at its place, not of the same": doubted,
        "M without D": [label for label, *d_there in zip(m, agreed, clash, strict=True) if not any(d_there)],
        "M that D does not contradict": undoubted,
        "D": d,
        "D where M has nothing": new,
        "M + D": [*m, *d],
        "M + D, without M that D contradicts": [*undoubted, *d],
        "M + D, each place once": [*undoubted, *new],
    }


def label_rows(corpus: Corpus, mouthed: Sequence[Label], found: Sequence[Label]) -> Iterator[Row]:
    """Rows: which labels, how many, of how many words, the share that is at a sign of its word."""
    sets = label_sets(corpus, mouthed, found)
    sets |= {
        f"M from {least}": [label for label in sets["M"] if label.confidence >= least] for least in (0.6, 0.7, 0.8, 0.9)
    }
    signs = {video.id: corpus.signs(video.id) for video in corpus.in_split("train")}
    for name, own in sets.items():
        right = f"{np.mean(right_labels(own, signs)):.3f}" if own else "–"
        yield name, f"{len(own):,}", str(len({label.word for label in own})), right


def learned_words(
    corpus: Corpus,
    sets: Mapping[str, Sequence[Label]],
    asked: Sequence[str],
    folder: Path,
    trainings: int,
    config: RecogniserConfig = SMALL_RECOGNISER,
) -> dict[str, list[dict[str, float]]]:
    """Recognisers on sets of labels: for each set and training, the share of the signs of each word that are named.

    Args:
        corpus: a corpus.
        sets: labels to learn from.
        asked: words that are tested.
        folder: of the trainings; those that are there are not made again.
        trainings: of each set, with a seed each.
        config: how to learn.
    """
    found: dict[str, list[dict[str, float]]] = {}
    for name, own in sets.items():
        for seed in range(trainings):
            place = folder / f"{name.replace(' ', '-')}-{seed}"
            scores = train_recogniser_on_corpus(replace(config, seed=seed), corpus, place, labels=own, asked=asked)[1]
            ranks = next(each.ranks for each in scores if each.tested == ALL)
            shares = {word: float(np.mean([rank <= 1 for rank in ranked])) for word, ranked in ranks.items()}
            found.setdefault(name, []).append(shares)
    return found


def recogniser_rows(learned: Sequence[Mapping[str, Sequence[Mapping[str, float]]]]) -> Iterator[Row]:
    """Rows: which labels, top 1 per word of each training, their mean, and how far it is above the first set's.

    Args:
        learned: of each corpus, as `learned_words` gives it; words of two synthetic corpora are two words.
    """
    first: dict[tuple[int, str], float] = {}
    for name, trained in learned[0].items():
        means = [
            float(np.mean([share for corpus in learned for share in corpus[name][seed].values()]))
            for seed in range(len(trained))
        ]
        words = {
            (number, word): float(np.mean([shares[word] for shares in corpus[name]]))
            for number, corpus in enumerate(learned)
            for word in corpus[name][0]
        }
        first = first or words
        above = bootstrap_mean({place: [share - first[place]] for place, share in words.items()})
        gain = "–" if first is words else f"{above.value:+.3f} [{above.low:+.3f}, {above.high:+.3f}]"
        yield name, ", ".join(f"{mean:.3f}" for mean in means), f"{np.mean(means):.3f}", gain


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, nargs="+", help="a corpus with truth/ and a run of signspot learn on it, …")
    parser.add_argument("--recognisers", type=Path, help="train recognisers in this folder, and compare them")
    parser.add_argument("--trainings", type=int, default=3, help="of each set of labels")
    chosen = parser.parse_args()
    if len(chosen.pairs) % 2:
        parser.error(
            f"name a corpus and a run of signspot learn on it, then the next two; got {len(chosen.pairs)} folders"
        )
    learned = []
    for folder, learnt in zip(chosen.pairs[::2], chosen.pairs[1::2], strict=True):
        corpus = open_corpus(folder)
        m, d = (list(read_records(Label, learnt / f"labels-{source}.jsonl")) for source in "MD")
        _print(("labels", "count", "words", "right"), label_rows(corpus, m, d))
        if chosen.recognisers is not None:
            sets, asked = label_sets(corpus, m, d), sorted({label.word for label in [*m, *d]})
            own = {name: sets[name] for name in LEARNED}
            learned.append(learned_words(corpus, own, asked, chosen.recognisers / folder.name, chosen.trainings))
            _print(_HEADS, recogniser_rows(learned[-1:]))
    if len(learned) > 1:
        _print(_HEADS, recogniser_rows(learned))


def _print(titles: Row, rows: Iterable[Row]) -> None:
    for row in (titles, ("---",) * len(titles), *rows):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
    sys.stdout.write("\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
