"""`signspot synthetic`: make synthetic corpora, and look at them."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from signspot.cli.console import bar, count, open_outputs, print_line

T = TypeVar("T")
app = typer.Typer(help="Make synthetic signing with exact truth.", no_args_is_help=True, rich_markup_mode=None)


class Kind(StrEnum):
    """What is made."""

    CORPUS = "corpus"
    SIGNS = "signs"
    LIPS = "lips"


@app.command("make")
def make(
    out: Annotated[Path, typer.Argument(help="New folder, or that of an interrupted run.")],
    kind: Annotated[
        Kind, typer.Option(help="A corpus, isolated signs to train frame codes on, or lips to train mouthing on.")
    ] = Kind.CORPUS,
    words: Annotated[int | None, typer.Option(help="Corpus: number of words. [default: 1064]")] = None,
    hours: Annotated[float | None, typer.Option(help="Corpus: hours of signing. [default: 2]")] = None,
    render: Annotated[bool, typer.Option("--render", help="Corpus: render .mp4 videos, too.")] = False,
    size: Annotated[str | None, typer.Option(help="With --render: image size in pixels. [default: 320x240]")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed; the same seed gives the same files.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set another size or difficulty, such as knobs.noise=0; repeatable."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes.")] = 1,
) -> None:
    """Make a corpus: a dictionary, continuous videos, subtitles, mouthing labels, exact truth and splits.

    With --kind signs: landmarks of isolated signs. With --kind lips: landmarks of people who mouth English words.
    --set with an unknown key lists all keys.

    Example: signspot synthetic make corpus/ --words 200 --hours 1 --set knobs.noise=0 --workers 2
    """
    arguments = {"words": words, "hours": hours, "render": render or None, "size": read_size(size), "seed": seed}
    values = {name: value for name, value in arguments.items() if value is not None}
    makers = {Kind.CORPUS: _make_corpus, Kind.SIGNS: _make_signs, Kind.LIPS: _make_lips}
    print_line(f"{out}: {makers[kind](values, settings or (), out, workers)}")


def _make_corpus(values: dict[str, Any], settings: Iterable[str], out: Path, workers: int) -> str:
    from signspot_synthetic.corpus_plan import CorpusOptions
    from signspot_synthetic.corpus_writer import make_corpus

    options = _fill(CorpusOptions, values, settings)
    with bar("corpus", "parts") as progress:
        corpus = make_corpus(options, out, progress, workers=workers)
    return f"{len(corpus.videos)} videos, {len(corpus.dictionary())} words, {len(corpus.labels())} mouthing labels"


def _make_signs(values: dict[str, Any], settings: Iterable[str], out: Path, workers: int) -> str:
    from signspot_synthetic.isolated_signs import IsolatedSignsOptions, write_isolated_signs

    options = _fill(IsolatedSignsOptions, values, settings)
    with bar("signs", "signs") as progress:
        files = write_isolated_signs(options, out, progress, workers)
    clips = options.signs * (options.isolated + options.continuous)
    return f"{clips:,} clips of {options.signs:,} signs in {count(files, 'file')}"


def _make_lips(values: dict[str, Any], settings: Iterable[str], out: Path, workers: int) -> str:
    from signspot_synthetic.lips_corpus import LipsOptions, make_lips_corpus

    options = _fill(LipsOptions, values, settings)
    with bar("lips", "clips") as progress:
        corpus = make_lips_corpus(options, out, progress, workers=workers)
    return count(len(corpus.videos), "clip")


def _fill(kind: type[T], values: dict[str, Any], settings: Iterable[str]) -> T:
    """The options of one kind, of the command's own options and of `--set`."""
    from signspot.training.configuration import fill, override

    for text in settings:
        override(values, text)
    return fill(kind, values, "the options")


def read_size(text: str | None) -> list[int] | None:
    """A width and a height from a text such as `320x240`."""
    from signspot.errors import OptionsError

    if text is None:
        return None
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise OptionsError(f"a size is a width and a height, such as 320x240; got '{text}'")
    return [int(width), int(height)]


@app.command("show")
def show(
    word: Annotated[str, typer.Argument(help="A word of the synthetic language.")],
    out: Annotated[Path, typer.Option(help="File of the page (.html).")] = Path("synthetic-show.html"),
    seed: Annotated[int, typer.Option(help="Seed of the language.")] = 7,
) -> None:
    """Show a word's signs, and sentences with glosses and subtitles, on a page with videos.

    Example: signspot synthetic show apple --out apple.html
    """
    from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan
    from signspot_synthetic.show import write_show_page

    with open_outputs() as outputs:
        page = outputs.claim(out, (".html",))
        with bar("page", "frames") as progress:
            write_show_page(CorpusPlan(CorpusOptions(seed=seed)), word, page, progress=progress)
    print_line(str(page))
