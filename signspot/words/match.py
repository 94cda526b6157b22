"""From subtitles to the words worth looking up: dictionary words and phrases, found in any form, with their place."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from signspot.errors import OptionsError
from signspot.words.lemmas import primary_language
from signspot.words.normalise import Edge, Form, Lattice, LatticeOptions, build, paths

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
        """Find words, the longest stretch of text first, so that "ice" is not found in "ice cream".

        Returns:
            Matches in order of place, none overlapping. Where one stretch is several words, the one whose form is
            nearest to what is written, then the one that the dictionary names first.
        """
        return [self._match(span, self._ordered(found)[0]) for span, found in self._chosen(text)]

    def find_all(self, text: str) -> list[WordMatch]:
        """Find words as `find` does, but give every word of each stretch: "saw" is "saw", and a form of "see"."""
        return [self._match(span, pair) for span, found in self._chosen(text) for pair in self._ordered(found)]

    @staticmethod
    def _ordered(found: dict[int, int]) -> list[tuple[int, int]]:
        return sorted((rank, number) for number, rank in found.items())

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
        for node, edges in enumerate(lattice.edges):
            if any(edge.words[0] in root.children for edge in edges):
                self._walk(lattice, node, hits)
        return hits

    def _walk(self, lattice: Lattice, node: int, hits: _Hits) -> None:
        """Follow all walks that begin at one node."""
        stack = [(node, self._root, 0, -1, -1)]
        while stack:
            place, at, rank, start, end = stack.pop()
            for edge in lattice.edges[place]:
                reached = _step(at, edge)
                if reached is None:
                    continue
                first = edge.start if start < 0 else min(start, edge.start)
                last, worst = max(end, edge.end), max(rank, edge.rank)
                for spelling, number in reached.words:
                    found = hits[first, last]
                    found[number] = min(found.get(number, len(_FORMS)), max(worst, spelling))
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
    taken = bytearray(length)
    chosen: list[tuple[int, int]] = []
    for size in sorted(by_length, reverse=True):
        for start, end in sorted(by_length[size]):
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\1" * size
                chosen.append((start, end))
    return sorted(chosen)
