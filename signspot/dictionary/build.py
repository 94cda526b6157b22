"""Building of a dictionary folder from any source: media copied, `dictionary.json` beside them."""

import logging
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from signspot.dictionary.cutting import cut_exemplar, is_cut
from signspot.dictionary.dictionary import UNFINISHED, Dictionary, LeftOut
from signspot.dictionary.json_file import DICTIONARY_FILE, read_json, save_dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, FormatError, OutputError, VideoError
from signspot.io.files import atomic_write, clean_up, content_digest
from signspot.io.progress import Progress, silent
from signspot.types import Exemplar

_LONGEST_NAME = 80
logger = logging.getLogger(__name__)


def build_dictionary(
    source: str | os.PathLike[str] | Dictionary,
    folder: str | os.PathLike[str],
    progress: Progress = silent,
    *,
    write_landmarks: Callable[[Path, Path], None] | None = None,
    cache: Path | None = None,
) -> Dictionary:
    """Copy a dictionary into a folder of its own. The source stays as it is.

    Of footage that is much longer than a sign, only the sign and half a second around it are copied.

    Interrupted, it goes on where it stopped when called again: files that are there are not copied anew.

    Args:
        source: anything `open_dictionary` opens, or a dictionary.
        folder: where to; it must not exist, be empty, or hold this very dictionary, whole or in part.
        progress: of exemplars.
        write_landmarks: writes the landmarks of a video into a `.pose` file. Where it is given, the folder gets
            landmarks instead of videos: nobody's face is in it.
        cache: folder of landmarks; those of a video that are there serve for the exemplars that are cut out of it.

    Returns:
        The new dictionary, with the problems of the source; an exemplar that cannot be cut out is one of them.

    Raises:
        OutputError: the folder holds something else, or cannot be written.
        DictionaryError: the source cannot be opened.
    """
    origin = source if isinstance(source, Dictionary) else open_dictionary(source)
    target = Path(folder)
    if origin.path is not None and target.exists() and target.resolve() == origin.path.resolve():
        raise OutputError(f"cannot build a dictionary in {target}: it is the source itself. Choose another folder")
    if target.is_dir():
        clean_up(target)  # first: a run that was killed at once has left nothing else
    refuse_other_content(target, origin)
    marker = target / UNFINISHED
    with atomic_write(marker) as temporary:
        temporary.write_bytes(b"")
    copies: list[Exemplar] = []
    problems = list(origin.problems)
    for done, (exemplar, name) in enumerate(zip(origin.exemplars, media_names(origin.exemplars), strict=True)):
        progress(done, len(origin.exemplars))
        try:
            if is_cut(exemplar):
                copies.append(cut_exemplar(exemplar, target / name, pixels=write_landmarks is None, cache=cache))
                continue
        except (VideoError, FormatError) as error:
            problems.append(LeftOut(exemplar.path or target / name, str(error)))
            continue
        if exemplar.path is None:
            copies.append(exemplar)
        elif write_landmarks is None or exemplar.path.suffix.lower() == ".pose":
            copies.append(replace(exemplar, path=_copy(exemplar.path, target / name)))
        else:
            copies.append(replace(exemplar, path=_landmarks(exemplar.path, target / name, write_landmarks)))
    if not copies:
        raise DictionaryError(f"no exemplar of {origin.path} can be copied. {problems[-1]}")
    built = Dictionary(replace(origin.contents, exemplars=tuple(copies), problems=tuple(problems)), target)
    save_dictionary(built, target)
    marker.unlink(missing_ok=True)
    progress(len(origin.exemplars), len(origin.exemplars))
    return built


def media_names(exemplars: Iterable[Exemplar]) -> list[str]:
    """Places of the exemplars' files: `media/<word>/<name>`, unique on every file system."""
    names: list[str] = []
    used: set[str] = set()
    turns: Counter[str] = Counter()
    for exemplar in exemplars:
        path = Path(exemplar.path or exemplar.id)
        name_in_id, suffix = exemplar.id.rpartition("/")[2], path.suffix.lower()
        is_cut_out = name_in_id.startswith(f"{path.stem}@")
        stem = file_name(name_in_id.replace("#", "-") if is_cut_out else path.stem)
        name = plain = f"media/{file_name(exemplar.word)}/{stem}{suffix}"
        while name.casefold() in used:
            turns[plain.casefold()] += 1
            name = f"media/{file_name(exemplar.word)}/{stem}-{turns[plain.casefold()] + 1}{suffix}"
        used.add(name.casefold())
        names.append(name)
    return names


def file_name(text: str) -> str:
    """A name that every file system takes: no separator, control character, leading dot or great length."""
    plain = unicodedata.normalize("NFC", text)
    plain = "".join(
        "_" if character in '/\\:*?"<>|' or not character.isprintable() else character for character in plain
    )
    plain = plain.strip().lstrip(".").rstrip(". ")
    plain = plain.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore").rstrip(". ")
    reserved = re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", plain.partition(".")[0])
    return f"_{plain}" if reserved or not plain else plain


def _landmarks(source: Path, video: Path, write: Callable[[Path, Path], None]) -> Path:
    """The landmarks of a video, beside where it would have gone; those that an earlier run wrote are kept."""
    target = video.with_name(f"{video.name}.pose")
    if not target.is_file():
        write(source, target)
    return target


def _copy(source: Path, target: Path) -> Path:
    if not _is_copy(source, target):
        with atomic_write(target) as temporary:
            shutil.copy2(source, temporary)
        logger.debug("copied %s to %s", source, target)
    return target


def _is_copy(source: Path, target: Path) -> bool:
    """Whether the target has the time and the content of the source, as a copy made before has."""
    if not target.is_file():
        return False
    status, target_status = source.stat(), target.stat()
    is_alike = status.st_size == target_status.st_size and abs(status.st_mtime - target_status.st_mtime) < 2
    return is_alike and content_digest(source) == content_digest(target)


def refuse_other_content(target: Path, origin: Dictionary) -> None:
    """Make sure that a folder can take a dictionary: it is new, empty, or holds this one, whole or in part.

    Raises:
        OutputError: it holds something else.
    """
    if target.exists() and not target.is_dir():
        raise OutputError(f"cannot build a dictionary at {target}: it is a file. Name a folder")
    if not target.exists() or (target / UNFINISHED).exists() or not any(target.iterdir()):
        return
    there = (
        {e.id for e in read_json(target / DICTIONARY_FILE).exemplars} if (target / DICTIONARY_FILE).exists() else None
    )
    if there is None or not there <= {exemplar.id for exemplar in origin.exemplars}:
        content = "other files" if there is None else "another dictionary"
        raise OutputError(f"{target} holds {content}, which would be mixed with the dictionary. Choose a new folder")
