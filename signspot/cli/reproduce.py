"""`signspot reproduce`: measure the tables of the paper on the signing world."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import Device, Force, bar, note, say


def reproduce(
    table: Annotated[
        str,
        typer.Argument(help="table2, table3, figure5, table4, table5, table-a1, table-a2, table-a3, table-a4, or all."),
    ],
    seeds: Annotated[int | None, typer.Option(help="Trainings per cell. [default: 3, or 1 with --quick]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller world and shorter trainings: minutes.")] = False,
    words: Annotated[int | None, typer.Option(help="Words of the world. [default: 600, or 80 with --quick]")] = None,
    hours: Annotated[float | None, typer.Option(help="Hours of footage. [default: 8, or 1 with --quick]")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of each MLP; the paper's are 50. [default: 10]")] = None,
    trunk_steps: Annotated[
        int | None, typer.Option(help="Steps of each trunk. [default: 250, or 100 with --quick]")
    ] = None,
    world_seed: Annotated[int | None, typer.Option(help="Of the world. [default: 31, or 21 with --quick]")] = None,
    corpus: Annotated[Path | None, typer.Option(help="A corpus that exists already. [default: one is made]")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Name or file of an encoder whose trunk is used. [default: trunks are trained]")
    ] = None,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder; a run that was stopped there goes on.")] = Path("reproduced"),
    force: Force = False,
) -> None:
    """Measure a table of the paper: ours, and the paper's in brackets; Ctrl-C keeps what is done.

    Example: signspot reproduce table2 --quick --out reproduced/
    """
    from dataclasses import replace

    from signspot.corpus.corpus import open_corpus
    from signspot.files import Outputs
    from signspot.models.checkpoints import load_encoder
    from signspot_lab.paper.reproduce import FULL, QUICK, names_of
    from signspot_lab.paper.reproduce import reproduce as measure

    size = QUICK if quick else FULL
    size = size if seeds is None else replace(size, seeds=seeds)
    size = size if words is None else replace(size, corpus=replace(size.corpus, words=words))
    size = size if hours is None else replace(size, corpus=replace(size.corpus, hours=hours))
    size = size if epochs is None else replace(size, embedding=replace(size.embedding, epochs=epochs))
    size = size if trunk_steps is None else replace(size, trunk=replace(size.trunk, steps=trunk_steps))
    size = size if world_seed is None else replace(size, corpus=replace(size.corpus, seed=world_seed))
    size = replace(size, device=device)
    given = open_corpus(corpus) if corpus is not None else None
    trunk = load_encoder(encoder, device=device) if encoder is not None else None
    with Outputs([corpus, encoder], force=force) as outputs:
        for name in names_of(table):
            outputs.claim(out / f"{name}.md")
            outputs.claim(out / f"{name}.png")
        for done in measure(table, out, size, given, trunk, bar):
            say(f"{done.title}\n\n{done.text}")
            note(f"written: {done.path} and {done.path.with_suffix('.png')}")
