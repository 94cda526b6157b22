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
            if all(_finds_exactly(Path(folder), seed, threshold + margin) for margin in (0, MARGIN, -MARGIN)):
                print(f"the demo's seed: {seed}")
                return
    sys.exit(f"no seed from {first} to {last} keeps the rule")


def _finds_exactly(folder: Path, seed: int, threshold: float) -> bool:
    demo = run_demo(folder, lambda _: nullcontext(lambda done, total: None), seed=seed, threshold=threshold)
    signed, spotted, wrong = len(demo.truth), demo.found, demo.false_alarms
    print(f"seed {seed}, threshold {threshold:.2f}: {spotted} of {signed} signs, {wrong} false alarms", flush=True)
    return spotted == signed and wrong == 0


if __name__ == "__main__":
    main()
