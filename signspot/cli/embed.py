"""`signspot embed`: tracks of videos, a corpus or published features, or landmarks of videos, made once for all."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signspot.cli.console import bar, count, load_spotter, log, open_outputs, print_line
from signspot.cli.options import EncoderName, Workers, default_workers, settings

if TYPE_CHECKING:
    from signspot.applications.archive_search import Shard
    from signspot.spotting.spotter import Spotter

_INCOMPLETE = 3  # the exit code where some videos could not be embedded


def embed(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Video, .pose file, folder of them, or features (.npy, .mat, .lmdb); with --landmarks, several.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Track, or folder of tracks or landmarks. [default: the source's name + .safetensors]"),
    ] = None,
    landmarks: Annotated[
        bool, typer.Option("--landmarks", help="Save only the estimated landmarks (.pose), without an encoder.")
    ] = False,
    fps: Annotated[float, typer.Option(help="With --landmarks: frames per second.")] = 25.0,
    stride: Annotated[int, typer.Option(help="Frames between two windows.")] = 1,
    shard: Annotated[str, typer.Option(help="Process part I/N of a folder's videos, as one of N jobs.")] = "1/1",
    encoder: EncoderName = None,
    workers: Workers = None,
) -> None:
    """Make tracks of videos: `signspot spot` takes a track in place of its video, `search` a folder of tracks.

    Finished files are left alone, so the same command resumes. For features made by others, --encoder names the
    checkpoint that made them, and --stride the frames between two of them.

    Example: signspot embed footage/ --out archive/ --shard 1/8
    """
    from signspot.applications.archive_search import Shard
    from signspot.embedding.published_features import SUFFIXES
    from signspot.embedding.tracks import SUFFIX, write_track
    from signspot.errors import OptionsError

    part = Shard.parse(shard)
    if landmarks:
        if encoder is not None or stride != 1:
            raise OptionsError("--encoder and --stride belong to tracks. Leave them out with --landmarks")
        _save_landmarks(part, sources, out or Path(), fps, default_workers(workers))
        return
    if len(sources) > 1:
        raise OptionsError(
            f"tracks are made from one source at a time; got {len(sources)}. Name their folder, or use --landmarks"
        )
    (source,) = sources
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
    from signspot.applications.archive_search import embed_corpus
    from signspot.corpus.corpus import open_corpus

    corpus = open_corpus(source)
    is_rgb = spotter.encoder.contract.kind == "rgb"
    media = {name: video.video if is_rgb else video.landmarks or video.video for name, video in corpus.videos.items()}
    usable = {name: path for name in shard.of(media) if (path := media[name]) is not None}
    began = time.monotonic()
    with bar("videos") as progress:
        report = embed_corpus(spotter, usable, out, stride, progress)
    took = time.monotonic() - began
    rate = f"{report.seconds / max(took, 1e-9):.1f} times as fast as it plays"
    done = f"; {report.seconds / 3600:.2f} h of footage in {took:.0f} s, {rate}" if report.embedded else ""
    print_line(f"{out}: {count(report.embedded, 'track')} made, {report.there} there already{done}")
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


def _save_landmarks(shard: "Shard", sources: Sequence[Path], out: Path, fps: float, workers: int) -> None:
    """Save the landmarks of videos as .pose files; equal names of different folders are kept apart."""
    from signspot.errors import OptionsError, SignspotError
    from signspot.io.files import names_apart
    from signspot.landmarks.cache import default_cache
    from signspot.landmarks.pose_file import is_finished
    from signspot.landmarks.video_estimation import PoseJob, estimate_files

    if not 0 < fps <= 1000:
        raise OptionsError(f"frames per second must be above 0 and at most 1000; got {fps:g}")
    files = list(dict.fromkeys(video for path in sources for video in _videos(path)))
    named = {str(name): video for video, name in zip(files, names_apart(files, ".pose"), strict=True)}
    jobs = [PoseJob(named[name], out / name) for name in shard.of(named)]
    waiting = [job for job in jobs if settings().force or not is_finished(job.target or out, job.video, fps)]
    if len(waiting) < len(jobs):
        log(f"{len(jobs) - len(waiting)} of {count(len(jobs), 'video')} were finished before")
    failed = 0
    with open_outputs(*files) as outputs, bar("landmarks", "frames") as progress:
        for job in waiting:
            outputs.claim(job.target or out)
        folder = default_cache() if settings().cache else None
        for job, frames in estimate_files(waiting, workers, progress, fps=fps, cache=folder):
            if isinstance(frames, SignspotError):
                failed += 1
                log(f"left out {job.video}: {frames}")
            else:
                print_line(f"{job.target}: {frames} frames at {fps:g} frames per second")
    if failed:
        log(f"{failed} of {count(len(jobs), 'video')} could not be read")
        raise typer.Exit(_INCOMPLETE)


def _videos(path: Path) -> Iterator[Path]:
    """The videos that an argument names: itself, or all in a folder and below."""
    from signspot.errors import OptionsError
    from signspot.video import VIDEO_SUFFIXES

    if not path.is_dir():
        yield path
        return
    files = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in VIDEO_SUFFIXES and file.is_file()]
    videos = [file for file in files if not file.name.startswith(".")]
    if not videos:
        raise OptionsError(f"there is no video in the folder {path}. Known: {', '.join(sorted(VIDEO_SUFFIXES))}")
    yield from videos
