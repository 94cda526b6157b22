"""A dictionary: the words to look for, each with its exemplars; what every reader returns."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, repeat
from pathlib import Path
from typing import TypeVar, overload

from signspot.errors import DictionaryError, SignspotError, UnknownWordError
from signspot.io.html_fragments import image_address, table, text
from signspot.types import Exemplar, Segment

UNFINISHED = ".unfinished-dictionary"  # marks a folder in which a build was interrupted
_SHOWN_WORDS, _THUMBNAIL_HEIGHT = 12, 80  # words and pixels of thumbnails in a notebook


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


def unique_ids(names: Iterable[str], segments: Iterable[Segment | None] = repeat(None)) -> list[str]:
    """Make ids of file names: the name without its suffix, and where a sign begins in longer footage: `news@12.40`."""

    def exemplar_id(name: str, segment: Segment | None) -> str:
        stem = name[: -len(suffix)] if (suffix := Path(name).suffix) else name
        return stem if segment is None else f"{stem}@{segment.start:.2f}"

    return numbered(exemplar_id(name, segment) for name, segment in zip(names, segments, strict=False))


def numbered(names: Iterable[str]) -> list[str]:
    """Tell ids that are alike apart: the second is `name#2`."""
    ids: dict[str, None] = {}
    turns: Counter[str] = Counter()  # how often a name came: a table may name one video thousands of times
    for base in names:
        chosen = base
        while chosen in ids:
            turns[base] += 1
            chosen = f"{base}#{turns[base] + 1}"
        ids[chosen] = None
    return list(ids)


def _thumbnail(exemplars: Iterable[Exemplar]) -> str:
    """The first exemplar that can be shown, as an image; empty where none can."""
    from signspot.video.clips import thumbnail

    for exemplar in exemplars:
        if exemplar.path is not None and exemplar.path.suffix != ".pose":
            with suppress(SignspotError):
                image = thumbnail(exemplar.path, exemplar.segment.middle if exemplar.segment else None)
                return f'<img alt="{text(exemplar.id)}" src="{image_address(image, _THUMBNAIL_HEIGHT)}">'
    return ""


_T = TypeVar("_T")


class Dictionary(Mapping[str, list[Exemplar]]):
    """Words, as written, and their exemplars.

    A word is looked up exactly as given first; where that fails, without regard to case, hyphens,
    underscores and spaces, and by its normalised text ('1' is also 'one') where the source knows one.
    """

    def __init__(self, contents: Contents | Iterable[Exemplar], path: Path | None = None):
        self.contents = contents if isinstance(contents, Contents) else Contents(tuple(contents))
        self.path = path
        self._exemplars: dict[str, list[Exemplar]] = {}
        for exemplar in self.contents.exemplars:
            self._exemplars.setdefault(exemplar.word, []).append(exemplar)
        self._spellings: dict[str, list[str]] = {}
        for word in self._exemplars:
            for spelling in {normalise_word(word), normalise_word(self.contents.normalised.get(word, word))}:
                self._spellings.setdefault(spelling, []).append(word)

    def __getitem__(self, word: str) -> list[Exemplar]:
        return [exemplar for spelling in self.resolve(word) for exemplar in self._exemplars[spelling]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._exemplars)

    def __len__(self) -> int:
        return len(self._exemplars)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and bool(self._meant(word))

    def __repr__(self) -> str:
        count = len(self.contents.exemplars)
        return f"Dictionary({len(self):,} words, {count:,} exemplars, {len(self.problems):,} problems)"

    def _repr_html_(self) -> str:
        """The first words in a notebook, each with its number of exemplars and a thumbnail of one that is a video."""
        rows = [
            (text(word), str(len(exemplars)), _thumbnail(exemplars))
            for word, exemplars in islice(self._exemplars.items(), _SHOWN_WORDS)
        ]
        return f"<p>{text(repr(self))}</p>{table(('word', 'exemplars', ''), rows)}"

    @overload
    def get(self, word: str, /) -> list[Exemplar] | None: ...
    @overload
    def get(self, word: str, /, default: list[Exemplar] | _T) -> list[Exemplar] | _T: ...
    def get(self, word: str, /, default: object = None) -> object:
        """The exemplars of a word, or `default`; fast for unknown words, which need no suggestion here."""
        meant = self._meant(word)
        return [exemplar for key in meant for exemplar in self._exemplars[key]] if meant else default

    @property
    def problems(self) -> tuple[LeftOut, ...]:
        """Files and lines that could not be read and were left out, with the reasons."""
        return self.contents.problems

    @property
    def exemplars(self) -> tuple[Exemplar, ...]:
        """All exemplars of all words."""
        return self.contents.exemplars

    def resolve(self, word: str) -> tuple[str, ...]:
        """The words of this dictionary that `word` means, as written there; mostly one.

        Raises:
            UnknownWordError: there is none.
        """
        meant = self._meant(word)
        if not meant:
            raise UnknownWordError(word, self._exemplars)
        return meant

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Other words whose sign is the same or similar, as far as the source of the dictionary says so."""
        meant = self.resolve(word)
        synonyms = dict.fromkeys(other for key in meant for other in self.contents.synonyms.get(key, ()))
        return tuple(other for other in synonyms if other not in meant)

    def select(self, words: Iterable[str]) -> "Dictionary":
        """The dictionary with only these words.

        Raises:
            UnknownWordError: one of them is not in it.
        """
        chosen = {spelling for word in words for spelling in self.resolve(word)}
        exemplars = tuple(exemplar for exemplar in self.exemplars if exemplar.word in chosen)
        return self.with_exemplars(exemplars)

    def with_exemplars(self, exemplars: Iterable[Exemplar]) -> "Dictionary":
        """The dictionary with other exemplars, all else kept."""
        return Dictionary(replace(self.contents, exemplars=tuple(exemplars)), self.path)

    def _meant(self, word: str) -> tuple[str, ...]:
        if word in self._exemplars:
            return (word,)
        return tuple(self._spellings.get(normalise_word(word), ()))
