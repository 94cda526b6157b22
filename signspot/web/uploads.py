"""Uploads: limited in size, and decoded in a child process before they enter the folder."""

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi.concurrency import run_in_threadpool

from signspot.dictionary.build import file_name
from signspot.errors import (
    OptionsError,
    OutputError,
    SandboxLimitError,
    SignspotError,
    VideoLimitError,
)
from signspot.io.files import content_digest, explain_write_failure, sync, temporary_name
from signspot.subtitles.reading import SUFFIXES as SUBTITLE_SUFFIXES
from signspot.video import VIDEO_SUFFIXES
from signspot.web.folder import ServedFolder
from signspot.web.worker import Worker, check_upload

MOST_BYTES = 4 << 30  # of one upload
MOST_CLIP = 60 << 20  # bytes of a clip of one sign
UPLOADS = "uploads"  # in the state folder; the next server removes what a killed one left there
_MOST_TEXT = 20 << 20  # of a file of spottings
_SECONDS = 60.0  # that decoding its beginning may take


def remove(path: Path) -> None:
    """Remove an upload; where that fails, the next server removes it."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


async def receive(folder: ServedFolder, name: str, body: AsyncIterator[bytes], most: int = MOST_BYTES) -> Path:
    """Receive a video, a .pose file or subtitles into the state folder, where no page shows it yet.

    Args:
        folder: that is served.
        name: the file's name on the sender's machine; only its suffix counts here.
        body: its content, in pieces.
        most: bytes.

    Raises:
        OptionsError: it is too large, empty, or of no kind that is known.
        OutputError: the disk is full, or may not be written.
    """
    if Path(name).suffix.lower() not in {*VIDEO_SUFFIXES, *SUBTITLE_SUFFIXES, ".pose"}:
        raise OptionsError(f"'{name}' is neither a video, a .pose file nor subtitles")
    return await _receive(folder, name, Path(name).suffix.lower(), body, most)


async def receive_text(folder: ServedFolder, name: str, body: AsyncIterator[bytes]) -> Path:
    """Receive a file of spottings (VIA, ELAN, tables) into the state folder, to be read and removed."""
    plain = file_name(Path(name.replace("\\", "/")).name)
    return await _receive(folder, name, f"-{plain}", body, _MOST_TEXT)


async def _receive(folder: ServedFolder, name: str, ending: str, body: AsyncIterator[bytes], most: int) -> Path:
    target = temporary_file(folder, ending)
    size = 0
    try:
        target.parent.mkdir(exist_ok=True)
        with target.open("xb") as file:
            async for piece in body:
                size += len(piece)
                if size > most:
                    raise OptionsError(f"'{name}' is too large: at most {most:,} bytes are accepted")
                file.write(piece)
        if not size:
            raise OptionsError(f"'{name}' is empty")
    except OSError as error:
        remove(target)
        raise OutputError(explain_write_failure(Path(name), error)) from error
    except BaseException:
        remove(target)
        raise
    return target


def temporary_file(folder: ServedFolder, ending: str) -> Path:
    """The path of a new temporary file in the state folder."""
    return folder.state / UPLOADS / temporary_name(Path(f"{uuid.uuid4().hex}{ending}"))


def refuse_videos(folder: ServedFolder, name: str) -> None:
    """Refuse videos in a folder that is served without pixels of people.

    Raises:
        OptionsError: the file is a video, and people may not be shown.
    """
    if not folder.pixels and Path(name).suffix.lower() in VIDEO_SUFFIXES:
        raise OptionsError(f"'{name}' is a video, and this workbench stores no videos of people. Send a .pose file")


def check(worker: Worker, path: Path, name: str) -> dict[str, Any]:
    """Check that an upload is what its name says, by decoding it in a child process.

    Args:
        worker: decodes it.
        path: where it was received; it is removed if it is refused.
        name: on the sender's machine.

    Raises:
        VideoError: it is not a video, or asks for too much time or memory.
        FormatError: subtitles or landmarks cannot be read.
        SandboxStartError: no child process can be started.
    """
    try:
        return dict(worker.call(check_upload, path, name, seconds=_SECONDS))
    except SandboxLimitError as error:
        remove(path)
        raise VideoLimitError(f"'{name}' is refused: {error}") from error
    except BaseException:
        remove(path)
        raise


@asynccontextmanager
async def clip(folder: ServedFolder, worker: Worker, name: str, body: AsyncIterator[bytes]) -> AsyncIterator[Path]:
    """Receive and check a clip of one sign, and remove it at the end."""
    path = await receive(folder, name, body, MOST_CLIP)
    try:
        await run_in_threadpool(check, worker, path, name)
        yield path
    finally:
        remove(path)


def keep(folder: ServedFolder, path: Path, name: str, below: str = "") -> str:
    """Move an upload into the folder; a name that is taken gets a number, and nothing is replaced.

    A file of the same name and content is not stored twice: somebody may send it again because a killed server did not
    answer.

    Args:
        folder: that is served.
        path: the upload.
        name: on the sender's machine; only its last part counts.
        below: a folder in the served one.

    Returns:
        Its name there.
    """
    try:
        plain = Path(Path(name.replace("\\", "/")).name)
        return _link_into_folder(folder, path, file_name(plain.stem), plain.suffix.lower(), below)
    finally:
        remove(path)  # it was moved, or refused


def _link_into_folder(folder: ServedFolder, path: Path, stem: str, suffix: str, below: str) -> str:
    number = 1
    while True:
        chosen = f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
        relative = f"{below}/{chosen}" if below else chosen
        target = folder.new_file(relative, "the upload")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            sync(path)
            os.link(path, target)  # fails where the name is taken, whoever took it in the meantime
            sync(target.parent)
        except FileExistsError:
            if not _is_same(path, target):
                number += 1
                continue
        except OSError as error:
            raise OutputError(explain_write_failure(target, error)) from error
        return relative


def _is_same(first: Path, second: Path) -> bool:
    """Whether two files have the same content."""
    try:
        return first.stat().st_size == second.stat().st_size and content_digest(first) == content_digest(second)
    except SignspotError:
        return False
