"""From a word to what the lips show: phonemes by the CMU pronouncing dictionary or letter-to-sound rules, then visemes.

Phonemes are written as in that dictionary (ARPAbet); a vowel ends in 1 where it is stressed and in 0 where it is not.
Letter-to-sound rules are rough: the lips show neither voicing nor most of what happens behind the teeth.
"""

import json
import lzma
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from signspot.errors import OptionsError
from signspot.words.tokens import fold, number_words, primary_language

_FOLDER = Path(__file__).parent / "data"
# Phonemes by letters; a space stands for the end of a word. Rules of a language come before those of Latin letters.
_SOUNDS: dict[str, dict[str, str]] = json.loads((_FOLDER / "letter_sounds.json").read_text(encoding="utf-8"))
_LATIN = _SOUNDS["latin"]
# Where a vowel, one consonant and a final e follow each other, the vowel is long: "name", "time", "home", "tune".
_LONG = {"a": "EY1", "e": "IY1", "i": "AY1", "o": "OW1", "u": "UW1", "y": "AY1"}
_VOWELS = frozenset("aeiouy")


def spell_out(word: str, language: str = "en") -> list[str]:
    """The phonemes of one folded word by its spelling; none where it holds no letter that can be read.

    Args:
        word: one word in lower case.
        language: its primary part, as in "en".
    """
    rules = _rules(language)
    text = "".join(_readable(letter, rules) for letter in unicodedata.normalize("NFC", word))
    phonemes: list[str] = []
    position, padded = 0, text + " "
    while position < len(text):
        letter = text[position]
        if language == "en" and letter in _LONG and _is_long(padded, position):
            phonemes.append(_LONG[letter])
            position += 1
            continue
        if position and letter == text[position - 1] and letter not in _VOWELS:  # a double consonant is one
            position += 1
            continue
        rule = next(
            padded[position : position + n] for n in range(5, 0, -1) if padded[position : position + n] in rules
        )
        if not (phonemes or rules[rule]) and rule.strip() in _LATIN and rule != rule.strip():
            rule = rule.strip()  # "the" and "de" end in their only vowel
        phonemes += rules[rule].split()
        position += len(rule.rstrip())
    return phonemes


def _is_long(padded: str, position: int) -> bool:
    end = padded[position + 1 : position + 4]
    return end[1:] == "e " and end[0] not in _VOWELS and end[0] not in "rxw"


@cache
def _rules(language: str) -> dict[str, str]:
    """The rules of one language, by the letters that they read; a space stands for the end of the word."""
    return _LATIN | _SOUNDS.get(language, {})


def _readable(letter: str, rules: Mapping[str, str]) -> str:
    """A letter as the rules have it: as it is, without its marks, or not at all."""
    if letter in rules:
        return letter
    return "".join(part for part in unicodedata.normalize("NFKD", letter) if part in rules)


CONSONANTS = (
    *("B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N"),
    *("NG", "P", "R", "S", "SH", "T", "TH", "V", "W", "Y", "Z", "ZH"),
)
VOWELS = ("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW")
PHONEMES = (*CONSONANTS, *(f"{vowel}{stress}" for vowel in VOWELS for stress in (0, 1)))
# One character each, in the order of PHONEMES: how the data file writes a pronunciation.
CODES = "".join(chr(code) for code in range(ord("0"), ord("0") + len(PHONEMES)))

_PIECE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_LONGEST = 60  # letters of one word; longer ones are not words


def pronounce(word: str, language: str = "en") -> tuple[str, ...]:
    """The phonemes of a word or phrase.

    An English word is looked up in the CMU dictionary; one that is not there, and every word of another language, is
    read by letter-to-sound rules. Numbers are read in their language.

    Args:
        word: or phrase, hyphenated or spaced.
        language: as in "en" or "de-CH"; one without rules of its own is read as Latin letters usually are.

    Raises:
        OptionsError: it has no letter that the rules can read, or one of its words is too long to be one.
        MissingExtraError: it holds a number, and num2words is not installed.
    """
    tongue = language if language == "en" else primary_language(language)  # which needs simplemma
    phonemes: list[str] = []
    for piece in _pieces(word, tongue):
        if len(piece) > _LONGEST:
            raise OptionsError(f"'{piece[:20]}…' has {len(piece)} letters; a word has at most {_LONGEST}")
        code = _dictionary().get(piece) if tongue == "en" else None
        phonemes += _decode(code) if code else spell_out(piece, tongue)
    if not phonemes:
        raise OptionsError(
            f"the word {word!r} has no phonemes: no letter of it can be read. Write it in Latin letters, as it is said"
        )
    return tuple(phonemes)


def is_vowel(phoneme: str) -> bool:
    """Whether a phoneme is the heart of a syllable."""
    return phoneme[-1] in "01"


def is_known(word: str) -> bool:
    """Whether the CMU dictionary has an English word."""
    return fold(word) in _dictionary()


def known_words() -> tuple[str, ...]:
    """All words of the CMU dictionary, in order."""
    return tuple(_dictionary())


def _pieces(word: str, language: str) -> list[str]:
    """The single words of a phrase, folded; numbers as they are said."""
    pieces: list[str] = []
    for piece in _PIECE.findall(word.replace("’", "'")):
        if piece.isdecimal():
            spoken = number_words(piece, language)
            pieces += [letters for part in spoken for letters in _PIECE.findall(fold(part))]
        else:
            pieces.append(fold(piece))
    return pieces


@cache
def _dictionary() -> dict[str, str]:
    """Words to their coded pronunciations."""
    with lzma.open(_FOLDER / "pronunciations.txt.xz", "rt", encoding="ascii") as file:
        return dict(line.rstrip("\n").split("\t") for line in file)


def _decode(code: str) -> list[str]:
    return [PHONEMES[ord(character) - ord(CODES[0])] for character in code]


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
    visemes = [viseme for phoneme in phonemes for viseme in _OF_PHONEME[phoneme]]
    return tuple(viseme for number, viseme in enumerate(visemes) if not number or viseme != visemes[number - 1])


def visemes_of(word: str, language: str = "en") -> tuple[str, ...]:
    """The visemes of a word or phrase; raises OptionsError where it has no phonemes."""
    return of_phonemes(pronounce(word, language))


def query(word: str, language: str = "en") -> list[int]:
    """A word as the spotter asks for it: the numbers of its visemes in VISEMES, the first MOST_VISEMES of them.

    Raises:
        OptionsError: the word has no phonemes, or a single viseme: that is on the lips all the time.
    """
    visemes = visemes_of(word, language)
    if len(visemes) < 2:
        raise OptionsError(f"the word {word!r} is one mouth shape ('{visemes[0]}'), too little to spot. Leave it out")
    return [VISEMES.index(viseme) for viseme in visemes[:MOST_VISEMES]]
