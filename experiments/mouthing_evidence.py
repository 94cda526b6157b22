"""Gain in precision by agreement of hand and lips, at equal yield: `python -m experiments.mouthing_evidence CORPUS`.

A synthetic corpus is annotated twice, by its dictionary and by mouthing. Then spottings by hand are ranked
by score alone, and with those first that a mouthing agrees with; of either ranking as many are taken from the top.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.options import AnnotateOptions, RunOptions
from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.annotation.statistics import Truth, is_mouthed, labels_by_video
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.io.processes import WorkerPool
from signspot.mouthing.spotter import LEAST

KEEP = 0.5  # least score of a spotting by hand: nearly every query has one
_MULTIPLES = (1, 2, 4)  # of the number of spottings that agree


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One yield."""

    yielded: int  # spottings taken from the top
    alone: float  # share of them that is right, ranked by score
    agreeing_first: float  # the same, those first that are mouthed, too


def rank_both(scores: NDArray[np.float64], mouthed: NDArray[np.bool_], right: NDArray[np.bool_]) -> list[EvidenceRow]:
    """Compare both rankings.

    Args:
        scores: (n,) of spottings by hand.
        mouthed: (n,) a mouthing agrees.
        right: (n,) the sign is really there.
    """
    alone = right[np.argsort(-scores, kind="stable")]
    agreeing = right[np.lexsort((-scores, ~mouthed))]
    count, every = int(mouthed.sum()), len(scores)
    yields = sorted({min(every, count * times) for times in _MULTIPLES if count} | ({every} if every else set()))
    return [EvidenceRow(taken, float(alone[:taken].mean()), float(agreeing[:taken].mean())) for taken in yields]


def measure_evidence(
    corpus: Corpus, out: Path, encoder: str | None = None, model: str | None = None, least: float = LEAST
) -> list[EvidenceRow]:
    """Annotate a corpus with known signs in both ways, and compare.

    Args:
        corpus: with a dictionary, subtitles and the truth.
        out: folder of both runs.
        encoder: name or file; None: the shipped one.
        model: name or file of a mouthing spotter; None: the shipped one.
        least: probability of a mouthing.
    """
    signs = AnnotationJob(corpus, corpus.layout.dictionary, out / "hands", encoder=encoder, threshold=KEEP)
    found = annotate(signs, AnnotateOptions(keep=KEEP, negatives=0, peaks=1), WorkerPool(1)).spottings
    words = tuple(corpus.dictionary())
    lips = MouthingJob(corpus, out / "lips", words, model=model, threshold=least, word_threshold=0.0)
    mouthed_run = annotate_mouthings(lips, RunOptions(keep=min(least, 0.3), negatives=0, peaks=1), WorkerPool(1))
    by_video = labels_by_video(candidate.as_label() for candidate in mouthed_run.spottings)
    truth = Truth(corpus)
    scores = np.array([one.score for one in found], float)
    mouthed = np.array([is_mouthed(one, by_video) for one in found], bool)
    return rank_both(scores, mouthed, np.array([truth.is_right(one) for one in found], bool))


def as_text(rows: Sequence[EvidenceRow]) -> str:
    """The comparison as a Markdown table."""
    lines = ["| spottings taken | right, by score | right, mouthed ones first |", "|---|---|---|"]
    lines += [f"| {row.yielded} | {100 * row.alone:.1f} % | {100 * row.agreeing_first:.1f} % |" for row in rows]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="made by: signspot synthetic make … --knob lips=1")
    parser.add_argument("--out", type=Path, required=True, help="folder of both runs")
    parser.add_argument("--encoder", help="name or file")
    parser.add_argument("--model", help="name or file of a mouthing spotter")
    parser.add_argument("--least", type=float, default=LEAST, help="probability of a mouthing")
    chosen = parser.parse_args(arguments)
    rows = measure_evidence(open_corpus(chosen.corpus), chosen.out, chosen.encoder, chosen.model, chosen.least)
    sys.stdout.write(as_text(rows))


if __name__ == "__main__":
    main()
