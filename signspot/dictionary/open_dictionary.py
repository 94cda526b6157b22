"""Opening a dictionary, whatever it is stored as: exemplars whose files can be read."""

import os
import re
import struct
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from signspot.dictionary.bsldict import BSLDICT_FILE, read_bsldict
from signspot.dictionary.csv_file import TABLE_SUFFIXES, read_table, table_in
from signspot.dictionary.dictionary import UNFINISHED, Contents, Dictionary, LeftOut, unique_ids
from signspot.dictionary.json_file import DICTIONARY_FILE, read_json
from signspot.errors import DictionaryError
from signspot.types import Exemplar
from signspot.video import MEDIA_SUFFIXES
from signspot.video.probing import header_problem

_POSE_VERSIONS = (0.0, 0.1, 0.2)
_THREADS = min(8, 2 * (os.cpu_count() or 1))


def open_dictionary(path: str | os.PathLike[str]) -> Dictionary:
    """Open a dictionary, whatever it is stored as.

    Args:
        path: a folder with `dictionary.json`, a folder with a CSV table, a folder of videos or `.pose`
            files (`word/*.mp4`, or `word.mp4`, `word_2.mp4`), a table, or `bsldict_v1.pkl`.

    Returns:
        The dictionary; files that cannot be read are left out and listed in its `problems`.

    Raises:
        DictionaryError: it is not a dictionary, or nothing in it can be read.
        UnsafeFileError: a pickle asks to run code.
    """
    source = Path(path)
    try:
        contents = _read_folder(source) if source.is_dir() else _read_file(source)
    except OSError as error:
        raise DictionaryError(f"cannot read {source}: {error.strerror or error}") from error
    home = source if source.is_dir() else source.parent
    return Dictionary(keep_readable(contents, source), home)


def _read_folder(source: Path) -> Contents:
    if (source / DICTIONARY_FILE).is_file():
        return read_json(source / DICTIONARY_FILE)
    if (source / UNFINISHED).is_file():
        raise DictionaryError(
            f"{source} is an unfinished dictionary: its building was stopped. Run signspot dictionary build again with "
            "the same folders: it goes on"
        )
    if (source / BSLDICT_FILE).is_file():
        return read_bsldict(source / BSLDICT_FILE)
    chosen = table_in(source)
    if chosen:
        return read_table(chosen)
    return read_folder(source)


def _read_file(source: Path) -> Contents:
    if not source.exists():
        raise DictionaryError(f"no dictionary at {source}: there is no such file or folder")
    suffix = source.suffix.lower()
    if suffix == ".json":
        return read_json(source)
    if suffix in TABLE_SUFFIXES:
        return read_table(source)
    if suffix in (".pkl", ".pickle"):
        return read_bsldict(source)
    if suffix in MEDIA_SUFFIXES:
        raise DictionaryError(
            f"{source} is one video, not a dictionary. Name it after its word, put it into a folder, give that"
        )
    if suffix == ".eaf":
        raise DictionaryError(
            f"{source} is annotated footage. Cut its signs out first: signspot dictionary build {source} dictionary/"
        )
    raise DictionaryError(
        f"{source} is not a dictionary. Give a folder of videos named after their words, a CSV table, "
        f"a dictionary.json or bsldict_v1.pkl"
    )


def keep_readable(contents: Contents, source: Path) -> Contents:
    """Leave out the exemplars whose file cannot be read, and say so in the problems.

    An exemplar that carries an embedding stays, without its file.

    Args:
        contents: exemplars as a reader found them.
        source: the dictionary, for the message.

    Raises:
        DictionaryError: nothing is left.
    """
    paths = list({exemplar.path for exemplar in contents.exemplars})  # a table may name one video thousands of times
    with ThreadPoolExecutor(_THREADS) as pool:  # opening waits for the disk, and lets go of the interpreter
        messages = dict(zip(paths, pool.map(file_problem, paths), strict=True))
    readable: list[Exemplar] = []
    problems = list(contents.problems)
    for exemplar in contents.exemplars:
        message = messages[exemplar.path]
        if message is None or exemplar.path is None:
            readable.append(exemplar)
            continue
        problems.append(LeftOut(exemplar.path, message))
        if exemplar.embedding is not None:
            readable.append(replace(exemplar, path=None))
    if not readable:
        first = f" The first of {len(problems):,}: {problems[0]}" if problems else ""
        raise DictionaryError(f"nothing in {source} can be used as an exemplar.{first}")
    return replace(contents, exemplars=tuple(readable), problems=tuple(problems))


def file_problem(path: Path | None) -> str | None:
    """The fault of an exemplar's video or `.pose` file as far as its header tells; None if there is none."""
    if path is None:
        return None
    try:
        if path.suffix.lower() != ".pose" or not path.is_file():
            return header_problem(path)
        with path.open("rb") as file:
            head = file.read(4)
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    version = round(struct.unpack("<f", head)[0], 3) if len(head) == 4 else None
    return None if version in _POSE_VERSIONS else "not a .pose file: its header cannot be read"


def read_folder(folder: Path) -> Contents:
    """Find every exemplar in a folder; nothing is opened.

    Raises:
        DictionaryError: there is none.
    """
    files = sorted(_media_below(folder), key=lambda file: natural_order(file.relative_to(folder).as_posix()))
    files = _without_landmarks_of_videos(files)
    if not files:
        raise DictionaryError(
            f"no video or .pose file in {folder}. Put videos there as word/*.mp4, or word.mp4 and word_2.mp4"
        )
    names = [file.relative_to(folder).as_posix() for file in files]
    pairs = zip(files, names, unique_ids(names), strict=True)
    return Contents(tuple(Exemplar(word_of(name), name_id, path=file) for file, name, name_id in pairs))


def word_of(name: str) -> str:
    """The word that a file shows, from its path relative to the dictionary's folder (`/` between parts)."""
    head, inside, _ = name.partition("/")
    if not inside:
        head = re.sub(r"(?<=.)_\d+$", "", Path(head).stem)
    return " ".join(unicodedata.normalize("NFC", head).replace("_", " ").split()) or head


def natural_order(name: str) -> list[tuple[str, int, str]]:
    """A sort key by which `word_2` comes before `word_10`, and `word` before both."""
    stem, _, suffix = name.rpartition(".")
    parts = re.findall(r"(\D*)(\d*)", f"{stem}\0{suffix}")
    return [(text.casefold(), int(number or -1), text) for text, number in parts]


def _media_below(folder: Path) -> Iterator[Path]:
    visited = {folder.resolve()}
    for parent, folders, files in os.walk(folder, followlinks=True):
        below = {name: (Path(parent) / name).resolve() for name in folders if not _passed_over(Path(parent) / name)}
        folders[:] = [name for name, target in below.items() if target not in visited]  # a link may lead in a circle
        visited.update(below.values())
        for name in files:
            if Path(name).suffix.lower() in MEDIA_SUFFIXES and not name.startswith("."):
                yield Path(parent) / name


def _passed_over(folder: Path) -> bool:
    return folder.name.startswith((".", "__")) or (folder / "dictionary.json").exists()


def _without_landmarks_of_videos(files: list[Path]) -> list[Path]:
    videos = {file.with_suffix("") for file in files if file.suffix.lower() != ".pose"}
    return [file for file in files if file.suffix.lower() != ".pose" or file.with_suffix("") not in videos]
