"""`signspot synthetic`: make synthetic corpora, and look at them."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, open_outputs, print_line

if TYPE_CHECKING:
    from signspot_synthetic.difficulty_knobs import Knobs

app = typer.Typer(help="Seeded synthetic signing with exact truth.", no_args_is_help=True, rich_markup_mode=None)


@app.command("make")
def make(
    out: Annotated[Path, typer.Argument(help="A new folder, or one that an earlier run has begun.")],
    words: Annotated[int, typer.Option(help="Words of the dictionary.")] = 1064,
    hours: Annotated[float, typer.Option(help="Hours of continuous signing.")] = 2.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same corpus.")] = 7,
    video_seconds: Annotated[float, typer.Option(help="About how long a video is; each has its signer.")] = 180.0,
    signers: Annotated[int, typer.Option(help="People in the training videos.")] = 16,
    test_signers: Annotated[int, typer.Option(help="Other people, in the test videos.")] = 4,
    exemplars: Annotated[float, typer.Option(help="Exemplars of a word, on average.")] = 3.0,
    variants: Annotated[int, typer.Option(help="Signs of a word, at most: 1 to 4.")] = 4,
    knob: Annotated[list[str] | None, typer.Option(help="A difficulty, such as noise=0; repeatable.")] = None,
    render: Annotated[bool, typer.Option("--render", help="Render it, too: .mp4 beside the landmarks.")] = False,
    size: Annotated[str, typer.Option(help="Width and height of the picture, in pixels.")] = "320x240",
    workers: Annotated[int, typer.Option(help="Processes that work at once.")] = 1,
) -> None:
    """Make a corpus: a dictionary, continuous videos, subtitles, mouthing labels, exact truth and splits.

    Example: signspot synthetic make corpus/ --words 1064 --hours 2 --seed 7 --workers 2
    """
    from signspot_synthetic.corpus_plan import CorpusOptions
    from signspot_synthetic.corpus_writer import make_corpus

    options = CorpusOptions(
        words=words,
        hours=hours,
        seed=seed,
        render=render,
        size=read_size(size),
        video_seconds=video_seconds,
        train_signers=signers,
        test_signers=test_signers,
        exemplars=exemplars,
        variants=variants,
        knobs=read_knobs(knob or []),
    )
    with bar("corpus", "parts") as progress:
        corpus = make_corpus(options, out, progress, workers=workers)
    print_line(
        f"{out}: {len(corpus.videos)} videos, {len(corpus.dictionary())} words, {len(corpus.labels())} mouthing labels"
    )


@app.command("signs")
def make_signs(
    out: Annotated[Path, typer.Argument(help="A new folder, or one that an earlier run has begun.")],
    signs: Annotated[int, typer.Option(help="Different signs.")] = 3000,
    isolated: Annotated[int, typer.Option(help="Performances of each by itself, each by another signer.")] = 4,
    continuous: Annotated[int, typer.Option(help="Performances of each in a sentence.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same signs.")] = 7,
    workers: Annotated[int, typer.Option(help="Processes that work at once.")] = 1,
) -> None:
    """Make isolated signs, as landmarks: a source for the training of frame codes.

    Example: signspot synthetic signs synthetic-signs/ --workers 2
    """
    from signspot_synthetic.isolated_signs import IsolatedSignsOptions, write_isolated_signs

    options = IsolatedSignsOptions(signs, isolated, continuous, seed=seed)
    with bar("signs", "signs") as progress:
        files = write_isolated_signs(options, out, progress, workers)
    print_line(f"{out}: {signs * (isolated + continuous):,} clips of {signs:,} signs in {files} files")


def read_size(text: str) -> tuple[int, int]:
    """A width and a height from a text such as `320x240`."""
    from signspot.errors import OptionsError

    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise OptionsError(f"a size is a width and a height, such as 320x240; got '{text}'")
    return int(width), int(height)


def read_knobs(texts: list[str]) -> "Knobs":
    """Knobs from texts such as `noise=0.5`."""
    from difflib import get_close_matches

    from signspot.errors import OptionsError
    from signspot_synthetic.difficulty_knobs import Knobs

    values: dict[str, float] = {}
    names = [field.name for field in fields(Knobs)]
    for text in texts:
        name, _, value = text.partition("=")
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(names)}."
            raise OptionsError(f"no knob '{name}'.{hint}")
        try:
            values[name] = float(value)
        except ValueError as error:
            raise OptionsError(f"a knob is set by a number, such as {name}=0.5; got '{text}'") from error
    return Knobs(**values)


@app.command("lips")
def lips(
    out: Annotated[Path, typer.Argument(help="A new folder, or one that an earlier run has begun.")],
    train: Annotated[int, typer.Option(help="Clips to train on.")] = 160,
    validation: Annotated[int, typer.Option(help="Clips of other people and words, to calibrate by.")] = 30,
    test: Annotated[int, typer.Option(help="Clips of yet others, with words that are never trained on.")] = 60,
    seconds: Annotated[float, typer.Option(help="Of each clip.")] = 24.0,
    signers: Annotated[int, typer.Option(help="People in the training clips.")] = 80,
    mouthing: Annotated[float, typer.Option(help="Share of the signs that are mouthed; 0: nobody mouths.")] = 0.55,
    seed: Annotated[int, typer.Option(help="The same seed gives the same corpus.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that work at once.")] = 1,
) -> None:
    """Make a corpus of lips that mouth any English words: landmarks, every mouthed word, splits.

    Mouthing spotters are trained and measured on it. A clip of 24 s takes 1.7 MB.

    Example: signspot synthetic lips lips/ --train 2000 --signers 1000 --workers 2
    """
    from signspot_synthetic.lips_corpus import LipsOptions, make_lips_corpus

    options = LipsOptions(train, validation, test, seconds, signers, mouthing, seed=seed)
    with bar("lips", "clips") as progress:
        corpus = make_lips_corpus(options, out, progress, workers=workers)
    print_line(f"{out}: {len(corpus.videos)} clips")


@app.command("show")
def show(
    word: Annotated[str, typer.Argument(help="A word of the synthetic language.")],
    out: Annotated[Path, typer.Option(help="Folder for the images.")] = Path("synthetic-show"),
    seed: Annotated[int, typer.Option(help="Seed of the language.")] = 7,
) -> None:
    """Show a word's signs: a contact sheet, a short video, and a page of sentences with glosses and subtitles.

    Example: signspot synthetic show apple --out apple/
    """
    from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan
    from signspot_synthetic.show import contact_sheet, sign_video
    from signspot_synthetic.show import page as write_page

    corpus = CorpusPlan(CorpusOptions(seed=seed))
    with open_outputs() as outputs:
        sheet, video, page = (outputs.claim(out / name) for name in (f"{word}.png", f"{word}.mp4", "sentences.html"))
        contact_sheet(corpus.lexicon, word, sheet, seed=seed)
        with bar("video", "frames") as progress:
            sign_video(corpus.lexicon, word, video, seed=seed, progress=progress)
        with bar("page", "frames") as progress:
            write_page(corpus, page, progress=progress)
    for path in (sheet, video, page):
        print_line(str(path))
