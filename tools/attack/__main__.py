"""Attack signspot on this machine alone: `make attack`. Prints a row per kind of attack; exits with 1 if any failed.

Example: python -m tools.attack readers --count 500 --only vtt spottings.eaf
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tools.attack import AttackOptions

COUNTS = {"readers": 20_000, "media": 200, "pickles": 1_000, "servers": 100, "kills": 100}  # of each kind, by part
_MOST_LINES = 20  # failures of one kind that are shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack with every part that is asked for; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "parts", nargs="*", choices=[*COUNTS, []], help=f"of {', '.join(COUNTS)}; all, if none is named"
    )
    parser.add_argument("--count", type=int, help="attacks of each kind; by default as COUNTS says")
    parser.add_argument("--seed", type=int, default=0, help="of mutations and moments")
    parser.add_argument("--only", nargs="+", default=[], help="kinds of attack, by name")
    options = parser.parse_args(arguments)
    failed = 0
    print(f"{'part':8} {'attack':28} {'tried':>8} {'accepted':>9} {'failed':>7} {'slowest':>9}", flush=True)
    for part in options.parts or COUNTS:
        start = perf_counter()
        memory = Path("/dev/shm") if part in ("readers", "pickles") else None  # many small files
        with TemporaryDirectory(
            prefix="signspot-attack-", dir=memory if memory and memory.is_dir() else None
        ) as folder:
            count = COUNTS[part] if options.count is None else options.count
            wanted = AttackOptions(Path(folder), count, options.seed, tuple(options.only))
            for outcome in import_module(f"tools.attack.{part}").attack(wanted):
                failed += len(outcome.failures)
                row = f"{outcome.tried:8,} {outcome.accepted:9,} {len(outcome.failures):7,}"
                row = f"{part:8} {outcome.name:28} {row} {outcome.worst_seconds:7.2f} s"
                print(row, *outcome.failures[:_MOST_LINES], sep="\n  ", flush=True)
        print(f"{part}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print("nothing failed" if not failed else f"{failed:,} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
