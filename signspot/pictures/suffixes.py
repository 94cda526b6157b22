"""Which picture is written to which kind of file; asked before long work, too."""

from os import PathLike
from pathlib import Path
from typing import Literal

from signspot.errors import OutputError

Picture = Literal["plot", "film", "report"]

SUFFIXES: dict[Picture, tuple[str, ...]] = {
    "plot": (".png", ".svg", ".pdf"),
    "film": (".mp4",),
    "report": (".html", ".htm"),
}


def check_picture(picture: Picture, path: str | PathLike[str]) -> Path:
    """Give the path, if its suffix fits the picture.

    Raises:
        OutputError: it does not.
    """
    target = Path(path)
    known = SUFFIXES[picture]
    if target.suffix.lower() not in known:
        raise OutputError(
            f"cannot write the {picture} {target}: unknown kind '{target.suffix}'. Known: {', '.join(known)}."
        )
    return target
