"""`signspot landmarks`: estimate body, hand and face points of videos."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import bar, count, log, open_outputs, print_line
from signspot.cli.options import Workers, default_workers, settings


def landmarks(
    videos: Annotated[list[Path], typer.Argument(help="Videos, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder for the .pose files.")] = Path(),
    fps: Annotated[float, typer.Option(help="Frames per second to estimate at.")] = 25.0,
    workers: Workers = None,
) -> None:
    """Estimate landmarks with MediaPipe Holistic and save them as .pose files.

    Run it again after it was stopped: finished files are skipped. Equal names of different folders are kept apart
    (mon/a.pose, tue/a.pose).

    Example: signspot landmarks news.mp4 archive/ --out poses/ --workers 2
    """
    from signspot.errors import OptionsError, SignspotError
    from signspot.io.files import names_apart
    from signspot.landmarks.cache import default_cache
    from signspot.landmarks.estimate import PoseJob, estimate_files
    from signspot.landmarks.pose_file import is_finished

    if not 0 < fps <= 1000:
        raise OptionsError(f"frames per second must be above 0 and at most 1000; got {fps:g}")
    files = list(dict.fromkeys(video for path in videos for video in _videos(path)))
    jobs = [PoseJob(video, out / name) for video, name in zip(files, names_apart(files, ".pose"), strict=True)]
    waiting = [job for job in jobs if settings().force or not is_finished(job.target or out, job.video, fps)]
    if len(waiting) < len(jobs):
        log(f"{len(jobs) - len(waiting)} of {count(len(jobs), 'video')} finished before")
    failed = 0
    with open_outputs(*files) as outputs, bar("landmarks", "frames") as progress:
        for job in waiting:
            outputs.claim(job.target or out)
        folder = default_cache() if settings().cache else None
        for job, frames in estimate_files(waiting, default_workers(workers), progress, fps=fps, cache=folder):
            if isinstance(frames, SignspotError):
                failed += 1
                log(f"left out {job.video}: {frames}")
            else:
                print_line(f"{job.target}: {frames} frames at {fps:g} frames per second")
    if failed:
        log(f"{failed} of {count(len(jobs), 'video')} could not be read")
        raise typer.Exit(1)


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
