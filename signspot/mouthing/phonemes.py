"""From words to phonemes: the CMU pronouncing dictionary, and letter-to-sound rules for all that it lacks.

Phonemes are written as in that dictionary (ARPAbet); a vowel ends in 1 where it is stressed and in 0 where it is not.
"""

import lzma
import re
from functools import cache
from pathlib import Path

from signspot.errors import OptionsError
from signspot.mouthing.letters import spell_out
from signspot.words.tokens import fold, number_words, primary_language

CONSONANTS = (
    *("B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N"),
    *("NG", "P", "R", "S", "SH", "T", "TH", "V", "W", "Y", "Z", "ZH"),
)
VOWELS = ("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW")
PHONEMES = (*CONSONANTS, *(f"{vowel}{stress}" for vowel in VOWELS for stress in (0, 1)))
# One character each, in the order of PHONEMES: how the data file writes a pronunciation.
CODES = "".join(chr(code) for code in range(ord("0"), ord("0") + len(PHONEMES)))

_DATA = Path(__file__).parent / "data" / "pronunciations.txt.xz"
_PIECE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_LONGEST = 60  # letters of one word; longer ones are no words


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
    found: list[str] = []
    for piece in _pieces(word, tongue):
        if len(piece) > _LONGEST:
            raise OptionsError(f"'{piece[:20]}…' has {len(piece)} letters; a word has at most {_LONGEST}")
        known = _dictionary().get(piece) if tongue == "en" else None
        found += _decode(known) if known else spell_out(piece, tongue)
    if not found:
        raise OptionsError(
            f"the word {word!r} has no phonemes: no letter of it can be read. Write it in Latin letters, as it is said"
        )
    return tuple(found)


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
            said = number_words(piece, language)
            pieces += [each for part in said for each in _PIECE.findall(fold(part))]
        else:
            pieces.append(fold(piece))
    return pieces


@cache
def _dictionary() -> dict[str, str]:
    """Words to their coded pronunciations."""
    with lzma.open(_DATA, "rt", encoding="ascii") as file:
        return dict(line.rstrip("\n").split("\t") for line in file)


def _decode(code: str) -> list[str]:
    return [PHONEMES[ord(each) - ord(CODES[0])] for each in code]
