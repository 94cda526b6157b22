"""`signspot landmarks`: estimate body, hand and face points of videos."""

from pathlib import Path
from typing import Annotated

import typer

from signspot.cli.console import Force, bar, note, say


def landmarks(
    videos: Annotated[list[Path], typer.Argument(help="Videos.")],
    out: Annotated[Path, typer.Option(help="Folder for the .pose files.")] = Path(),
    fps: Annotated[float, typer.Option(help="Frames a second to estimate at.")] = 25.0,
    workers: Annotated[int, typer.Option(help="Videos to work on at once.")] = 1,
    force: Force = False,
) -> None:
    """Estimate landmarks with MediaPipe Holistic and save them as .pose files, equal names in folders of their own.

    Example: signspot landmarks news.mp4 weather.mp4 --out poses/ --workers 2
    """
    from signspot.errors import SignspotError
    from signspot.files import Outputs, names_apart
    from signspot.landmarks.estimate import estimate_many
    from signspot.landmarks.pose_file import write_landmarks

    outputs = Outputs(videos, force=force)
    targets = {path: outputs.claim(out / name) for path, name in zip(videos, names_apart(videos, ".pose"), strict=True)}
    failed = 0
    with outputs, bar("videos") as progress:
        for path, result in estimate_many(videos, workers=workers, fps=fps, progress=progress):
            if isinstance(result, SignspotError):
                failed += 1
                note(f"left out {path}: {result}")
                continue
            write_landmarks(result, targets[path])
            say(f"{targets[path]}: {len(result)} frames at {fps:g} a second")
    if failed:
        note(f"{failed} of {len(videos)} videos could not be read")
        raise typer.Exit(1)
