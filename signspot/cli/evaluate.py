"""`signspot evaluate`: measure an encoder, beside baselines that learn nothing."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, note, print_table, say
from signspot.cli.evaluate_annotation import annotation
from signspot.cli.evaluate_lsa64 import lsa64

if TYPE_CHECKING:
    from signspot.experiments.corpus_evaluation import CorpusScores
    from signspot.metrics.bootstrap import Interval


class Tested(StrEnum):
    """Which words are looked up."""

    TEST = "test"
    ALL = "all"


app = typer.Typer(help="Measure an encoder.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def evaluate() -> None:
    """Measure an encoder."""


app.command("annotation")(annotation)
app.command("lsa64")(lsa64)


@app.command("corpus")
def corpus(
    folder: Annotated[Path, typer.Argument(help="A corpus: of the world, or of real footage in the same layout.")],
    encoder: Annotated[str | None, typer.Option(help="Name or file of an encoder. [default: the shipped one]")] = None,
    words: Annotated[Tested, typer.Option(help="Of a corpus with splits: its test words, or all words.")] = Tested.TEST,
    features: Annotated[
        Path | None, typer.Option(help="Folder of kept trunk features. [default: in the cache folder]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look up words in test videos, localise and spot them: mAP, R@5, localisation, precision, recall, false alarms.

    Example: signspot evaluate corpus world/ --encoder runs/embedding/embedding.safetensors
    """
    import json

    from signspot.experiments.corpus_evaluation import evaluate_corpus, part_to_test
    from signspot.files import cache_folder
    from signspot.models.checkpoints import load_encoder
    from signspot.training.trunk_features import trunk_features
    from signspot.world.layout import open_corpus

    chosen = load_encoder(encoder)
    part, looked_up = part_to_test(open_corpus(folder), words.value)
    with bar("trunk features", "videos") as progress:
        seen = trunk_features(chosen, part, features or cache_folder() / "features", progress)
    with bar("videos") as progress:
        scores = evaluate_corpus(chosen, part, looked_up, seen, progress)
    if as_json:
        say(json.dumps(scores.as_dict()))
    else:
        print_scores(scores)


def shown(value: "Interval") -> str:
    """A number, and its interval where there is one."""
    return str(value) if value.low == value.low else f"{value.value:.3f}"


def print_scores(scores: "CorpusScores") -> None:
    """A table of all that was measured, for people."""
    note(
        f"{scores.encoder} ({scores.hash}): {scores.videos} videos, {scores.hours:.2f} h, {scores.words} words, "
        f"{scores.exemplars} exemplars; 95 % intervals"
    )
    rows = [
        ("retrieval mAP", shown(scores.mean_average_precision), f"{scores.queries} queries"),
        ("retrieval R@5", shown(scores.recall_5), ""),
        ("localisation, word known", shown(scores.localisation), ""),
    ]
    spotted = scores.spotting
    if spotted is None:
        note("only labels are known, not every sign: spotting is not measured")
    else:
        rows += [
            ("spotting mAP", shown(spotted.mean_average_precision), f"{spotted.signs} signs"),
            ("precision", shown(spotted.precision), f"at threshold {spotted.threshold:.3f}"),
            ("recall", shown(spotted.recall), f"{spotted.found} found"),
            ("false alarms an hour and word", shown(spotted.false_alarms_per_hour), ""),
            ("IoU of spans", shown(spotted.iou), ""),
        ]
    print_table(("measure", "value", ""), rows)
