"""Contents of a dictionary, as every reader returns them: exemplars, files left out, facts about the words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from signspot.errors import DictionaryError
from signspot.types import Exemplar

UNFINISHED = ".unfinished-dictionary"  # marks a folder in which a build was interrupted


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One file (or one line of a table) that was left out, and why."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of a dictionary."""

    exemplars: tuple[Exemplar, ...]
    problems: tuple[LeftOut, ...] = ()
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # word → words with the same sign
    normalised: Mapping[str, str] = field(default_factory=dict)  # word → its text with numbers spelled out
    links: Mapping[str, str] = field(default_factory=dict)  # exemplar id → address of its video

    def __post_init__(self) -> None:
        twice = [name for name, count in Counter(e.id for e in self.exemplars).items() if count > 1]
        if twice:
            raise DictionaryError(f"exemplar id '{twice[0]}' is used twice in one dictionary; ids must be unique")


def normalise_word(word: str) -> str:
    """The form in which words are compared: no case, and hyphen, underscore and space are one."""
    text = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    return " ".join(re.sub(r"[-_?!\s]+", " ", text).split()) or text


def unique_ids(names: Iterable[str]) -> list[str]:
    """Make ids of file names: without their suffix where that stays unique, with it or a count where not."""
    wanted = list(names)
    short = [name[: -len(suffix)] if (suffix := Path(name).suffix) else name for name in wanted]
    count = Counter(short)
    ids: dict[str, None] = {}
    turns: Counter[str] = Counter()  # how often a name came: a table may name one video thousands of times
    for name, stem in zip(wanted, short, strict=True):
        base = chosen = stem if count[stem] == 1 else name
        while chosen in ids:
            turns[base] += 1
            chosen = f"{base}#{turns[base] + 1}"
        ids[chosen] = None
    return list(ids)
