"""Finds the exemplars in a plain folder of videos or `.pose` files, from their names alone.

Two layouts, which may be mixed:

* `word/anything.mp4`: the folder's name is the word, whole; everything in it, at any depth, is an exemplar.
* `word.mp4`, `word_2.mp4`, `word_3.mp4`: an underscore and a number at the end mark further exemplars.

An underscore elsewhere stands for a space (`ice_cream.mp4` is 'ice cream'): no word is written with one. A
hyphen is kept (`ice-cream.mp4` is 'ice-cream', `t-shirt.mp4` is 't-shirt'), because words have hyphens;
looking up 'ice cream' finds it nevertheless. A word that ends in a number needs the first layout or a hyphen
(`catch-22.mp4`). Where a video and a `.pose` file share their name, the `.pose` is taken for the landmarks of
the video, not for a second exemplar. Hidden files and folders, and folders that are dictionaries themselves,
are passed over.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from signspot.dictionary.contents import MEDIA_SUFFIXES, Contents, unique_ids
from signspot.errors import DictionaryError
from signspot.records import Exemplar


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
    seen = {folder.resolve()}
    for place, folders, files in os.walk(folder, followlinks=True):
        below = {name: (Path(place) / name).resolve() for name in folders if not _passed_over(Path(place) / name)}
        folders[:] = [name for name, target in below.items() if target not in seen]  # a link may lead in a circle
        seen.update(below.values())
        for name in files:
            if Path(name).suffix.lower() in MEDIA_SUFFIXES and not name.startswith("."):
                yield Path(place) / name


def _passed_over(folder: Path) -> bool:
    return folder.name.startswith((".", "__")) or (folder / "dictionary.json").exists()


def _without_landmarks_of_videos(files: list[Path]) -> list[Path]:
    videos = {file.with_suffix("") for file in files if file.suffix.lower() != ".pose"}
    return [file for file in files if file.suffix.lower() != ".pose" or file.with_suffix("") not in videos]
