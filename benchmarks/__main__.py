"""Run all benchmarks, print them, and write experiments/results/benchmarks.md: `make bench`."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter

from benchmarks.adapting import adapting_rows
from benchmarks.annotation import annotation_rows
from benchmarks.feeding import feeding_rows
from benchmarks.isolation import ROOT
from benchmarks.loss import loss_rows
from benchmarks.material import describe, landmark_encoder
from benchmarks.mouthing import mouthing_rows
from benchmarks.pipeline import pipeline_rows
from benchmarks.rows import Comparison, page, table
from benchmarks.search import search_rows
from benchmarks.sizes import FULL, QUICK, Sizes
from benchmarks.synthetic import synthetic_rows
from benchmarks.trunks import trunk_rows
from signspot.io.files import atomic_write

PAGE = ROOT / "experiments" / "results" / "benchmarks.md"
BENCHMARKS: dict[str, Callable[[Sizes], list[Comparison]]] = {
    "synthetic": synthetic_rows,
    "loss": loss_rows,
    "trunks": trunk_rows,
    "feeding": feeding_rows,
    "search": search_rows,
    "adapting": adapting_rows,
    "mouthing": mouthing_rows,
    "pipeline": pipeline_rows,
    "annotation": annotation_rows,
}


def main() -> None:
    """Measure what is asked for; limits that are missed are shown, not punished, since machines are noisy."""
    options = _options()
    sizes = QUICK if options.quick else FULL
    if options.long:
        sizes = replace(sizes, long=float(options.long), short=min(sizes.short, options.long / 4))
    rows: list[Comparison] = []
    begun, load = perf_counter(), os.getloadavg()[0]
    for name in options.only or BENCHMARKS:
        start, spent = perf_counter(), sum(os.times()[:4])
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        rows_of_part = BENCHMARKS[name](sizes)
        took = f"{perf_counter() - start:.0f} s, {sum(os.times()[:4]) - spent:.0f} s of the processor"
        print(took, file=sys.stderr)
        if options.quick:
            rows_of_part = [replace(row, kept=None) for row in rows_of_part]  # tiny sizes say nothing about limits
        rows += rows_of_part
        if not options.json:
            print("\n".join(table(rows_of_part)), flush=True)  # at once: whoever stops here has it
    whole = not (options.quick or options.only or options.long)
    command = "make bench" if whole else "python -m benchmarks (a part)"
    took = f"{(perf_counter() - begun) / 60:.0f} min, beside {load:.1f} other busy processes when it began"
    text = page(rows, command, describe(landmark_encoder()), took)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    target = options.out or (PAGE if whole else None)
    if target is not None:
        with atomic_write(target) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").strip())
    parser.add_argument("--quick", action="store_true", help="tiny sizes in one process: does everything run?")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, help="these alone; the page is not written")
    parser.add_argument("--long", type=int, help="seconds of the longer video, a multiple of 40 (default: 60)")
    parser.add_argument("--json", action="store_true", help="print the rows for machines")
    parser.add_argument("--out", type=Path, help="where the page goes (default: experiments/results/benchmarks.md)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
