"""Nearest signs of two languages: the same form with another meaning (faux amis), and with the same (as in Fig. 8)."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from signspot.applications.sign_comparison import SAME, Costs, costs_between, sign_clip
from signspot.dictionary.dictionary import Dictionary, normalise_word
from signspot.embedding.exemplars import Gallery
from signspot.errors import DictionaryError, FormatError, OptionsError, UnknownWordError
from signspot.io.progress import Progress, silent
from signspot.io.text import read_text
from signspot.plots.result_page import clips, heading, paragraph, write_page
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

SAME_FORM: float = SAME["form"]  # the largest cost of one form in two languages, as a part of what different signs cost
_MOST_PAIRS = 60  # of each kind, on a page

Meaning = Literal["same", "other"]


@dataclass(frozen=True, slots=True)
class Friends:
    """A sign of one language and a sign of another that look the same."""

    first: Exemplar
    second: Exemplar
    cost: float  # of aligning them, as a part of what different signs cost
    meaning: Meaning


@dataclass(frozen=True)
class FauxAmis:
    """Signs that two dictionaries share."""

    pairs: tuple[Friends, ...]  # the nearest first
    words: tuple[int, int]  # of both dictionaries
    shared: int  # words with a counterpart in the other one
    costs: Costs = field(repr=False)  # (A, B) between the words of both
    alone: tuple[str, ...] = ()  # words of the first that no sign of the second looks like

    def of(self, meaning: Meaning) -> tuple[Friends, ...]:
        """The pairs whose meaning is the same, or another."""
        return tuple(pair for pair in self.pairs if pair.meaning == meaning)


@dataclass(frozen=True, slots=True)
class FauxAmisOptions:
    """Options of comparing two dictionaries."""

    same: float = SAME_FORM  # largest cost of one form, as a part of what different signs cost
    words: tuple[str, ...] = ()  # of the first dictionary, that are looked at; none: all
    translations: Mapping[str, str] = field(default_factory=dict)  # word of the first → word of the second

    def __post_init__(self) -> None:
        if not 0 < self.same < 2:
            raise OptionsError(f"same is relative to the cost of different signs, above 0 and below 2; got {self.same}")


def find_faux_amis(
    spotter: Spotter,
    first: Dictionary,
    second: Dictionary,
    options: FauxAmisOptions | None = None,
    progress: Progress = silent,
) -> FauxAmis:
    """Find signs of two languages that look the same: each is the other's nearest, and near enough.

    Args:
        spotter: whose encoder compares.
        first: a dictionary.
        second: a dictionary of another language.
        options: how near, which words, and which words translate which; without, words that are written alike do.
        progress: receives the exemplars that are embedded.

    Raises:
        UnknownWordError: a word that was asked for is not in the first dictionary.
        DictionaryError: a word is in the second dictionary only, or one of the two is empty.
    """
    chosen = options or FauxAmisOptions()
    for word in chosen.words:
        if word not in first and word in second:
            raise DictionaryError(
                f"'{word}' is in the second dictionary only. Name the dictionaries the other way round"
            )
    searched = first.select(chosen.words) if chosen.words else first
    total = len(searched.exemplars) + len(second.exemplars)
    galleries = (
        spotter.gallery(searched, progress=lambda done, _: progress(done, total)),
        spotter.gallery(second, progress=lambda done, _: progress(len(searched.exemplars) + done, total)),
    )
    return compare_galleries(spotter, *galleries, chosen)


def compare_galleries(spotter: Spotter, first: Gallery, second: Gallery, options: FauxAmisOptions) -> FauxAmis:
    """As `find_faux_amis`, of galleries that were made before."""
    between = costs_between(spotter, first, second)
    words = [list(gallery.words) for gallery in (first, second)]
    rows, columns = (
        [_places(gallery, word) for word in gallery_words]
        for gallery, gallery_words in zip((first, second), words, strict=True)
    )
    costs = np.array([[between[np.ix_(row, column)].min() for column in columns] for row in rows], np.float32)
    costs /= float(np.median(costs)) if costs.size > 3 else 1.0
    pairs = []
    for row, column in zip(range(len(rows)), costs.argmin(axis=1).tolist(), strict=True):
        if costs[row, column] <= options.same and costs[:, column].argmin() == row:
            block = between[np.ix_(rows[row], columns[column])]
            cell = np.unravel_index(int(block.argmin()), block.shape)
            mine, theirs = first.exemplars[rows[row][cell[0]]], second.exemplars[columns[column][cell[1]]]
            meaning: Meaning = "same" if _translates(mine.word, theirs.word, options.translations) else "other"
            pairs.append(Friends(mine, theirs, float(costs[row, column]), meaning))
    pairs.sort(key=lambda pair: pair.cost)
    second_words = {normalise_word(word) for word in words[1]}
    shared = sum(normalise_word(options.translations.get(word, word)) in second_words for word in words[0])
    paired = {pair.first.word for pair in pairs}
    alone = tuple(word for word in words[0] if word not in paired)
    return FauxAmis(tuple(pairs), (len(words[0]), len(words[1])), shared, costs, alone)


def _places(gallery: Gallery, word: str) -> NDArray[np.int64]:
    return np.unique(gallery.rows[gallery.words[word]])


def _translates(word: str, translation: str, translations: Mapping[str, str]) -> bool:
    return normalise_word(translations.get(word, word)) == normalise_word(translation)


def read_translations(path: str | Path, first: Dictionary, second: Dictionary) -> dict[str, str]:
    """Read a table of two columns: a word of the first dictionary, and its translation in the second.

    Raises:
        FormatError: a line has not two cells.
        UnknownWordError: a word is not in its dictionary.
    """
    translations: dict[str, str] = {}
    try:
        rows = list(csv.reader(read_text(Path(path)).text.split("\n")))
    except csv.Error as error:
        raise FormatError(f"{path} is not a table of translations: {error}") from error
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) != 2:
            raise FormatError(f"{path}, line {number}: a translation has two cells; got {len(row)}")
        word, other = (cell.strip() for cell in row)
        for name, dictionary in ((word, first), (other, second)):
            if name not in dictionary:
                raise UnknownWordError(name, dictionary)
        translations[first.resolve(word)[0]] = second.resolve(other)[0]
    return translations


def write_faux_amis_page(
    spotter: Spotter, result: FauxAmis, path: str | Path, names: tuple[str, str], *, pixels: bool = True
) -> Path:
    """Write a page with the clips of each pair side by side; without `pixels` skeletons stand for people."""

    def blocks() -> Iterator[str]:
        counts = (
            f"{result.words[0]:,} words in {names[0]}, {result.words[1]:,} in {names[1]}, {result.shared:,} in both"
        )
        yield paragraph(counts, faint=True)
        for meaning, title in (("other", "Same form, other meaning"), ("same", "Same form, same meaning")):
            pairs = result.of(meaning)  # type: ignore[arg-type]
            yield heading(f"{title}: {len(pairs)}")
            for pair in pairs[:_MOST_PAIRS]:
                yield paragraph(f"{pair.first.word} / {pair.second.word}, cost {pair.cost:.2f}")
                sides = zip(names, (pair.first, pair.second), strict=True)
                yield clips(
                    sign_clip(spotter, exemplar, f"{name}: {exemplar.word}", pixels=pixels) for name, exemplar in sides
                )
            if len(pairs) > _MOST_PAIRS:
                yield paragraph(
                    f"Not shown: {len(pairs) - _MOST_PAIRS:,} further pairs, which are less alike.", faint=True
                )
        if result.alone:
            yield heading(f"Words of {names[0]} that no sign of {names[1]} looks like: {len(result.alone):,}")
            yield paragraph(", ".join(result.alone))

    return write_page(path, f"Faux amis of {names[0]} and {names[1]}", blocks())


def folder_names(first: Path, second: Path) -> tuple[str, str]:
    """Names of two folders: the end of their paths, as long as it takes to tell them apart."""
    depth = next((n for n in range(1, len(first.parts)) if first.parts[-n:] != second.parts[-n:]), 1)
    return "/".join(first.parts[-depth:]), "/".join(second.parts[-depth:])
