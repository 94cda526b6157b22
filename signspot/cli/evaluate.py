"""`signspot evaluate`: measure an encoder, beside baselines that learn nothing."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, log, open_outputs, print_line, print_table
from signspot.cli.options import Json, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from signspot.evaluation.labelled_corpus import CorpusScores
    from signspot.evaluation.streams import StreamMaterial, StreamOptions
    from signspot.metrics.bootstrap import Interval

_SILENT_QUESTIONS = 4000  # words that are looked for where nobody mouths


def mouthing(
    folder: Annotated[
        Path, typer.Argument(help="Corpus of known mouthings, as made by signspot synthetic make --kind lips.")
    ],
    model: Annotated[
        list[str] | None, typer.Option(help="Name or file of the mouthing spotter; repeatable. [default: all shipped]")
    ] = None,
    silent: Annotated[
        list[Path] | None,
        typer.Option(help="Isolated signs by people who mouth no English, to count false alarms; repeatable."),
    ] = None,
    questions: Annotated[int, typer.Option(min=2, help="Number of words to look for in each clip.")] = 12,
    seed: Annotated[int, typer.Option(help="Random seed of the words.")] = 1000,
    out: Annotated[Path | None, typer.Option(help="Write the tables (.md), and the plot (.png) beside them.")] = None,
) -> None:
    """Look for words on the lips: precision, recall, false alarms, time error, reliability.

    Uses the videos of the split "test", or all where there is none. A spotter without learning is measured, too.

    Example: signspot evaluate mouthing lips/ --silent lsa64/ --out mouthing.md
    """
    from signspot.corpus.corpus import open_corpus
    from signspot.corpus.isolated import read_isolated
    from signspot.evaluation.mouthing import as_text, lips_of, measure_mouthing, write_report
    from signspot.mouthing.network import load_mouthing, shipped
    from signspot.mouthing.trials import read_lip_clips

    with open_outputs(*(model or ()), *(silent or ()), folder) as outputs:
        if out is not None:
            outputs.claim(out, (".md",))
            outputs.claim(out.with_suffix(".png"))
        corpus, models = open_corpus(folder), [load_mouthing(name) for name in model or shipped()]
        clips = read_lip_clips(corpus, "test" if corpus.in_split("test") else None)
        faces = {path.name: lips_of([clip.landmarks for clip in read_isolated(path)]) for path in silent or ()}
        with bar("mouthing", "rows") as progress:
            report = measure_mouthing(
                *(models, clips, faces),
                questions=questions,
                silent_questions=_SILENT_QUESTIONS,
                seed=seed,
                progress=progress,
            )
        if out is not None:
            write_report(report, out)
            log(f"written: {out}, {out.with_suffix('.png')}")
    print_line(as_text(report).rstrip())


class Tested(StrEnum):
    """Words that are looked up."""

    TEST = "test"
    ALL = "all"


app = typer.Typer(
    help="Measure encoders, recognisers and mouthing spotters.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def evaluate() -> None:
    """Measure encoders, recognisers and mouthing spotters."""


app.command("mouthing")(mouthing)


@app.command("one-shot")
def one_shot_verb(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...", help="Isolated signs: imported LSA64 or WLASL, WORD/SIGNER.mp4 or .pose, or a table."
        ),
    ],
    encoder: Annotated[
        list[str] | None, typer.Option(help="Name or file of an encoder; repeatable. [default: all shipped]")
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Maximum number of clips to look up.")] = 1000,
    as_json: Json = False,
) -> None:
    """Look up isolated signs among one exemplar per word by other signers: R@1, R@5, R@10, MRR, median rank.

    Example: signspot evaluate one-shot wlasl/ --encoder landmark --encoder warping
    """
    import json
    from dataclasses import asdict

    from signspot.corpus.isolated import read_isolated
    from signspot.evaluation.one_shot import OneShotScores, one_shot
    from signspot.models.encoder import shipped
    from signspot.spotting.spot_options import SpotOptions
    from signspot.spotting.spotter import load

    open_outputs(*folders)  # they are there
    rows = list[tuple[str, OneShotScores]]()
    for folder in folders:
        with bar("landmarks", "frames") as progress:
            clips = read_isolated(folder, progress)
        for name in encoder or shipped():
            spotter = load(name, device=settings().device)
            with bar(f"{folder.name}, {name}", "clips") as progress:
                ranks = one_shot(spotter, clips, queries=queries, progress=progress)
            scores = ranks.scores(spotter, SpotOptions())
            rows.append((str(folder), scores))
            if as_json:
                print_line(json.dumps({"place": str(folder), **asdict(scores)}))
    if not as_json:
        print_table(
            ("signs", "encoder", "words", "queries", "R@1", "R@5", "R@10", "MRR", "median rank"),
            (
                (
                    *(folder, f"{s.encoder} ({s.hash[:8]})", str(s.words), str(s.queries), str(s.recall_1)),
                    *(str(s.recall_5), str(s.recall_10), str(s.mean_reciprocal_rank), f"{s.median_rank:g}"),
                )
                for folder, s in rows
            ),
        )


@app.command("streams")
def streams_verb(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER...", help="Isolated signs, as for one-shot, or a synthetic corpus."),
    ],
    filmed: Annotated[bool, typer.Option("--filmed", help="For a corpus: estimate landmarks from its videos.")] = False,
    encoder: Annotated[
        list[str] | None, typer.Option(help="Name or file of an encoder; repeatable. [default: all shipped]")
    ] = None,
    words: Annotated[int, typer.Option(min=1, help="Maximum number of words to look for.")] = 40,
    seed: Annotated[int, typer.Option(help="Random seed of words, exemplars and streams.")] = 0,
    as_json: Json = False,
) -> None:
    """Spot words in streams of real signs, with 1, 3 and 5 exemplars by other signers, and count false alarms.

    Example: signspot evaluate streams wlasl/ lsa64/ --encoder landmark --encoder warping
    """
    import json
    from dataclasses import asdict

    from signspot.evaluation.streams import RATES, StreamOptions, StreamScores, measure_streams
    from signspot.models.encoder import shipped
    from signspot.spotting.spotter import load

    open_outputs(*folders)  # they are there
    drawn, rows = StreamOptions(words=words, seed=seed), list[tuple[str, StreamScores]]()
    for material in _materials(folders, drawn, filmed=filmed):
        for name in encoder or shipped():
            spotter = load(name, device=settings().device)
            with bar(f"{material.name}, {name}", "searches") as progress:
                measured = measure_streams(spotter, material, progress=progress)
            rows += [(material.name, scores) for scores in measured]
            if as_json:
                for scores in measured:
                    print_line(json.dumps({"place": material.name, **asdict(scores)}))
    if not as_json:
        rates = [f"promised {rate:g}" for rate in RATES]
        print_table(
            ("streams", "encoder", "exemplars", "mAP", "localisation", "boundary", "precision", "recall", *rates),
            (
                (
                    *(name, s.encoder, str(s.exemplars), f"{s.mean_average_precision:.3f}", f"{s.localisation:.3f}"),
                    *(f"{s.boundary:.1f}", f"{s.precision:.3f}", f"{s.recall:.3f}"),
                    *(f"{alarms.counted:.1f}" for alarms in s.alarms),
                    *("" for _ in RATES if not s.alarms),
                )
                for name, s in rows
            ),
        )


def _materials(folders: "Sequence[Path]", drawn: "StreamOptions", *, filmed: bool) -> "Iterator[StreamMaterial]":
    """Streams and exemplars of every folder."""
    from signspot.corpus.corpus import open_corpus
    from signspot.corpus.isolated import read_isolated
    from signspot.evaluation.streams import material_of_clips, material_of_corpus
    from signspot.io.files import cache_folder

    for folder in folders:
        with bar(folder.name, "steps") as progress:
            if (folder / "corpus.json").is_file():
                yield material_of_corpus(open_corpus(folder), filmed=filmed, cache=cache_folder(), progress=progress)
            else:
                yield material_of_clips(folder.name, read_isolated(folder, progress), drawn)


@app.command("corpus")
def corpus(
    folder: Annotated[Path, typer.Argument(help="A synthetic corpus, or footage in the same layout.")],
    encoder: Annotated[
        list[str] | None,
        typer.Option(help="Name or file of an encoder; repeatable. [default: landmark; beside recognisers, warping]"),
    ] = None,
    recogniser: Annotated[
        list[Path] | None,
        typer.Option(help="Weights of a recogniser, which names the signs of the test videos; repeatable."),
    ] = None,
    words: Annotated[
        Tested, typer.Option(help="For a corpus with splits: its test words, or all words.")
    ] = Tested.TEST,
    threshold: Annotated[
        float | None, typer.Option(help="Minimum score, from 0 to 1. [default: the encoder's]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure encoders, or recognisers, on the test videos of a corpus.

    Encoders look words up, localise and spot them: mAP, R@5, localisation, precision, recall, false alarms.
    Recognisers name signs: top 1 and top 5, over signs and over words, beside the nearest exemplar by an encoder.

    Example: signspot evaluate corpus corpus/ --encoder runs/embedding/embedding.safetensors
    """
    import json

    from signspot.corpus.corpus import open_corpus
    from signspot.errors import OptionsError
    from signspot.evaluation.labelled_corpus import evaluate_corpus, part_to_test
    from signspot.spotting.spot_options import SpotOptions
    from signspot.spotting.spotter import load

    if recogniser:
        if threshold is not None or words is not Tested.TEST:
            raise OptionsError("--words and --threshold belong to encoders. Leave them out with --recogniser")
        _measure_recognisers(folder, recogniser, encoder or ["warping"], as_json=as_json)
        return
    options = SpotOptions(threshold=threshold)
    part, looked_up = part_to_test(open_corpus(folder), words.value)
    for name in encoder or (None,):
        spotter = load(name, device=settings().device)
        with bar("videos") as progress:
            scores = evaluate_corpus(spotter, part, looked_up, options, progress)
        if as_json:
            print_line(json.dumps(scores.as_dict()))
        else:
            print_scores(scores)


def _measure_recognisers(folder: Path, weights: "Sequence[Path]", encoders: "Sequence[str]", *, as_json: bool) -> None:
    """Name the signs of test videos by recognisers, and by the nearest exemplar of encoders."""
    import json
    from dataclasses import asdict

    from signspot.corpus.corpus import open_corpus
    from signspot.evaluation.recognition import evaluate_recognisers
    from signspot.recognition.recogniser import load_recogniser
    from signspot.spotting.spotter import load

    recognisers = [(path.stem, load_recogniser(path)) for path in weights]
    with bar("classifiers") as progress:
        measured = evaluate_recognisers(recognisers, open_corpus(folder), [load(name) for name in encoders], progress)
    if as_json:
        for row in measured:
            plain = {key: value for key, value in asdict(row.scores).items() if key != "ranks"}
            print_line(json.dumps({"classifier": row.classifier, "learnt": row.learnt, **plain}))
        return
    print_table(
        ("classifier", "tested on", "signs", "words", "top 1", "top 5", "per word, top 1", "per word, top 5"),
        (
            (
                *(row.classifier, row.scores.tested, f"{row.scores.clips:,}", str(row.scores.words)),
                *(f"{share:.3f}" for share in row.scores.instance),
                *(str(row.scores.interval), f"{row.scores.classes[1]:.3f}"),
            )
            for row in measured
        ),
    )
    for name, learnt in {row.classifier: row.learnt for row in measured}.items():
        log(f"{name} learnt from {learnt}")


def with_interval(value: "Interval") -> str:
    """A number, and its interval where there is one."""
    return str(value) if value.low == value.low else f"{value.value:.3f}"


def print_scores(scores: "CorpusScores") -> None:
    """A table of all that was measured, for people."""
    log(
        f"{scores.encoder} ({scores.hash}): {scores.videos} videos, {scores.hours:.2f} h, {scores.words} words, "
        f"{scores.exemplars} exemplars; 95 % intervals"
    )
    rows = [
        ("retrieval mAP", with_interval(scores.mean_average_precision), f"{scores.queries} queries"),
        ("retrieval R@5", with_interval(scores.recall_5), ""),
        ("localisation, word known", with_interval(scores.localisation), ""),
    ]
    spotted = scores.spotting
    if spotted is None:
        log("only labels are known, not every sign: spotting is not measured")
    else:
        rows += [
            ("spotting mAP", with_interval(spotted.mean_average_precision), f"{spotted.signs} signs"),
            ("precision", with_interval(spotted.precision), f"at threshold {spotted.threshold:.3f}"),
            ("recall", with_interval(spotted.recall), f"{spotted.found} found"),
            ("false alarms per hour and word", with_interval(spotted.false_alarms_per_hour), ""),
            ("IoU of spans", with_interval(spotted.iou), ""),
        ]
    print_table(("measure", "value", ""), rows)
