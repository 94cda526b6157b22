"""`python -m experiments.paper`: measure the tables of the paper on synthetic corpora."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.paper import reproduce
from experiments.paper.reproduce import Sizes
from signspot.cli.console import bar, log, print_line
from signspot.corpus.corpus import open_corpus
from signspot.errors import SignspotError
from signspot.io.files import Outputs
from signspot.models.checkpoints import load_encoder


def main(
    tables: Annotated[
        list[str],
        typer.Argument(help="table2 to table8, figure5, table-a1 to table-a4, table-c1, spotting-benchmark; or all."),
    ],
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Trainings per cell. [default: 3, or 1 with --quick]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller corpus and shorter trainings: minutes.")] = False,
    corpora: Annotated[
        int | None, typer.Option("--corpora", help="Of tables 6 to 8. [default: 3, or 1 with --quick]")
    ] = None,
    words: Annotated[
        int | None,
        typer.Option("--words", help="Words of a corpus. [default: 600; tables 6 to 8: 20; C.1: 60; benchmark: 500]"),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option("--hours", help="Hours of footage. [default: 8; tables 6 to 8: 0.2; C.1: 0.5; benchmark: 3]"),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Epochs of each MLP; the paper's are 50. [default: 10]")
    ] = None,
    trunk_steps: Annotated[
        int | None,
        typer.Option(
            "--trunk-steps", help="Steps of each trunk. [default: 250, tables 6 to 8: 80, C.1: 100; fewer with --quick]"
        ),
    ] = None,
    corpus_seed: Annotated[
        int | None,
        typer.Option(
            "--corpus-seed", help="Of the (first) corpus. [default: 31; tables 6 to 8 and C.1: 71; benchmark: 81]"
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="A corpus that exists already, such as BOBSL's form. [default: one is made]"),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="Name or file: whose trunk is used, who finds D, or who is benchmarked. [default: trunks are trained; "
            "the shipped one; all shipped ones]",
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Where networks run.")] = "cpu",
    out: Annotated[Path, typer.Option("--out", help="Folder; a run that was stopped there goes on.")] = Path(
        "reproduced"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace files that a person wrote.")] = False,
) -> None:
    """Measure tables of the paper: ours, and the paper's in brackets; Ctrl-C keeps what is done.

    Example: python -m experiments.paper table6 table7 table8 --out reproduced/
    """
    given = {"words": words, "hours": hours, "seed": corpus_seed}
    sizes = _sizes(given, seeds, corpora, epochs, trunk_steps, quick=quick)
    recognition, pretraining = (
        replace(each, device=device, encoder=encoder) for each in (sizes.recognition, sizes.pretraining)
    )
    retrieval = replace(sizes.retrieval, device=device)
    sizes = replace(sizes, retrieval=retrieval, recognition=recognition, pretraining=pretraining)
    chosen = open_corpus(corpus) if corpus is not None else None
    trunk = load_encoder(encoder, device=device) if encoder is not None else None
    with Outputs([corpus, encoder], force=force) as outputs:
        for name in reproduce.names_of(tables):
            outputs.claim(out / f"{name}.md")
            outputs.claim(out / f"{name}.png")
        for done in reproduce.reproduce(tables, out, sizes, chosen, trunk, bar):
            print_line(f"{done.title}\n\n{done.text}")
            log(f"written: {done.path} and {done.path.with_suffix('.png')}")


def _sizes(
    given: dict[str, Any],
    seeds: int | None,
    corpora: int | None,
    epochs: int | None,
    trunk_steps: int | None,
    *,
    quick: bool,
) -> Sizes:
    """Sizes of everything: the defaults, but for those that were asked for."""
    known = {name: value for name, value in given.items() if value is not None}
    sizes = reproduce.SMALL if quick else Sizes()
    retrieval = replace(sizes.retrieval, corpus=replace(sizes.retrieval.corpus, **known))
    benchmark = replace(sizes.benchmark, corpus=replace(sizes.benchmark.corpus, **known))
    if "seed" in known:
        known["first_seed"] = known.pop("seed")
    recognition, pretraining = (replace(each, **known) for each in (sizes.recognition, sizes.pretraining))
    if seeds is not None:
        retrieval = replace(retrieval, seeds=seeds)
        recognition, pretraining = (replace(each, seeds=seeds) for each in (recognition, pretraining))
    if corpora is not None:
        recognition = replace(recognition, corpora=corpora)
    if epochs is not None:
        retrieval = replace(retrieval, embedding=replace(retrieval.embedding, epochs=epochs))
    if trunk_steps is not None:
        retrieval = replace(retrieval, trunk=replace(retrieval.trunk, steps=trunk_steps))
        recognition, pretraining = (
            replace(each, training=replace(each.training, steps=trunk_steps)) for each in (recognition, pretraining)
        )
    return Sizes(retrieval, recognition, pretraining, benchmark)


if __name__ == "__main__":
    try:
        typer.run(main)
    except SignspotError as error:
        sys.exit(f"experiments.paper: {error}")
