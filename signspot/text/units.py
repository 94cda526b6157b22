"""What a text is made of on the way to normalised words: units, each with the ways in which it can be read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Atom:
    """Words that one stretch of text stands for; they match together or not at all ("25" is no "five")."""

    words: tuple[str, ...]  # folded
    start: int
    end: int

    def moved(self, by: int) -> "Atom":
        """The same atom in a longer text."""
        return Atom(self.words, self.start + by, self.end + by)


Reading = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of text that is normalised as a whole: a word, "£5", "3:30 pm", "don't"."""

    start: int
    end: int
    original: Reading
    readings: tuple[Reading, ...] = ()  # normalised, the likeliest first; none where it is normal already

    def moved(self, by: int) -> "Unit":
        """The same unit in a longer text."""
        original = tuple(atom.moved(by) for atom in self.original)
        readings = tuple(tuple(atom.moved(by) for atom in reading) for reading in self.readings)
        return Unit(self.start + by, self.end + by, original, readings)
