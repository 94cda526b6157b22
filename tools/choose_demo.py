"""Chooses the demo's seed by its rule: the first one of which exactly the signed words are found, with a margin.

    python -m tools.choose_demo [FIRST [LAST]]

Prints a line per seed and threshold. Run it again when the shipped encoder or the generator changes.
"""

import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from signspot.spotting.spotter import load
from signspot_synthetic.demo import MARGIN, run_demo


def main() -> None:
    """Try seeds until one keeps the rule."""
    first, last = (int(number) for number in (*sys.argv[1:3], *("1", "100")[len(sys.argv) - 1 :]))
    threshold = load().encoder.card["threshold"]
    for seed in range(first, last + 1):
        with tempfile.TemporaryDirectory() as folder:
            holds = True
            for least in (threshold, threshold + MARGIN, threshold - MARGIN):
                demo = run_demo(
                    Path(folder), lambda _: nullcontext(lambda done, total: None), seed=seed, threshold=least
                )
                signed, found, wrong = len(demo.truth), demo.found, demo.false_alarms
                print(
                    f"seed {seed}, threshold {least:.2f}: {found} of {signed} signs, {wrong} false alarms", flush=True
                )
                holds = holds and found == signed and not wrong
                if not holds:
                    break
        if holds:
            print(f"the demo's seed: {seed}")
            return
    sys.exit(f"no seed from {first} to {last} keeps the rule")


if __name__ == "__main__":
    main()
