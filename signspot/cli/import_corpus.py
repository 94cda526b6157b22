"""`signspot import`: bring published corpora into the form that measurements and trainings read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, count, log, print_line
from signspot.cli.options import Workers


class Published(StrEnum):
    """The corpora that can be imported."""

    LSA64 = "lsa64"
    WLASL = "wlasl"


def import_corpus(
    name: Annotated[Published, typer.Argument(help="Name of the corpus.")],
    source: Annotated[
        Path,
        typer.Argument(
            help="The corpus as published: LSA64's 001_001_001.mp4 and so on, or WLASL_v0.3.json and videos/.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the .npz files; an interrupted run resumes there.")],
    workers: Workers = None,
) -> None:
    """Estimate the landmarks of a published corpus of isolated signs (into signer_NN.npz or wlasl_NN.npz).

    Example: signspot import lsa64 lsa64-videos/ --out lsa64/
    """
    from signspot.corpus.public_corpora import import_lsa64, import_wlasl

    with bar("landmarks", "videos") as progress:
        run = import_lsa64 if name is Published.LSA64 else import_wlasl
        report = run(source, out, progress, workers)
    for problem in report.problems[:20]:
        log(f"left out {problem}")
    if len(report.problems) > 20:
        log(f"left out {len(report.problems) - 20} more")
    print_line(f"{out}: {count(report.clips, 'clip')} in {count(len(report.files), 'file')}")
