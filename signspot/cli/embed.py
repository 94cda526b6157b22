"""`signspot embed`: make tracks of a video, a corpus or published features, to be searched again and again."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, count, load_spotter, log, open_outputs, print_line
from signspot.cli.options import EncoderName, Workers

if TYPE_CHECKING:
    from signspot.applications.archive import Shard
    from signspot.spotting.spotter import Spotter

_INCOMPLETE = 3  # the exit code where some videos could not be embedded


def embed(
    source: Annotated[
        Path, typer.Argument(help="A video, a .pose file, a folder of them, or features (.npy, .mat, .lmdb).")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The track, or a folder of tracks. [default: the source's name + .safetensors]")
    ] = None,
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    shard: Annotated[str, typer.Option(help="Of a folder: the part I/N of its videos, for one of N jobs.")] = "1/1",
    encoder: EncoderName = None,
    workers: Workers = None,
) -> None:
    """Make the track of a video: its embeddings, which `signspot spot` takes in place of the video.

    Of a folder, a track of each video is written into the folder --out, which `signspot search` takes. Tracks that
    are there are left alone, so the same command goes on where it was stopped. Of features that others have made,
    --encoder names the checkpoint that made them, and --stride the frames between two of them.

    Example: signspot embed footage/ --out archive/ --shard 1/8
    """
    from signspot.applications.archive import Shard
    from signspot.embedding.published_features import SUFFIXES
    from signspot.embedding.tracks import SUFFIX, write_track

    part = Shard.parse(shard)
    is_published = source.suffix in SUFFIXES or (source / "data.mdb").is_file()
    if source.is_dir() and not is_published:
        _embed_folder(source, out or Path(f"{source.name}-tracks"), stride, part, load_spotter(encoder, workers))
        return
    if is_published:
        _import_features(source, out or Path(f"{source.stem}-tracks"), stride, encoder)
        return
    outputs = open_outputs(source, encoder)
    name = Path(source.name).with_suffix(SUFFIX)
    target = outputs.claim(out / name if out and out.is_dir() else out or name, (SUFFIX,))
    spotter = load_spotter(encoder, workers)
    with bar("video", "frames") as progress:
        track = spotter.embed(source, stride, progress)
    with outputs:
        write_track(track, target)
    duration = track.grid.frames / track.grid.fps
    print_line(f"{target}: {len(track)} windows of {duration:.1f} s, encoder {spotter.encoder.name} ({track.encoder})")


def _embed_folder(source: Path, out: Path, stride: int, shard: "Shard", spotter: "Spotter") -> None:
    """Embed the videos of a folder, and print the rate."""
    from signspot.applications.archive import embed_corpus
    from signspot.corpus.corpus import open_corpus

    corpus = open_corpus(source)
    is_rgb = spotter.encoder.contract.kind == "rgb"
    media = {name: video.video if is_rgb else video.landmarks or video.video for name, video in corpus.videos.items()}
    usable = {name: path for name in shard.of(media) if (path := media[name]) is not None}
    began = time.monotonic()
    with bar("videos") as progress:
        report = embed_corpus(spotter, usable, out, stride, progress)
    took = time.monotonic() - began
    print_line(
        f"{out}: {count(report.made, 'track')} made, {report.there} there already; {report.seconds / 3600:.2f} h of "
        f"footage in {took:.0f} s, {report.seconds / max(took, 1e-9):.1f} times as fast as it plays"
    )
    for name, reason in report.failed.items():
        log(f"failed: {name}: {reason}")
    if report.failed:
        raise typer.Exit(_INCOMPLETE)


def _import_features(source: Path, out: Path, stride: int, encoder: str | None) -> None:
    """Make tracks of features that others have made."""
    from signspot.embedding.published_features import as_track, read_published
    from signspot.embedding.tracks import SUFFIX, write_track
    from signspot.errors import OptionsError
    from signspot.models.checkpoints import load_encoder

    if encoder is None:
        raise OptionsError("--encoder names the checkpoint that made the features: it is needed to compare them")
    loaded = load_encoder(encoder)
    with open_outputs(source, encoder) as outputs:
        for name, features in read_published(source):
            target = outputs.claim(out / f"{name}{SUFFIX}")
            write_track(as_track(name, features, loaded, stride), target)
            window = f"windows of {loaded.contract.frames} frames, stride {stride}"
            print_line(f"{target}: {len(features)} {window}, encoder {loaded.name} ({loaded.hash})")
