"""Attack signspot on this machine alone: `make attack`. Prints a row per kind of attack; exits with 1 if any failed.

Examples: python -m tools.attack --quick; python -m tools.attack readers --count 500 --only vtt spottings.eaf
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tools.attack import AttackOptions

COUNTS = {"readers": (5_000, 40), "media": (200, 5), "commands": (100, 1), "server": (100, 1)}  # whole, quick
_MOST_LINES = 20  # failures of one kind that are shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack with every part that is asked for; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*COUNTS, []], help=f"of {', '.join(COUNTS)} [default: all]")
    parser.add_argument("--count", type=int, help="attacks of each kind; by default as COUNTS says")
    parser.add_argument("--quick", action="store_true", help="a few of each kind: some minutes in all")
    parser.add_argument("--seed", type=int, default=0, help="of mutations and moments")
    parser.add_argument("--only", nargs="+", default=[], help="kinds of attack, by name")
    options = parser.parse_args(arguments)
    failed, start = 0, perf_counter()
    print(f"{'part':8} {'attack':28} {'tried':>8} {'accepted':>9} {'failed':>7} {'slowest':>9}", flush=True)
    for part in options.parts or COUNTS:
        with TemporaryDirectory(prefix="signspot-attack-") as folder:
            count = COUNTS[part][options.quick] if options.count is None else options.count
            attack_options = AttackOptions(Path(folder), count, options.seed, tuple(options.only))
            for outcome in import_module(f"tools.attack.{part}").attack(attack_options):
                failed += len(outcome.failures)
                row = f"{outcome.tried:8,} {outcome.accepted:9,} {len(outcome.failures):7,}"
                row = f"{part:8} {outcome.name:28} {row} {outcome.worst_seconds:7.2f} s"
                print(row, *outcome.failures[:_MOST_LINES], sep="\n  ", flush=True)
    print(f"{f'{failed:,} failures' if failed else 'nothing failed'} in {perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
