"""`signspot demo`: the main job, on material that it makes itself."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, count, note, print_spottings, say
from signspot.cli.options import settings


def demo(
    out: Annotated[Path, typer.Option(help="Folder for all that is made.")] = Path("demo-out"),
    workers: Annotated[int, typer.Option(help="Processes that film and estimate.")] = 2,
) -> None:
    """Film a few signs, then find them: a table, a plot, a report, an ELAN file.

    Afterwards: signspot spot demo-out/sentence.mp4 demo-out/dictionary apple --out demo-out/news.eaf

    Example: signspot demo --out demo-out
    """
    from signspot.io.files import Outputs
    from signspot_synthetic.demo import RESULTS, run_demo

    with Outputs(force=settings().force) as outputs:
        for name in RESULTS:
            outputs.claim(out / name)
        made = run_demo(out, bar, workers, settings().device)
    print_spottings(made.spottings, as_json=False)
    signed, found, wrong = len(made.truth), made.found, made.false_alarms
    say(f"\n{found} of {signed} signs found, {count(wrong, 'false alarm')}.")
    for path in made.files:
        note(f"wrote {path}")
