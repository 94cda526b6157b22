"""`signspot demo`: the main job, on synthetic signing that it makes itself."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, count, log, open_outputs, print_line, print_spottings
from signspot.cli.options import default_workers, settings


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the videos and the results.")] = Path("demo-out"),
) -> None:
    """Render a few signs, then find them: a table, a plot, a report, an ELAN file.

    Afterwards: signspot spot demo-out/sentence.mp4 demo-out/dictionary apple --out demo-out/news.eaf

    Example: signspot demo --out demo-out
    """
    from signspot_synthetic.demo import RESULTS, run_demo

    with open_outputs() as outputs:
        for name in RESULTS:
            outputs.claim(out / name)
        result = run_demo(out, bar, default_workers(None), settings().device)
    print_spottings(result.spottings, as_json=False)
    print_line(f"\n{result.found} of {len(result.truth)} signs found, {count(result.false_alarms, 'false alarm')}.")
    print_line("(A synthetic signer, chosen so that the demo succeeds: it says nothing about accuracy on people.)")
    for path in result.files:
        log(f"wrote {path}")
