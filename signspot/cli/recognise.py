"""`signspot recognise`: which of the words that a recogniser knows a clip shows."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import print_line, print_table
from signspot.cli.options import Json


def recognise(
    video: Annotated[Path, typer.Argument(help="A clip of one sign, or footage with --from and --to.")],
    recogniser: Annotated[Path, typer.Argument(help="Weights that `signspot train configs/recogniser.toml` made.")],
    start: Annotated[float | None, typer.Option("--from", help="Seconds: where the sign begins.")] = None,
    end: Annotated[float | None, typer.Option("--to", help="Seconds: where it ends.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many words, the likeliest first.")] = 5,
    json_lines: Json = False,
) -> None:
    """Say which word a clip, or a segment of footage, shows, among those that a recogniser was taught.

    Example: signspot recognise news.mp4 runs/recogniser/recogniser.safetensors --from 12.4 --to 13.2
    """
    from signspot.errors import OptionsError
    from signspot.io.files import cache_folder
    from signspot.recognition.recogniser import load_recogniser
    from signspot.types import Segment

    if (start is None) != (end is None):
        raise OptionsError("a segment of footage has a beginning and an end: give both --from and --to")
    segment = Segment(start, end) if start is not None and end is not None else None
    words = load_recogniser(recogniser).recognise(video, segment, top=top, cache=cache_folder() / "landmarks")
    if json_lines:
        for word in words:
            print_line(json.dumps(asdict(word), ensure_ascii=False))
        return
    rows = ((str(rank), word.word, f"{word.probability:.3f}") for rank, word in enumerate(words, 1))
    print_table(("rank", "word", "probability"), rows)
