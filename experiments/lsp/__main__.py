"""Measures encoders on real continuous signing that nothing here has learned from.

    python -m experiments.lsp make DATA OUT             # three corpus folders in the product's own form
    python -m experiments.lsp measure OUT/ira_alegria --part test --encoder landmark --encoder warping --exemplars 1 3
    python -m experiments.lsp ceiling OUT/ira_alegria --encoder landmark --encoder warping
    python -m experiments.lsp decide OUT/ira_alegria --encoder landmark --exemplars 3
    python -m experiments.lsp confirmed OUT/ira_alegria --encoder landmark
    python -m experiments.lsp adapt OUT/ira_alegria --encoder landmark
    python -m experiments.lsp embed OUT/ira_alegria --encoder landmark
    python -m experiments.lsp annotate OUT/ira_alegria --part test --encoder landmark
    python -m experiments.lsp mouth OUT/ira_alegria --part test
    python -m experiments.lsp page OUT                  # all tables of experiments/results/lsp.md anew

`DATA` holds the landmarks of the two interpreters and of a small dictionary (not part of this project).
"""

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.lsp.adapting import measure_adaptation, measure_embeddings
from experiments.lsp.ceiling import measure_ceiling
from experiments.lsp.corpora import SEED, exemplars_for, few_exemplars, make, part_of
from experiments.lsp.measures import (
    measure,
    measure_annotation,
    measure_confirmed,
    measure_decisions,
    measure_mouthing,
)
from signspot.corpus.corpus import open_corpus
from signspot.io.files import atomic_write
from signspot.mouthing.network import FOR_VIDEO
from signspot.spotting.spotter import load

PAGE = Path(__file__).parents[1] / "results" / "lsp.md"
_COMMAND = re.compile(r"(```\npython -m experiments\.lsp (\w+ lsp/.+)\n```\n\n)((?:\|.*\n)*)")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the corpora, measure encoders on one of them, or write the page's tables anew."""
    options = _parser().parse_args(arguments)
    if options.command == "make":
        for line in make(options.data, options.out):
            print(line, flush=True)
    elif options.command == "page":
        for line in write_tables(options.page, options.out):
            print(line, flush=True)
    else:
        for line in _lines(options):
            print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.lsp", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("data", type=Path)
    making.add_argument("out", type=Path)
    for name in ("measure", "ceiling", "decide", "confirmed", "adapt", "embed", "annotate", "mouth"):
        command = commands.add_parser(name)
        command.add_argument("corpus", type=Path)
        if name not in ("adapt", "embed"):
            command.add_argument("--part", choices=("dev", "test"), default="dev")
        if name != "mouth":
            command.add_argument("--encoder", action="append", required=True)
        if name in ("measure", "decide"):
            command.add_argument("--exemplars", type=int, nargs="+", default=[1, 3])
    commands.choices["mouth"].add_argument("--model", default=FOR_VIDEO)
    page = commands.add_parser("page")
    page.add_argument("out", type=Path)
    page.add_argument("--page", type=Path, default=PAGE)
    return parser


def _lines(options: argparse.Namespace) -> Iterator[str]:
    """The output of a measurement."""
    corpus = open_corpus(options.corpus)
    if options.command in ("adapt", "embed"):
        learn = measure_adaptation if options.command == "adapt" else measure_embeddings
        for spotter in map(load, options.encoder):
            yield from learn(corpus, spotter)
        return
    part = part_of(corpus, options.part)
    if options.command == "measure":
        yield from measure(part, exemplars_for(part), [load(name) for name in options.encoder], options.exemplars)
    elif options.command == "ceiling":
        yield from measure_ceiling(part, exemplars_for(part), [load(name) for name in options.encoder])
    elif options.command == "decide":
        for spotter in map(load, options.encoder):
            for count in options.exemplars:
                yield from measure_decisions(spotter, part, few_exemplars(exemplars_for(part), count, SEED))
    elif options.command == "confirmed":
        for spotter in map(load, options.encoder):
            yield from measure_confirmed(spotter, part, exemplars_for(part))
    elif options.command == "annotate":
        yield from measure_annotation(part, options.encoder)
    else:
        yield from measure_mouthing(part, options.model)


def write_tables(page: Path, out: Path) -> Iterator[str]:
    """Run every command of a page, and put what it prints in the place of the table below; names each command.

    Args:
        page: with each command in a block of its own; it says lsp/ for the folder of the corpora.
        out: that folder.
    """
    for _, command, _ in _COMMAND.findall(page.read_text(encoding="utf-8")):
        yield command
        arguments = [re.sub("^lsp/", f"{out}/", argument) for argument in shlex.split(command)]
        table = "".join(f"{line}\n" for line in _lines(_parser().parse_args(arguments)))
        text = page.read_text(encoding="utf-8")
        (block,) = [match for match in _COMMAND.finditer(text) if match[2] == command]
        with atomic_write(page) as temporary:
            temporary.write_text(text[: block.start(3)] + table + text[block.end(3) :], encoding="utf-8")


if __name__ == "__main__":
    main()
