"""What the applications are worth.

    python -m signspot_lab.applications feedback --seed 52 --lsa64 FOLDER --wlasl FOLDER

Constants of the product were chosen with the world of seed 51 (`--choose` prints what they were chosen by).
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from signspot.spotting.spotter import load
from signspot_lab.applications.learners import choose, real_verdicts, tell, world_trials
from signspot_lab.isolated.reading import read_isolated


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
    """How often the changed parameter is named, and how often right signs are taken for right."""
    spotter = load(chosen.encoder, cache=False)
    trials = list(world_trials(spotter, chosen.words or 60, chosen.seed))
    if chosen.choose:
        sys.stdout.write("\n".join(choose(trials)) + "\n")
    table(("changed", "clips", "taken for right", "named", "else named"), tell(trials))
    places = [place for place in (chosen.lsa64, chosen.wlasl) if place]
    if places:
        heads = ("corpus", "words", "clips", "right taken for right", "wrong taken for right", "MRR")
        table(heads, ((place.name, *real_verdicts(spotter, read_isolated(place))) for place in places))


MEASURES: dict[str, Callable[[argparse.Namespace], None]] = {"feedback": feedback}


def main() -> None:
    """Measure one application."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("application", choices=sorted(MEASURES))
    parser.add_argument("--encoder", help="name or file; the shipped one if not given")
    parser.add_argument("--seed", type=int, default=52, help="of the world")
    parser.add_argument("--words", type=int, help="of the world")
    parser.add_argument("--choose", action="store_true", help="print what constants are chosen by")
    parser.add_argument("--lsa64", type=Path)
    parser.add_argument("--wlasl", type=Path)
    chosen = parser.parse_args()
    MEASURES[chosen.application](chosen)


if __name__ == "__main__":
    main()
