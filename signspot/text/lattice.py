"""All readings of a text at once: a lattice in which every path is a way to say it, with its place in the text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from signspot.text.lemmas import lemmas
from signspot.text.normalise import units
from signspot.text.tokens import HYPHENS, fold
from signspot.text.units import Reading, Unit

_STOP = re.compile(r"[.!?;:…]")  # no phrase goes on beyond these


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
    """Which readings a lattice holds."""

    language: str
    lemmatised: bool = True  # dictionary forms, too
    stops: bool = True  # no path leads across a full stop
    longest_joined: int | None = None  # join hyphenated parts only if one has at most so many letters


def build(text: str, options: LatticeOptions) -> Lattice:
    """Build the lattice of a text, in time linear in its length."""
    lattice = Lattice()
    here = 0
    last: Unit | None = None
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


def _add_unit(lattice: Lattice, source: int, text: str, unit: Unit, options: LatticeOptions) -> int:
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
    lattice: Lattice, nodes: tuple[int, int], parts: tuple[str, str], first: Unit, options: LatticeOptions
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
