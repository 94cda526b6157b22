"""English synonyms out of WordNet's own data files, where they are installed."""

import logging
import os
import re
from functools import cached_property
from pathlib import Path

from signspot.errors import FormatError, MissingWordNetError

FOLDER = Path("/usr/share/wordnet")  # where Debian's wordnet-base puts it
_LONGEST_LINE = 1 << 16  # bytes; WordNet's own have less than 16,000
_LARGEST_FILE = 1 << 30  # bytes; WordNet's own have 16 million
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand
_log = logging.getLogger(__name__)


class WordNet:
    """WordNet as a folder of text files: an index of words, and data with one set of synonyms per line."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        """Find WordNet; nothing is read yet.

        Args:
            folder: that holds index.noun, data.noun and the like; None: where Debian puts them.

        Raises:
            MissingWordNetError: they are not there.
        """
        self.folder = Path(folder) if folder is not None else FOLDER
        for part in PARTS_OF_SPEECH:
            for name in (f"index.{part}", f"data.{part}"):
                if not (self.folder / name).is_file():
                    raise MissingWordNetError(self.folder, name)

    @cached_property
    def _index(self) -> dict[str, list[tuple[str, int]]]:
        """For each word, its sets of synonyms: part of speech, and place in that part's data file."""
        index: dict[str, list[tuple[str, int]]] = {}
        for part in PARTS_OF_SPEECH:
            path = self.folder / f"index.{part}"
            for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), start=1):
                if line[:1].strip():  # the licence is indented
                    word, offsets = _parse_index_line(line, f"{path}, line {number}")
                    index.setdefault(word, []).extend((part, offset) for offset in offsets)
        _log.debug("%s: %d words", self.folder, len(index))
        return index

    def synonyms(self, word: str) -> frozenset[str]:
        """Words that share a meaning with `word`, in lower case, phrases with spaces; none if it is not known.

        Args:
            word: in its dictionary form; hyphens, spaces and underscores are alike.

        Raises:
            FormatError: WordNet's files are damaged.
        """
        found = {synonym for place in self._places(word) for synonym in self._set_at(*place)}
        return frozenset(found - {_spaced(word), _spaced(word).replace("-", " ")})

    def are_synonyms(self, word: str, other: str) -> bool:
        """Whether two words share a meaning."""
        return bool(set(self._places(word)) & set(self._places(other)))

    def _places(self, word: str) -> list[tuple[str, int]]:
        spaced = _spaced(word)
        spellings = dict.fromkeys([spaced, spaced.replace("-", " "), spaced.replace(" ", "-")])
        return [place for spelling in spellings for place in self._index.get(spelling, ())]

    def _set_at(self, part: str, offset: int) -> list[str]:
        """The words of one set of synonyms."""
        path = self.folder / f"data.{part}"
        with path.open("rb") as file:
            file.seek(offset)
            line = file.readline(_LONGEST_LINE).decode("latin-1")
        return _parse_data_line(line, offset, f"{path}, byte {offset}")


def _spaced(word: str) -> str:
    return word.strip().lower().replace("_", " ")


def _parse_index_line(line: str, where: str) -> tuple[str, list[int]]:
    """Fields: word pos n-sets n-pointers pointer… n-senses n-tagged offset…, separated by spaces."""
    fields = line.split()
    try:
        sets, pointers = int(fields[2]), int(fields[3])
        offsets = [int(offset) for offset in fields[6 + max(0, pointers) :]]
        if not all(0 <= offset < _LARGEST_FILE for offset in offsets):
            raise ValueError
    except (IndexError, ValueError):
        raise FormatError(f"{where}: no line of a WordNet index. Install it again.") from None
    if len(offsets) != sets:
        raise FormatError(f"{where}: {sets} sets of synonyms announced, {len(offsets)} given. Install it again.")
    return _spaced(fields[0]), offsets


def _parse_data_line(line: str, offset: int, where: str) -> list[str]:
    """Fields: offset file-number type n-words(hex) word id… and pointers, which are not needed."""
    fields = line.split()
    try:
        count = int(fields[3], 16)
        if int(fields[0]) != offset or len(fields) < 4 + 2 * count:
            raise ValueError
    except (IndexError, ValueError):
        raise FormatError(f"{where}: no set of synonyms of WordNet. Install it again.") from None
    return [_spaced(_MARKER.sub("", word)) for word in fields[4 : 4 + 2 * count : 2]]
