"""Opens a dictionary, whatever it is stored as."""

import os
from pathlib import Path

from signspot.dictionary.bsldict import BSLDICT_FILE, read_bsldict
from signspot.dictionary.contents import MEDIA_SUFFIXES, Contents
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.folder import read_folder
from signspot.dictionary.json_file import DICTIONARY_FILE, read_json
from signspot.dictionary.probe import keep_readable
from signspot.dictionary.table import TABLE_SUFFIXES, read_table, table_in
from signspot.errors import DictionaryError


def open_dictionary(path: str | os.PathLike[str]) -> Dictionary:
    """Open a dictionary, whatever it is stored as.

    Args:
        path: a folder with `dictionary.json`, a folder with a CSV table, a folder of videos or `.pose`
            files (`word/*.mp4`, or `word.mp4`, `word_2.mp4`), a table, or `bsldict_v1.pkl`.

    Returns:
        The dictionary; files that cannot be read are left out and listed in its `problems`.

    Raises:
        DictionaryError: it is no dictionary, or nothing in it can be read.
        UnsafeFileError: a pickle asks to run code.
    """
    place = Path(path)
    try:
        contents = _read_folder(place) if place.is_dir() else _read_file(place)
    except OSError as error:
        raise DictionaryError(f"cannot read {place}: {error.strerror or error}") from error
    home = place if place.is_dir() else place.parent
    return Dictionary(keep_readable(contents, place), home)


def _read_folder(place: Path) -> Contents:
    if (place / DICTIONARY_FILE).is_file():
        return read_json(place / DICTIONARY_FILE)
    if (place / BSLDICT_FILE).is_file():
        return read_bsldict(place / BSLDICT_FILE)
    chosen = table_in(place)
    if chosen:
        return read_table(chosen)
    return read_folder(place)


def _read_file(place: Path) -> Contents:
    if not place.exists():
        raise DictionaryError(f"no dictionary at {place}: there is no such file or folder")
    suffix = place.suffix.lower()
    if suffix == ".json":
        return read_json(place)
    if suffix in TABLE_SUFFIXES:
        return read_table(place)
    if suffix in (".pkl", ".pickle"):
        return read_bsldict(place)
    if suffix in MEDIA_SUFFIXES:
        raise DictionaryError(
            f"{place} is one video, not a dictionary. Name it after its word, put it into a folder, give that"
        )
    raise DictionaryError(
        f"{place} is no dictionary. Give a folder of videos named after their words, a CSV table, "
        f"a dictionary.json or bsldict_v1.pkl"
    )
