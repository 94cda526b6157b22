"""Attack signspot: mutated files, kills, hostile media and lying servers, on this machine alone: `make attack`.

Prints a row per kind of attack and exits with 1 if any failed.

Example: python -m tools.attack readers --count 500 --only vtt elan
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tools.attack import AttackOptions, Outcome

COUNTS = {  # per kind of attack, where --count says nothing
    "readers": 10_000,
    "kills": 200,
    "media": 200,
    "pickles": 1_000,
    "servers": 200,
    "interrupts": 200,
    "guided": 60,  # seconds per reader
}
PARTS = tuple(part for part in COUNTS if find_spec(f"tools.attack.{part}"))
_IN_MEMORY = ("readers", "pickles", "guided")  # many small files, which a disk would take ten times as long to write
_MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
_MOST_LINES = 20  # failures of one kind that are shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack with every part that is asked for; give the exit code."""
    options = _parser().parse_args(arguments)
    failed = 0
    print(f"{'part':8} {'attack':28} {'tried':>8} {'failed':>7} {'slowest':>9}  remarks", flush=True)
    for part in options.parts or PARTS:
        start = perf_counter()
        with TemporaryDirectory(prefix="signspot-attack-", dir=_MEMORY if part in _IN_MEMORY else None) as folder:
            count = COUNTS[part] if options.count is None else options.count
            wanted = AttackOptions(Path(folder), count, options.seed, tuple(options.only))
            for outcome in import_module(f"tools.attack.{part}").attack(wanted):
                failed += len(outcome.failures)
                _show(part, outcome)
        print(f"{part}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print("nothing failed" if not failed else f"{failed:,} failures")
    return 1 if failed else 0


def _show(part: str, outcome: Outcome) -> None:
    print(
        f"{part:8} {outcome.name:28} {outcome.tried:8,} {len(outcome.failures):7,} {outcome.worst_seconds:7.2f} s  "
        f"{outcome.remarks}",
        flush=True,
    )
    for line in outcome.failures[:_MOST_LINES]:
        print(f"  {line}", flush=True)
    if len(outcome.failures) > _MOST_LINES:
        print(f"  … and {len(outcome.failures) - _MOST_LINES:,} more", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=f"of {', '.join(PARTS)}; all, if none is named")
    parser.add_argument("--count", type=int, help="attacks of each kind; see COUNTS for what each part takes by itself")
    parser.add_argument("--seed", type=int, default=0, help="of mutations and moments")
    parser.add_argument("--only", nargs="+", default=[], help="kinds of attack, by name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
