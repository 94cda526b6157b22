"""`signspot evaluate lsa64`: how well an encoder knows real signing."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, note, print_table


def lsa64(
    folder: Annotated[Path, typer.Argument(help="Landmarks of LSA64: signer_01.npz, signer_02.npz, …")],
    encoder: Annotated[str | None, typer.Option(help="Name or file of an encoder. [default: the shipped one]")] = None,
    beside: Annotated[list[str] | None, typer.Option(help="Another encoder, measured too; may be repeated.")] = None,
    classifier: Annotated[
        Path | None, typer.Option(help="Measure a classifier's features, too; it is trained in this folder.")
    ] = None,
    tested: Annotated[int, typer.Option(help="The signer who is looked up and spotted.")] = 9,
    lender: Annotated[int, typer.Option(help="The signer of the exemplars for spotting.")] = 8,
    every_signer: Annotated[bool, typer.Option(help="Look every signer up in turn, in one more table.")] = False,
    seed: Annotated[int, typer.Option(help="Of the pseudo-continuous streams.")] = 0,
) -> None:
    """One-shot retrieval and spotting of real signs, on words seen and unseen in training.

    Example: signspot evaluate lsa64 lsa64/ --encoder landmark --every-signer
    """
    from signspot.experiments.lsa64 import Sign, load_signs, one_shot
    from signspot.experiments.lsa64_classifier import classifier as train_classifier
    from signspot.experiments.lsa64_streams import spot_streams
    from signspot.models.checkpoints import load_encoder

    encoders = [load_encoder(name) for name in (encoder, *(beside or ()))]
    if classifier is not None:
        with bar("classifier", "steps") as progress:
            encoders.append(train_classifier(folder, classifier, progress=progress))
    signs = load_signs(folder)

    def retrieval(queries: list[int], among: list[Sign]) -> None:
        print_table(
            ("method", "words", "R@1", "R@5", "mAP", "queries"),
            (
                (r.method, r.words, str(r.recall_1), str(r.recall_5), f"{r.mean_average_precision:.3f}", str(r.queries))
                for r in one_shot(encoders, among, queries)
            ),
        )

    note(f"one-shot retrieval: signer {tested} among {len({s.word for s in signs})} words, one exemplar a word")
    retrieval([tested], signs)
    if every_signer:
        note("one-shot retrieval: every signer in turn; those of the training have signed the seen words there")
        retrieval(sorted({sign.signer for sign in signs}), signs)
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
            for s in spot_streams(encoders, signs, tested, lender, seed)
        ),
    )
