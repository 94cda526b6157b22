"""Print how hard the signing world is, knob by knob, for matchers that learn nothing.

python tools/world_difficulty.py [--words 150] [--minutes 6] [--queries 300] [--seed 7]
"""

import argparse
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small; threads only wait for each other

from signspot_lab.difficulty import measure_all, table
from signspot_world.options import CorpusOptions


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=150)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    options = CorpusOptions(
        words=args.words, hours=args.minutes / 60 / 0.8, seed=args.seed, test_share=0.8, video_seconds=90
    )
    rows = measure_all(options, args.queries, lambda done, total: print(f"{done}/{total}", file=sys.stderr))
    print(table(rows))


if __name__ == "__main__":
    main()
