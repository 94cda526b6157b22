"""From subtitles to dictionary words: text as it is said ("£5" is "five pounds"), and words found in it in any form."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from signspot.errors import OptionsError
from signspot.words.english import ENGLISH_PATTERNS, read_english
from signspot.words.tokens import (
    HYPHENS,
    SYMBOLS,
    Atom,
    Reading,
    TextUnit,
    fold,
    lemmas,
    number_words,
    primary_language,
    tokens,
    word_pattern,
)

_STOP = re.compile(r"[.!?;:…]")  # no phrase goes on beyond these
_GROUPED = r"\d{1,3}(?:[.'’\u00a0\u202f]\d{3}){1,6}(?:,\d+)?|\d+(?:,\d+)?"  # 1.234,5 as outside English


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


Lattice = list[list[Edge]]  # edges by the node they leave; a node's number is below those of the nodes it leads to


@dataclass(frozen=True, slots=True)
class LatticeOptions:
    """Readings that a lattice holds."""

    language: str
    lemmatised: bool = True  # dictionary forms, too
    stops: bool = True  # no path leads across a full stop
    longest_joined: int | None = None  # join hyphenated parts only if one has at most so many letters


def build(text: str, options: LatticeOptions) -> Lattice:
    """Build the lattice of a text, in time linear in its length."""
    lattice: Lattice = [[]]
    here = 0
    last: TextUnit | None = None
    last_start = 0
    for unit in units(text, options.language):
        gap = text[last.end : unit.start] if last else ""
        if last and options.stops and _STOP.search(gap):
            here = _add_node(lattice)
        source, here = here, _add_unit(lattice, here, text, unit, options)
        if last and len(gap) == 1 and gap in HYPHENS:
            _add_joined(
                lattice, (last_start, here), (text[last.start : last.end], text[unit.start : unit.end]), last, options
            )
        last, last_start = unit, source
    return lattice


def _add_node(lattice: Lattice) -> int:
    lattice.append([])
    return len(lattice) - 1


def _add_unit(lattice: Lattice, source: int, text: str, unit: TextUnit, options: LatticeOptions) -> int:
    """Add every reading of a unit between `source` and a new node; give that node."""
    if not unit.readings and len(unit.original) == 1:  # most units are plain words
        target = _add_node(lattice)
        _add_atoms(lattice, (source, target), text, unit.original, 0, options)
        return target
    readings = [(0, unit.original), *((1, reading) for reading in unit.readings)]
    inner = [[_add_node(lattice) for _ in reading[1:]] for _, reading in readings]
    target = _add_node(lattice)
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
        lattice[nodes[0]].append(Edge(atom.words, atom.start, atom.end, rank, nodes[1]))
        if options.lemmatised and len(atom.words) == 1:
            written = text[atom.start : atom.end]
            form = written if atom.words[0] == fold(written) else atom.words[0]
            for lemma in lemmas(form, options.language):
                lattice[nodes[0]].append(Edge((lemma,), atom.start, atom.end, RANK[Form.LEMMATISED], nodes[1]))


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
    lattice[nodes[0]] += [Edge((form,), start, end, rank, nodes[1]) for rank, form in forms]


def paths(lattice: Lattice, most: int) -> Iterable[tuple[int, tuple[str, ...]]]:
    """The words along each path from the first node to the last, with its rank; at most so many."""
    last = len(lattice) - 1
    stack: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
    yielded = 0
    while stack and yielded < most:
        node, rank, words = stack.pop()
        if node == last:
            yielded += 1
            yield rank, words
        for edge in reversed(lattice[node]):
            stack.append((edge.target, max(rank, edge.rank), words + edge.words))


def units(text: str, language: str) -> Iterator[TextUnit]:
    """Cut a text into units, each with its readings, in order.

    Args:
        text: any text.
        language: a name from `signspot.words.tokens.languages`.
    """
    for match in _scanner(language).finditer(text):
        yield _unit(match.lastgroup or "", match[0], language).moved(match.start())


@cache
def _scanner(language: str) -> re.Pattern[str]:
    plain = {
        "number": rf"(?:{_GROUPED})(?![^\W_]|[.,:/]\d)",
        "word": word_pattern(apostrophes=False),
        "sign": f"[{re.escape(SYMBOLS)}]",
    }
    patterns = ENGLISH_PATTERNS if language == "en" else plain
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in patterns.items()))


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
    sayings = [number_words(digits, language)]
    if re.fullmatch(r"1[1-9]\d\d|20\d\d", surface):
        sayings.insert(0, number_words(digits, language, "year"))
    return tuple((Atom(words, 0, len(surface)),) for words in dict.fromkeys(sayings) if words)


_FORMS = tuple(Form)
_MOST_FORMS = 32  # of one dictionary word: "1990s" has a few, a sentence of numbers would have thousands
_JOINED = 2  # letters: "e-mail" and "t-shirt" are also found as one word, "ice-cream" as two


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A dictionary word at its place in a text."""

    word: str  # as the dictionary has it
    start: int  # text[start:end] is what matched
    end: int
    form: Form


@dataclass(slots=True)
class _Node:
    """A step in the trie of all words: what may follow, and which words end here."""

    children: "dict[str, _Node]" = field(default_factory=dict)
    words: list[tuple[int, int]] = field(default_factory=list)  # (rank of the form, number of the word)


_Hits = dict[tuple[int, int], dict[int, int]]  # span → number of the word → rank of the best form


class WordMatcher:
    """Finds the words of a dictionary in texts.

    A dictionary word is looked for as it is and in its normalised form; a text is searched as it is, normalised and
    lemmatised, each word of a phrase in whichever form fits, so "brushing teeth" is "brush-teeth". Hyphens and spaces
    are alike. No phrase goes on beyond a full stop. Time grows with the text, not with the vocabulary.
    """

    def __init__(self, words: Iterable[str], language: str = "en"):
        """Prepare to find words.

        Args:
            words: and phrases, hyphenated or spaced. One without letters, digits or signs is never found.
            language: of the words and the texts, as in "en" or "de-CH".

        Raises:
            OptionsError: the language is unknown, or one string was given instead of words.
            MissingExtraError: simplemma or num2words is not installed.
        """
        if isinstance(words, str):
            raise OptionsError(f"the words must be a list of strings, not the one string {words[:40]!r}")
        self.language = primary_language(language)
        self.words = tuple(dict.fromkeys(words))
        self._options = LatticeOptions(self.language)
        self._root = _Node()
        spelling = LatticeOptions(self.language, lemmatised=False, stops=False, longest_joined=_JOINED)
        for number, word in enumerate(self.words):
            for rank, form in paths(build(word, spelling), _MOST_FORMS):
                self._insert(form, rank, number)

    def _insert(self, form: tuple[str, ...], rank: int, number: int) -> None:
        node = self._root
        for word in form:
            node = node.children.setdefault(word, _Node())
        if form:
            node.words.append((rank, number))

    def find(self, text: str) -> list[WordMatch]:
        """Find words, the longest part of the text first, so that "ice" is not found in "ice cream".

        Returns:
            Matches in order of place, none overlapping. Where one part is several words, the one whose form is
            nearest to what is written, then the one that the dictionary names first.
        """
        return [self._match(span, self._ordered(ranks)[0]) for span, ranks in self._chosen(text)]

    def find_all(self, text: str) -> list[WordMatch]:
        """Find words as `find` does, but give every word of each part: "saw" is "saw", and a form of "see"."""
        return [self._match(span, pair) for span, ranks in self._chosen(text) for pair in self._ordered(ranks)]

    @staticmethod
    def _ordered(ranks: dict[int, int]) -> list[tuple[int, int]]:
        return sorted((rank, number) for number, rank in ranks.items())

    def _match(self, span: tuple[int, int], pair: tuple[int, int]) -> WordMatch:
        rank, number = pair
        return WordMatch(self.words[number], *span, _FORMS[rank])

    def _chosen(self, text: str) -> Iterator[tuple[tuple[int, int], dict[int, int]]]:
        hits = self._hits(build(text, self._options))
        for span in longest_first(hits, len(text)):
            yield span, hits[span]

    def _hits(self, lattice: Lattice) -> _Hits:
        """Every span at which some word ends a walk through both lattice and trie."""
        hits: _Hits = defaultdict(dict)
        root = self._root
        for node, edges in enumerate(lattice):
            if any(edge.words[0] in root.children for edge in edges):
                self._walk(lattice, node, hits)
        return hits

    def _walk(self, lattice: Lattice, node: int, hits: _Hits) -> None:
        """Follow all walks that begin at one node."""
        stack = [(node, self._root, 0, -1, -1)]
        while stack:
            source, at, rank, start, end = stack.pop()
            for edge in lattice[source]:
                reached = _step(at, edge)
                if reached is None:
                    continue
                first = edge.start if start < 0 else min(start, edge.start)
                last, worst = max(end, edge.end), max(rank, edge.rank)
                for spelling, number in reached.words:
                    ranks = hits[first, last]
                    ranks[number] = min(ranks.get(number, len(_FORMS)), max(worst, spelling))
                if reached.children:
                    stack.append((edge.target, reached, worst, first, last))


def _step(node: _Node, edge: Edge) -> _Node | None:
    """The trie's node after the words of an edge."""
    at: _Node | None = node
    for word in edge.words:
        at = at.children.get(word) if at else None
    return at


def longest_first(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Choose spans that do not overlap, each time the longest that is left, the earlier of two; in order of place."""
    by_length: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        by_length[span[1] - span[0]].append(span)
    is_covered = bytearray(length)
    chosen: list[tuple[int, int]] = []
    for size in sorted(by_length, reverse=True):
        for start, end in sorted(by_length[size]):
            if is_covered.find(1, start, end) < 0:
                is_covered[start:end] = b"\1" * size
                chosen.append((start, end))
    return sorted(chosen)
