"""`signspot adapt`: the user's own subtitled footage adapts an encoder, if a held-out part of it shows a gain."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from signspot.cli.console import bar, count, duration, log, open_outputs, print_line, print_table
from signspot.cli.options import EncoderName, Json, settings
from signspot.cli.train import command, resume_hint

if TYPE_CHECKING:
    from signspot.training.adaptation import AdaptationResult
    from signspot.training.adaptation_data import Gain


def adapt(
    corpus: Annotated[
        Path, typer.Argument(help="Folder of videos or .pose files with subtitles beside them; labels help.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the new encoder (NAME/NAME.safetensors); an interrupted run resumes there.")
    ],
    dictionary: Annotated[
        Path | None, typer.Option(help="Dictionary with words of the subtitles. [default: the corpus's own]")
    ] = None,
    encoder: EncoderName = None,
    steps: Annotated[int, typer.Option(help="Number of training steps.")] = 150,
    bags: Annotated[
        Literal["appendix", "section", "figure", "released"],
        typer.Option(help="Variant of the paper's loss; see the page on losses."),
    ] = "released",
    embeddings: Annotated[
        bool,
        typer.Option("--embeddings", help="Also adapt embeddings, for --match embedding; unseen words may get worse."),
    ] = False,
    language: Annotated[str, typer.Option(help="Language of the subtitles and words.")] = "en",
    seed: Annotated[int, typer.Option(help="Random seed of batches and held-out parts.")] = 0,
    as_json: Json = False,
) -> None:
    """Adapt an encoder to your footage by its subtitles and a dictionary, and measure the gain by cross-validation.

    Test videos (splits.json, else a quarter) are not used. Each quarter of the other videos and of the words is held
    out in turn. Without a gain, no encoder is written. Ctrl-C saves the state, and the same command resumes.

    Example: signspot adapt footage/ --dictionary my-signs/ --out my-encoder
    """
    from signspot.corpus.corpus import open_corpus
    from signspot.dictionary.open_dictionary import open_dictionary
    from signspot.io.progress import quiet
    from signspot.models.checkpoints import save_encoder
    from signspot.spotting.spotter import load
    from signspot.training.adaptation import adapt as adapt_encoder
    from signspot.training.adaptation_data import AdaptOptions
    from signspot.training.distributed import join_group

    options = AdaptOptions(steps=steps, bags=bags, embeddings=embeddings, seed=seed)
    name = out.resolve().name
    target = out / f"{name}.safetensors"
    outputs = open_outputs(corpus, dictionary, encoder)
    outputs.claim(target)
    outputs.claim(target.with_suffix(".json"))
    footage = open_corpus(corpus, language)
    words = footage.dictionary() if dictionary is None else open_dictionary(dictionary)
    with join_group(settings().device) as group, resume_hint(out), outputs:
        spotter, stage = load(encoder, device=settings().device), bar if group.is_first else quiet
        result = adapt_encoder(spotter, footage, words, out, options, stage=stage, command=command())
        if result.encoder is not None and group.is_first:
            result = replace(result, encoder=save_encoder(result.encoder, target, half=True))
    if not group.is_first:
        return
    if as_json:
        print_line(json.dumps(_plain(result, target)))
    else:
        _show(result, target)


def _show(result: "AdaptationResult", target: Path) -> None:
    log(
        f"learned from {result.learned:,} subtitled segments, {count(result.words, 'word')} and "
        f"{count(result.labels, 'label')} of {result.hours:.2f} h in {duration(result.seconds)}; "
        f"measured on {result.held:,} of them, each while it was held out. "
        f"Training videos: {result.videos:,}; test videos, not used: {result.test_videos:,}"
    )
    rows = [
        (match, gain.measure, gain.group, str(gain.words), f"{gain.before:.3f}", f"{gain.after:.3f}", _signed(gain))
        for match, gains in result.gains.items()
        for gain in gains
    ]
    print_table(("match", "by", "on", "words", "before", "after", "difference, 95 % interval"), rows)
    if result.encoder is None:
        print_line(f"no gain on held-out footage: keep '{result.base.name}'")
        return
    adapted = [
        match for match, is_in in (("alignment", result.kept.codes), ("embedding", result.kept.embedding)) if is_in
    ]
    print_line(f"{target}: adapted for {' and '.join(adapted)}; threshold {result.encoder.contract.threshold:g}")
    log(f"use it with: signspot spot VIDEO WORD --dictionary my-signs/ --encoder {target}")


def _signed(gain: "Gain") -> str:
    difference = gain.difference
    return f"{difference.value:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"


def _plain(result: "AdaptationResult", target: Path) -> dict[str, object]:
    return {
        "encoder": str(target) if result.encoder is not None else None,
        "hash": result.encoder.hash if result.encoder is not None else None,
        "base": result.base.name,
        "gains": {match: [gain.as_dict() for gain in gains] for match, gains in result.gains.items()},
        "threshold": result.encoder.contract.threshold if result.encoder is not None else None,
        "learned": result.learned,
        "held": result.held,
        "words": result.words,
        "labels": result.labels,
        "videos": result.videos,
        "test_videos": result.test_videos,
        "hours": result.hours,
        "seconds": result.seconds,
    }
