"""Looks whether the files of a dictionary can be read, by their headers only: nothing is decoded."""

import os
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import av
from av.error import FFmpegError

from signspot.dictionary.contents import Contents, Problem
from signspot.errors import DictionaryError
from signspot.records import Exemplar
from signspot.video.inspection import shows_pictures

_POSE_VERSIONS = (0.0, 0.1, 0.2)
_THREADS = min(8, 2 * (os.cpu_count() or 1))


def keep_readable(contents: Contents, place: Path) -> Contents:
    """Leave out the exemplars whose file cannot be read, and say so in the problems.

    An exemplar that carries an embedding stays, without its file.

    Args:
        contents: what a reader found.
        place: the dictionary, for the message.

    Raises:
        DictionaryError: nothing is left.
    """
    messages = _header_problems([exemplar.path for exemplar in contents.exemplars])
    kept: list[Exemplar] = []
    problems = list(contents.problems)
    for exemplar, message in zip(contents.exemplars, messages, strict=True):
        if message is None or exemplar.path is None:
            kept.append(exemplar)
            continue
        problems.append(Problem(exemplar.path, message))
        if exemplar.embedding is not None:
            kept.append(replace(exemplar, path=None))
    if not kept:
        first = f" The first of {len(problems):,}: {problems[0]}" if problems else ""
        raise DictionaryError(f"nothing in {place} can be used as an exemplar.{first}")
    return replace(contents, exemplars=tuple(kept), problems=tuple(problems))


def header_problem(path: Path) -> str | None:
    """What is wrong with a video or `.pose` file as far as its header tells; None if nothing is."""
    try:
        if not path.is_file():
            return "a folder, not a file" if path.is_dir() else "no such file"
        if path.stat().st_size == 0:
            return "the file is empty"
        return _pose_problem(path) if path.suffix.lower() == ".pose" else _video_problem(path)
    except FFmpegError:
        return "not a video, or cut off: its header cannot be read"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def _header_problems(paths: Sequence[Path | None]) -> list[str | None]:
    with ThreadPoolExecutor(_THREADS) as pool:  # opening waits for the disk, and lets go of the interpreter
        return list(pool.map(lambda path: None if path is None else header_problem(path), paths))


def _video_problem(path: Path) -> str | None:
    if shows_pictures(path):
        return None  # a hundred times as fast as opening it, for dictionaries of thousands
    with av.open(str(path), metadata_errors="ignore") as container:
        if not container.streams.video:
            return "no picture in it (sound only?)"
        stream = container.streams.video[0]
        return None if stream.codec_context.width > 0 else "no picture size in its header"


def _pose_problem(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(4)
    version = round(struct.unpack("<f", head)[0], 3) if len(head) == 4 else None
    return None if version in _POSE_VERSIONS else "not a .pose file: its header cannot be read"
