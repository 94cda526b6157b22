"""`signspot evaluate recogniser`: what recognisers reach on test videos, beside one that learns nothing."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, log, print_line, print_table


def recogniser(
    corpus: Annotated[Path, typer.Argument(help="A corpus with test videos, and truth or labels of them.")],
    weights: Annotated[list[Path], typer.Argument(help="Recognisers that `train` or `learn` made.")],
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Encoder whose nearest exemplar is asked, too; may be repeated. [default: warping]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Name the signs of test videos: top 1 and top 5, over signs and over words, beside the nearest exemplar.

    Example: signspot evaluate recogniser corpus/ runs/recogniser/recogniser.safetensors
    """
    import json
    from dataclasses import asdict

    from signspot.corpus.corpus import open_corpus
    from signspot.evaluation.recognition import evaluate_recognisers
    from signspot.recognition.recogniser import load_recogniser
    from signspot.spotting.spotter import load

    named = [(path.stem, load_recogniser(path)) for path in weights]
    with bar("classifiers") as progress:
        found = evaluate_recognisers(
            named, open_corpus(corpus), [load(name) for name in beside or ["warping"]], progress
        )
    if as_json:
        for each in found:
            plain = {key: value for key, value in asdict(each.scores).items() if key != "ranks"}
            print_line(json.dumps({"classifier": each.classifier, "learnt": each.learnt, **plain}))
        return
    print_table(
        ("classifier", "tested on", "signs", "words", "top 1", "top 5", "per word, top 1", "per word, top 5"),
        (
            (
                *(each.classifier, each.scores.tested, f"{each.scores.clips:,}", str(each.scores.words)),
                *(f"{share:.3f}" for share in each.scores.instance),
                *(str(each.scores.interval), f"{each.scores.classes[1]:.3f}"),
            )
            for each in found
        ),
    )
    for name, learnt in {each.classifier: each.learnt for each in found}.items():
        log(f"{name} learnt from {learnt}")
