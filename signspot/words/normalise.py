"""From text as it is written to text as it is said: "£5" is "five pounds", "3rd" is "third", "Dr" is "doctor"."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from signspot.words.english import ENGLISH_PATTERNS, read_english
from signspot.words.lemmas import lemmas, number_words, primary_language
from signspot.words.tokens import HYPHENS, SYMBOLS, Atom, Reading, TextUnit, fold, tokens, word_pattern

_STOP = re.compile(r"[.!?;:…]")  # no phrase goes on beyond these
_GROUPED = r"\d{1,3}(?:[.'’\u00a0\u202f]\d{3}){1,6}(?:,\d+)?|\d+(?:,\d+)?"  # 1.234,5 as outside English
_BETWEEN_HYPHENS = re.compile(rf"(?<=[^\W_])[{HYPHENS}](?=[^\W_])")


class Form(StrEnum):
    """In which form a word and a text match; the first that does is told."""

    ORIGINAL = "original"  # as written, but for case and hyphens
    NORMALISED = "normalised"  # as said: "20" and "twenty"
    LEMMATISED = "lemmatised"  # in its dictionary form: "children" and "child"


RANK = {form: rank for rank, form in enumerate(Form)}


class Edge(NamedTuple):
    """Words between two nodes, the text that they stand for, and how far they are from what is written."""

    words: tuple[str, ...]
    start: int
    end: int
    rank: int  # of the form
    target: int  # the node that it leads to


@dataclass(slots=True)
class Lattice:
    """Edges by the node they leave; a node's number is below those of the nodes that it leads to."""

    edges: list[list[Edge]] = field(default_factory=lambda: [[]])

    def node(self) -> int:
        """A new node, after all others."""
        self.edges.append([])
        return len(self.edges) - 1

    def add(self, source: int, edge: Edge) -> None:
        """Add an edge that leaves `source`."""
        self.edges[source].append(edge)


@dataclass(frozen=True, slots=True)
class LatticeOptions:
    """Readings that a lattice holds."""

    language: str
    lemmatised: bool = True  # dictionary forms, too
    stops: bool = True  # no path leads across a full stop
    longest_joined: int | None = None  # join hyphenated parts only if one has at most so many letters


def build(text: str, options: LatticeOptions) -> Lattice:
    """Build the lattice of a text, in time linear in its length."""
    lattice = Lattice()
    here = 0
    last: TextUnit | None = None
    last_start = 0
    for unit in units(text, options.language):
        gap = text[last.end : unit.start] if last else ""
        if last and options.stops and _STOP.search(gap):
            here = lattice.node()
        source, here = here, _add_unit(lattice, here, text, unit, options)
        if last and len(gap) == 1 and gap in HYPHENS:
            _add_joined(
                lattice, (last_start, here), (text[last.start : last.end], text[unit.start : unit.end]), last, options
            )
        last, last_start = unit, source
    return lattice


def _add_unit(lattice: Lattice, source: int, text: str, unit: TextUnit, options: LatticeOptions) -> int:
    """Add every reading of a unit between `source` and a new node; give that node."""
    if not unit.readings and len(unit.original) == 1:  # most units are plain words
        target = lattice.node()
        _add_atoms(lattice, (source, target), text, unit.original, 0, options)
        return target
    readings = [(0, unit.original), *((1, reading) for reading in unit.readings)]
    inner = [[lattice.node() for _ in reading[1:]] for _, reading in readings]
    target = lattice.node()
    for (rank, reading), nodes in zip(readings, inner, strict=True):
        path = [source, *nodes, target]
        for index, atom in enumerate(reading):
            _add_atoms(lattice, (path[index], path[index + 1]), text, (atom,), rank, options)
    return target


def _add_atoms(
    lattice: Lattice, nodes: tuple[int, int], text: str, atoms: Reading, rank: int, options: LatticeOptions
) -> None:
    """Add an atom's words, and the lemmas of a single word."""
    for atom in atoms:
        lattice.add(nodes[0], Edge(atom.words, atom.start, atom.end, rank, nodes[1]))
        if options.lemmatised and len(atom.words) == 1:
            written = text[atom.start : atom.end]
            shown = written if atom.words[0] == fold(written) else atom.words[0]
            for lemma in lemmas(shown, options.language):
                lattice.add(nodes[0], Edge((lemma,), atom.start, atom.end, RANK[Form.LEMMATISED], nodes[1]))


def _add_joined(
    lattice: Lattice, nodes: tuple[int, int], parts: tuple[str, str], first: TextUnit, options: LatticeOptions
) -> None:
    """Read two words with a hyphen between them as one: "e-mail" is "email"."""
    if options.longest_joined is not None and min(map(len, parts)) > options.longest_joined:
        return
    word = fold("".join(parts))
    if not word.isalpha():
        return
    start, end = first.start, first.start + len(parts[0]) + 1 + len(parts[1])
    forms = [(RANK[Form.NORMALISED], word)]
    if options.lemmatised:
        forms += [(RANK[Form.LEMMATISED], lemma) for lemma in lemmas(word, options.language)]
    for rank, form in forms:
        lattice.add(nodes[0], Edge((form,), start, end, rank, nodes[1]))


def paths(lattice: Lattice, most: int) -> Iterable[tuple[int, tuple[str, ...]]]:
    """The words along each path from the first node to the last, with its rank; at most so many."""
    last = len(lattice.edges) - 1
    stack: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
    given = 0
    while stack and given < most:
        node, rank, words = stack.pop()
        if node == last:
            given += 1
            yield rank, words
        for edge in reversed(lattice.edges[node]):
            stack.append((edge.target, max(rank, edge.rank), words + edge.words))


def normalise(text: str, language: str = "en") -> str:
    """Write a text as it is said.

    English in full depth: numbers, money, clock times, decades, ordinals, percentages, measures, fractions,
    abbreviations, contractions, possessives, signs and hyphens. Other languages: whole and decimal numbers, in those
    that num2words speaks, and hyphens.

    Args:
        text: whatever is not rewritten keeps its case and its punctuation.
        language: as in "en" or "en-GB".

    Raises:
        OptionsError: the language is unknown.
        MissingExtraError: num2words or simplemma is not installed.
    """
    parts: list[str] = []
    done = 0
    for unit in units(text, primary_language(language)):
        if unit.readings:
            before, after = text[unit.start - 1 : unit.start], text[unit.end : unit.end + 1]
            said = _read_aloud(text, unit.readings[0])
            parts += [text[done : unit.start], " " * before.isalnum(), said, " " * after.isalnum()]
            done = unit.end
    return _BETWEEN_HYPHENS.sub(" ", "".join(parts) + text[done:])


def _read_aloud(text: str, reading: Reading) -> str:
    """The words of a reading; what is said as it is written keeps its case."""
    written = (text[atom.start : atom.end] for atom in reading)
    pairs = zip(reading, written, strict=True)
    return " ".join(as_is if atom.words == (fold(as_is),) else " ".join(atom.words) for atom, as_is in pairs)


def units(text: str, language: str) -> Iterator[TextUnit]:
    """Cut a text into units, each with its readings, in order.

    Args:
        text: any text.
        language: a name from `signspot.words.lemmas.languages`.
    """
    for match in _scanner(language).finditer(text):
        yield _unit(match.lastgroup or "", match[0], language).moved(match.start())


@cache
def _scanner(language: str) -> re.Pattern[str]:
    patterns = ENGLISH_PATTERNS if language == "en" else _plain_patterns()
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in patterns.items()))


def _plain_patterns() -> dict[str, str]:
    return {
        "number": rf"(?:{_GROUPED})(?![^\W_]|[.,:/]\d)",
        "word": word_pattern(apostrophes=False),
        "sign": f"[{re.escape(SYMBOLS)}]",
    }


@lru_cache(maxsize=1 << 16)
def _unit(kind: str, surface: str, language: str) -> TextUnit:
    """A unit at the start of a text; all that it can be depends on its letters alone."""
    apart = tokens(surface, apostrophes=language == "en")
    original = tuple(Atom((token.word,), token.start, token.end) for token in apart)
    readings = read_english(kind, surface) if language == "en" else _plain_readings(kind, surface, language)
    return TextUnit(0, len(surface), original, tuple(reading for reading in readings if reading != original))


def _plain_readings(kind: str, surface: str, language: str) -> tuple[Reading, ...]:
    if kind != "number":
        return ()
    digits = re.sub(r"[^\d,]", "", surface).replace(",", ".")
    said = [number_words(digits, language)]
    if re.fullmatch(r"1[1-9]\d\d|20\d\d", surface):
        said.insert(0, number_words(digits, language, "year"))
    return tuple((Atom(words, 0, len(surface)),) for words in dict.fromkeys(said) if words)
