"""`python -m experiments.paper`: measure the tables of the paper, and write one page of its claims."""

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiments.paper.cells import KeptCells
from experiments.paper.plan import Plan, Sizes, full_sizes
from signspot.cli.console import print_line
from signspot.corpus.corpus import open_corpus
from signspot.errors import SignspotError
from signspot.io.files import atomic_write
from signspot.models.checkpoints import load_encoder
from signspot.training.configuration import read_training
from signspot.training.recogniser import RecogniserConfig
from signspot.training.rgb_clips import RgbConfig


def main(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="table2 to table8, figure5, table-a1 to table-a4, table-c1, test-labels, story, story-retrieval, "
            "spotting-benchmark. [default: all]"
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="600 words and 8 hours: a day or more of one core.")] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Trainings per cell.")] = 3,
    corpora: Annotated[
        int | None,
        typer.Option("--corpora", min=1, help="Synthetic corpora. [default: 2; Tables 6 to 8: 3]"),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="A corpus that exists already, in place of synthetic ones.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", help="Name or file: whose trunk is frozen, who finds D, or who is benchmarked."),
    ] = None,
    recogniser: Annotated[
        Path | None,
        typer.Option("--recogniser", help="A TOML file of the kind recogniser or rgb: what Tables 6 to 8 train."),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Where networks run.")] = "cpu",
    out: Annotated[Path, typer.Option("--out", help="Folder of what is made: corpora, trunks, runs.")] = Path(
        "reproduced"
    ),
    results: Annotated[
        Path | None, typer.Option("--results", help="Folder of the page and its cells. [default: OUT]")
    ] = None,
    page_only: Annotated[bool, typer.Option("--page-only", help="Write it from kept cells; measure nothing.")] = False,
) -> None:
    """Measure tables of the paper and judge its claims; Ctrl-C keeps what is done, the same command goes on.

    Example: python -m experiments.paper --results experiments/results
    """
    sizes = full_sizes() if full else Sizes()
    sizes = replace(sizes, seeds=seeds, corpora=corpora or sizes.corpora)
    sizes = replace(sizes, retrieval=replace(sizes.retrieval, device=device))
    sizes = replace(sizes, recognition_corpora=corpora or sizes.recognition_corpora)
    if recogniser is not None:
        kinds = {"recogniser": RecogniserConfig, "rgb": RgbConfig}
        sizes = replace(sizes, recogniser=read_training(recogniser, kinds))
    opened = open_corpus(corpus) if corpus is not None else None
    trunk = load_encoder(encoder, device=device) if encoder is not None else None
    folder = out if results is None else results
    plan = Plan(sizes, out, KeptCells(folder / "paper-cells.jsonl"), opened, trunk, encoder)
    chosen = plan.chosen(tables or ())
    page = folder / "paper.md"

    def write_page() -> None:
        with atomic_write(page) as temporary:
            temporary.write_text(plan.page(chosen), encoding="utf-8")

    if not page_only:
        plan.run(chosen, write_page)
    write_page()
    print_line(str(page))


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("experiments").setLevel(logging.INFO)
    try:
        typer.run(main)
    except SignspotError as error:
        sys.exit(f"experiments.paper: {error}")
