"""Ties between an exported file and the world around it: its videos, its name per video, and whether it was edited."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path, PurePath

from signspot.errors import FormatError
from signspot.io.files import write_beside
from signspot.io.text import read_bytes

SEAL_NAME = "signspot seal"
OPEN_SEAL = "0" * 64  # stands in a text until `write_sealed` puts the digest there
_SEAL = re.compile(SEAL_NAME.encode() + rb"[^0-9a-f]{1,20}([0-9a-f]{64})")
_LONGEST_NAME = 80  # bytes of a video's name in the name of an export


def link_to(video: str, file: Path) -> str:
    """A video's name as `file` writes it, so that it is found whatever the working directory.

    Args:
        video: a path as given by a person, or any other name.
        file: the file that will hold the link.

    Returns:
        A path relative to the file's folder where the video was given relative to the working directory, or lies
        below that folder; an absolute path where it was given so. A name behind which there is no file stays.
    """
    if file_at(Path(), video) is None:
        return video
    folder, target = Path(os.path.abspath(file.parent)), Path(os.path.abspath(video))  # noqa: PTH100 (links stay)
    if PurePath(video).is_absolute() and not target.is_relative_to(folder):
        return video
    try:
        link = PurePath(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)
    reached = file_at(folder, link)
    is_lost = folder.is_dir() and (reached is None or not reached.samefile(target))
    return str(target) if is_lost else link  # a folder behind a symbolic link lies elsewhere than its name says


def follow(link: str, file: Path) -> str:
    """The path of a video that `file` names; it is named as the file is, relatively or absolutely.

    A name behind which there is no file stays as it is.
    """
    if PurePath(link).is_absolute() or "://" in link:
        return link
    path = file_at(file.parent, link)
    if path is None:
        return link
    plain = Path(os.path.normpath(path) if path.is_absolute() else os.path.relpath(path))
    return str(plain if plain.is_file() and plain.samefile(path) else path)


def file_at(folder: Path, name: str) -> Path | None:
    """The file of a name, relative to a folder or absolute; None where there is none, whatever the name holds."""
    try:
        path = folder / name
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def path_per_video(videos: Sequence[str], path: Path, suffix: str) -> dict[str, Path]:
    """Paths for the spottings of each video, for formats that hold one: `x-<video>.eaf`; `x.eaf` for a single video."""
    if len(videos) <= 1:
        return dict.fromkeys(videos, path)
    base, ending = path.name[: -len(suffix)], path.name[-len(suffix) :]
    stems = [_file_name(PurePath(video).stem) for video in videos]
    shared = {stem for stem, count in Counter(map(str.casefold, stems)).items() if count > 1}
    taken: set[str] = set()
    turns: Counter[str] = Counter()
    paths = {}
    for video, stem in zip(videos, stems, strict=True):
        parent = _file_name(PurePath(video).parent.name)
        plain = f"{parent}-{stem}" if stem.casefold() in shared and PurePath(video).parent.name else stem
        name = plain
        while name.casefold() in taken:
            turns[plain.casefold()] += 1
            name = f"{plain}-{turns[plain.casefold()] + 1}"
        taken.add(name.casefold())
        paths[video] = path.with_name(f"{base}-{name}{ending}")
    return paths


def _file_name(text: str) -> str:
    """A part of a file name that every file system takes."""
    plain = "".join("_" if char in '/\\:*?"<>|' or not char.isprintable() else char for char in text).strip(". ")
    return plain.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore") or "video"


class Authorship(StrEnum):
    """The last writer of a file, as far as the file itself tells."""

    UNEDITED = "unedited"  # signspot wrote it, and nothing has changed since
    EDITED = "edited"  # signspot wrote it, and something else has saved it since
    UNKNOWN = "unknown"  # no seal inside: not ours, or of a format that has no place for one


def write_sealed(text: str, path: Path) -> None:
    """Write a text that holds `SEAL_NAME` and, behind it, `OPEN_SEAL`, with its own digest there."""
    content = text.encode("utf-8")
    digest = hashlib.sha256(content).hexdigest()
    with write_beside(path) as beside:
        beside.write_bytes(content.replace(OPEN_SEAL.encode(), digest.encode(), 1))


def authorship(path: str | os.PathLike[str]) -> Authorship:
    """Tell whether signspot wrote an `.eaf`, `.vtt` or `.via.json` and nobody has saved it since.

    Other formats have no place for a seal: their answer is UNKNOWN, as is that of a missing file.
    """
    try:
        content = read_bytes(Path(path))
    except FormatError:
        return Authorship.UNKNOWN
    seal = _SEAL.search(content)
    if seal is None:
        return Authorship.UNKNOWN
    opened = content[: seal.start(1)] + OPEN_SEAL.encode() + content[seal.end(1) :]
    return Authorship.UNEDITED if hashlib.sha256(opened).hexdigest().encode() == seal[1] else Authorship.EDITED
