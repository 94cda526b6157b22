"""Measurements of the applications.

    python -m experiments.applications feedback --seed 52 --lsa64 FOLDER --wlasl FOLDER

Constants of the product were chosen with the corpus of seed 51 (`--choose` prints what they were chosen by).
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from experiments.applications.footage import dense_rows, mine_rows
from experiments.applications.grouping import (
    CUTS,
    faux_amis_rows,
    look_ups,
    pooled_words,
    real_words,
    synthetic_variants,
    synthetic_words,
    variant_rows,
)
from experiments.applications.learners import synthetic_trials, tell
from experiments.applications.real_learners import REAL_HEADS, real_verdicts
from experiments.applications.speed import measure_scan
from experiments.applications.verdicts import fit, trade_rows
from experiments.applications.waking import WakeSize, latency_row, said_rows, wake_rows
from signspot.applications.densify import DensifyOptions
from signspot.applications.faux_amis import SAME_FORM
from signspot.applications.feedback import CHANGES
from signspot.corpus.isolated import read_isolated
from signspot.spotting.spotter import load


def say(*cells: str) -> None:
    """A row of a Markdown table, at once."""
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A Markdown table, row by row."""
    say(*heads)
    say(*["---"] * len(heads))
    for row in rows:
        say(*row)


def feedback(chosen: argparse.Namespace) -> None:
    """Feedback: the share of changed parameters that are named, and of right signs that are taken for right."""
    spotter = load(chosen.encoder, cache=False)
    trials = list(synthetic_trials(spotter, chosen.words or 60, chosen.seed))
    if chosen.choose:
        more = [each for seed in chosen.further for each in synthetic_trials(spotter, chosen.words or 60, seed)]
        sys.stdout.write("\n".join(fit([*trials, *more])) + "\n")
    table(("changed", "clips", "taken for right", "named", "else named"), tell(trials))
    table(("right signs that pass", "limit", "right", "any change", *CHANGES), trade_rows(trials))
    places = _places(chosen)
    if places:
        rows = (row for place in places for row in real_verdicts(spotter, read_isolated(place)))
        table(("corpus", *REAL_HEADS), ((places[number // 2].name, *row) for number, row in enumerate(rows)))


def identify(chosen: argparse.Namespace) -> None:
    """Accuracy of looking signs up, with 1, 2, 3 and 5 exemplars per word."""
    spotter = load(chosen.encoder, cache=False)
    sets = {f"synthetic {chosen.seed}": synthetic_words(spotter, chosen.words or 60, chosen.seed)}
    for place in _places(chosen):
        sets[place.name] = real_words(spotter, read_isolated(place), chosen.words or 60)
    heads = ("corpus", "exemplars per word", "words", "queries", "R@1", "R@5", "MRR")
    table(heads, ((name, str(n), *look_ups(spotter, shown, n)) for name, shown in sets.items() for n in (1, 2, 3, 5)))


def variants(chosen: argparse.Namespace) -> None:
    """Accuracy of grouping exemplars into variants; real words are pooled, as if they were variants."""
    spotter = load(chosen.encoder, cache=False)
    sets = {f"synthetic {chosen.seed}": synthetic_variants(spotter, chosen.words or 20, chosen.seed)}
    for place in _places(chosen):
        sets[place.name] = pooled_words(spotter, read_isolated(place), chosen.words or 20, chosen.seed)
    heads = ("corpus", "words", "exemplars", "cut", "adjusted Rand index", "right number")
    table(heads, (row for name, own in sets.items() for row in variant_rows(spotter, name, own, choose=chosen.choose)))


def faux_amis(chosen: argparse.Namespace) -> None:
    """Share of the signs common to two synthetic corpora that are found."""
    cuts = CUTS if chosen.choose else (SAME_FORM,)
    heads = ("seed", "words", "shared", "cut", "recall", "precision", "meaning right")
    table(heads, faux_amis_rows(load(chosen.encoder, cache=False), chosen.words or 60, chosen.seed, cuts))


def dense(chosen: argparse.Namespace) -> None:
    """Share of subtitle words found on a timeline, and the share of those that are right."""
    rates = (30.0, 60.0, 120.0, 240.0) if chosen.choose else (DensifyOptions().rate,)
    heads = ("seed", "alarms per hour", "subtitle words", "of them signed", "found", "right", "found of the signed")
    table(heads, dense_rows(load(chosen.encoder, cache=False), chosen.seed, chosen.words or 40, 0.05, rates))


def mine(chosen: argparse.Namespace) -> None:
    """Share of mined exemplars that are right, and the number of videos they come from."""
    counts = ("first right", "first 3 right", "first 5 right", "right by chance")
    heads = ("seed", "diversity", "words", "mined", *counts, "signers per word", "videos per word")
    table(heads, mine_rows(load(chosen.encoder, cache=False), chosen.seed, chosen.words or 40, 0.05))


def wake(chosen: argparse.Namespace) -> None:
    """Wake signs that are seen, and false alarms, on several kinds of background."""
    spotter, words = load(chosen.encoder, cache=False), chosen.words or 60
    clips = read_isolated(chosen.lsa64) if chosen.lsa64 else []
    real = [clip for clip in clips if clip.signer == clips[0].signer]
    heads = ("seed", "rule", "footage", "signs", "seen", "false alarms", "hours", "false alarms per hour")
    table(heads, wake_rows(spotter, chosen.seed, words, real, WakeSize(chosen.hours)))
    told = ("events through a stream", "frames late, in the mean", "at most", "promised")
    table(told, [latency_row(spotter, chosen.seed, words)])


def distinctive(chosen: argparse.Namespace) -> None:
    """False alarms of wake signs on words that nobody showed: those that enrolment says, and those counted."""
    spotter, words = load(chosen.encoder, cache=False), chosen.words or 60
    heads = ("seed", "word", "by", "said per hour", "counted per hour", "nearest known signs", "seen alone")
    table(heads, said_rows(spotter, chosen.seed, words, WakeSize(chosen.hours)))


def search(chosen: argparse.Namespace) -> None:
    """Speed of searching an archive."""
    table(("search", ""), measure_scan(load(chosen.encoder, cache=False), chosen.words or 2_000_000, chosen.seed))


def _places(chosen: argparse.Namespace) -> list[Path]:
    return [place for place in (chosen.lsa64, chosen.wlasl) if place]


MEASURES: dict[str, Callable[[argparse.Namespace], None]] = {
    "densify": dense,
    "faux-amis": faux_amis,
    "feedback": feedback,
    "identify": identify,
    "mine": mine,
    "search": search,
    "variants": variants,
    "wake": wake,
    "wake-distinctive": distinctive,
}


def main() -> None:
    """Measure one application."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("application", choices=sorted(MEASURES))
    parser.add_argument("--encoder", help="name or file; the shipped one if not given")
    parser.add_argument("--seed", type=int, default=52, help="of the synthetic corpus")
    parser.add_argument("--words", type=int, help="of the synthetic corpus; of search: windows")
    parser.add_argument("--hours", type=float, default=1.0, help="of wake: of each kind of footage")
    parser.add_argument("--further", type=int, nargs="*", default=[], help="of feedback --choose: further seeds")
    parser.add_argument("--choose", action="store_true", help="print what constants are chosen by")
    parser.add_argument("--lsa64", type=Path)
    parser.add_argument("--wlasl", type=Path)
    chosen = parser.parse_args()
    MEASURES[chosen.application](chosen)


if __name__ == "__main__":
    main()
