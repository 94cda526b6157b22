"""`signspot embed`: make the track of a video, to be searched again and again."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, load_spotter, open_outputs, print_line
from signspot.cli.options import EncoderName, Workers


def embed(
    video: Annotated[Path, typer.Argument(help="A video or a .pose file.")],
    out: Annotated[Path | None, typer.Option(help="The track. [default: the video's name + .safetensors]")] = None,
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    encoder: EncoderName = None,
    workers: Workers = None,
) -> None:
    """Make the track of a video: its embeddings, which `signspot spot` takes in place of the video.

    Example: signspot embed news.mp4 --out news.safetensors
    """
    from signspot.embedding.tracks import SUFFIX, write_track

    outputs = open_outputs(video, encoder)
    target = outputs.claim(out or Path(video.name).with_suffix(SUFFIX), (SUFFIX,))
    spotter = load_spotter(encoder, workers)
    with bar("video", "frames") as progress:
        track = spotter.embed(video, stride, progress)
    with outputs:
        write_track(track, target)
    duration = track.grid.frames / track.grid.fps
    print_line(f"{target}: {len(track)} windows of {duration:.1f} s, encoder {spotter.encoder.name} ({track.encoder})")
