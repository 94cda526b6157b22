"""`signspot evaluate`: measure an encoder, beside baselines that learn nothing."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import note, print_table
from signspot.cli.evaluate_annotation import annotation

app = typer.Typer(help="Measure an encoder.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def evaluate() -> None:
    """Measure an encoder."""


app.command("annotation")(annotation)


@app.command("lsa64")
def lsa64(
    folder: Annotated[Path, typer.Argument(help="Landmarks of LSA64: signer_01.npz, signer_02.npz, …")],
    encoder: Annotated[str | None, typer.Option(help="Name or file of an encoder. [default: the shipped one]")] = None,
    tested: Annotated[int, typer.Option(help="The signer who is looked up and spotted.")] = 9,
    lender: Annotated[int, typer.Option(help="The signer of the exemplars for spotting.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the pseudo-continuous streams.")] = 0,
) -> None:
    """One-shot retrieval and spotting of real signs, on words seen and unseen in training.

    Example: signspot evaluate lsa64 lsa64/ --encoder landmark
    """
    from signspot.experiments.lsa64 import load_signs, one_shot, spot_streams
    from signspot.models.checkpoints import load_encoder

    chosen = load_encoder(encoder)
    signs = load_signs(folder)
    note(f"one-shot retrieval: signer {tested} among {len({s.word for s in signs})} words, one exemplar a word")
    print_table(
        ("method", "words", "R@1", "R@5", "mAP", "queries"),
        (
            (r.method, r.words, str(r.recall_1), str(r.recall_5), f"{r.mean_average_precision:.3f}", str(r.queries))
            for r in one_shot(chosen, signs, [tested])
        ),
    )
    note(f"spotting in pseudo-continuous streams of signer {tested}, exemplars by signer {lender}")
    print_table(
        ("method", "words", "mAP", "localisation", "precision", "recall", "false alarms/h/word", "signs"),
        (
            (
                s.method,
                s.words,
                f"{s.mean_average_precision:.3f}",
                f"{s.localisation:.3f}",
                f"{s.precision:.3f}",
                f"{s.recall:.3f}",
                f"{s.false_alarms_an_hour:.2f}",
                str(s.signs),
            )
            for s in spot_streams(chosen, signs, tested, lender, seed)
        ),
    )
