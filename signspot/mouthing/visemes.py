"""From phonemes to visemes: what the lips show of a word. Words with the same visemes are homophenes."""

from collections.abc import Sequence

from signspot.errors import OptionsError
from signspot.mouthing.phonemes import pronounce

_OF_PHONEME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("P", "B", "M"), ("closed",)),
    **dict.fromkeys(("F", "V"), ("teeth",)),
    **dict.fromkeys(("TH", "DH"), ("between",)),
    **dict.fromkeys(("T", "D", "N", "L"), ("tongue",)),
    **dict.fromkeys(("S", "Z"), ("hiss",)),
    **dict.fromkeys(("SH", "ZH", "CH", "JH"), ("hush",)),
    **dict.fromkeys(("K", "G", "NG", "HH"), ("back",)),
    **{"R": ("r",), "W": ("w",), "Y": ("spread",)},
    **{"AA1": ("open",), "AE1": ("open",), "AH1": ("mid",), "AO1": ("round",), "EH1": ("mid",), "ER1": ("r",)},
    **{"IH1": ("spread",), "IY1": ("spread",), "UH1": ("pursed",), "UW1": ("pursed",), "EY1": ("mid", "spread")},
    **{"AY1": ("open", "spread"), "AW1": ("open", "pursed"), "OW1": ("round", "pursed"), "OY1": ("round", "spread")},
    **{"AA0": ("open",), "AE0": ("mid",), "AH0": ("neutral",), "AO0": ("round",), "EH0": ("mid",), "ER0": ("neutral",)},
    **{"IH0": ("neutral",), "IY0": ("spread",), "UH0": ("neutral",), "UW0": ("pursed",), "EY0": ("mid", "spread")},
    **{"AY0": ("open", "spread"), "AW0": ("open", "pursed"), "OW0": ("round",), "OY0": ("round", "spread")},
}
VISEMES = tuple(dict.fromkeys(viseme for visemes in _OF_PHONEME.values() for viseme in visemes))
MOST_VISEMES = 16  # of a query: what follows in a longer phrase is not looked at


def of_phonemes(phonemes: Sequence[str]) -> tuple[str, ...]:
    """The visemes of phonemes; neighbours that look the same are one."""
    found = [viseme for phoneme in phonemes for viseme in _OF_PHONEME[phoneme]]
    return tuple(viseme for place, viseme in enumerate(found) if not place or viseme != found[place - 1])


def visemes_of(word: str, language: str = "en") -> tuple[str, ...]:
    """The visemes of a word or phrase; raises OptionsError where it has no phonemes."""
    return of_phonemes(pronounce(word, language))


def query(word: str, language: str = "en") -> list[int]:
    """A word as the spotter asks for it: the numbers of its visemes in VISEMES, the first MOST_VISEMES of them.

    Raises:
        OptionsError: the word has no phonemes, or a single viseme: that is on the lips all the time.
    """
    found = visemes_of(word, language)
    if len(found) < 2:
        raise OptionsError(f"the word {word!r} is one mouth shape ('{found[0]}'), too little to spot. Leave it out")
    return [VISEMES.index(viseme) for viseme in found[:MOST_VISEMES]]
