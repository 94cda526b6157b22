"""English synonyms out of WordNet's own data files, where they are installed."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from signspot.errors import FormatError, MissingWordNetError

FOLDER = Path("/usr/share/wordnet")  # where Debian's wordnet-base puts it
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand


class WordNet:
    """WordNet as a folder of text files with one set of synonyms per line."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        """Find WordNet; nothing is read yet.

        Args:
            folder: that holds data.noun and the like; None: where Debian puts them.

        Raises:
            MissingWordNetError: they are not there.
        """
        self.folder = Path(folder) if folder is not None else FOLDER
        for part in PARTS_OF_SPEECH:
            if not (self.folder / f"data.{part}").is_file():
                raise MissingWordNetError(self.folder, f"data.{part}")

    @cached_property
    def _sets(self) -> dict[str, list[tuple[str, ...]]]:
        """For each word, its sets of synonyms."""
        sets = defaultdict(list)
        for part in PARTS_OF_SPEECH:
            for words in _read_sets(self.folder / f"data.{part}"):
                for word in words:
                    sets[word].append(words)
        return sets

    def synonyms(self, word: str) -> frozenset[str]:
        """Words that share a meaning with `word`, in lower case, phrases with spaces; none if it is not known.

        Args:
            word: in its dictionary form; hyphens, spaces and underscores are alike.

        Raises:
            FormatError: WordNet's files are damaged.
        """
        spaced = _spaced(word)
        spellings = {spaced, spaced.replace("-", " "), spaced.replace(" ", "-")}
        words = {other for spelling in spellings for synset in self._sets.get(spelling, ()) for other in synset}
        return frozenset(words - {spaced, spaced.replace("-", " ")})


def _spaced(word: str) -> str:
    return word.strip().lower().replace("_", " ")


def _read_sets(path: Path) -> Iterator[tuple[str, ...]]:
    """Fields of a line: offset file-number type n-words(hex) word id… and pointers, which are not needed."""
    for number, line in enumerate(path.read_text(encoding="latin-1").split("\n"), start=1):
        if line[:1].strip():  # the licence is indented
            fields = line.split()
            try:
                count = int(fields[3], 16)
                words = fields[4 : 4 + 2 * count : 2]
                if len(words) < count:
                    raise ValueError
            except (IndexError, ValueError):
                raise FormatError(f"{path}, line {number}: no set of synonyms of WordNet. Install it again.") from None
            yield tuple(_spaced(_MARKER.sub("", word)) for word in words)
