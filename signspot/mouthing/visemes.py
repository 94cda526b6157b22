"""From a word to what the lips show: phonemes by the CMU pronouncing dictionary or letter-to-sound rules, then visemes.

Phonemes are written as in that dictionary (ARPAbet); a vowel ends in 1 where it is stressed and in 0 where it is not.
Letter-to-sound rules are rough: the lips show neither voicing nor most of what happens behind the teeth.
"""

import lzma
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from signspot.errors import OptionsError
from signspot.words.tokens import fold, number_words, primary_language

_LATIN = {
    **{"a": "AA1", "b": "B", "c": "K", "d": "D", "e": "EH1", "f": "F", "g": "G", "h": "HH", "i": "IY1", "j": "Y"},
    **{"k": "K", "l": "L", "m": "M", "n": "N", "o": "OW1", "p": "P", "q": "K", "r": "R", "s": "S", "t": "T"},
    **{"u": "UW1", "v": "V", "w": "V", "x": "K S", "y": "IY1", "z": "Z", "ch": "CH", "sh": "SH", "th": "T"},
    **{"ph": "F", "qu": "K W", "ck": "K", "ce": "S EH1", "ci": "S IY1", "ou": "UW1", "ai": "AY1", "ei": "EY1"},
    **{
        "au": "AW1",
        "oi": "OY1",
        "æ": "EH1",
        "œ": "ER1",
        "ø": "ER1",
        "ß": "S",
        "ł": "W",
        "đ": "D",
        "þ": "TH",
        "ð": "DH",
    },
}
_ENGLISH = {
    **{"a": "AE1", "e": "EH1", "i": "IH1", "o": "AA1", "u": "AH1", "y": "IH1", "j": "JH", "w": "W", "th": "TH"},
    **{"sch": "SH", "tch": "CH", "dge": "JH", "tion": "SH AH0 N", "sion": "ZH AH0 N", "ture": "CH ER0"},
    **{"wh": "W", "wr": "R", "kn": "N", "gn": "N", "gh": "", "igh": "AY1", "ough": "AO1", "augh": "AO1", "eigh": "EY1"},
    **{"ng": "NG", "nk": "NG K", "ee": "IY1", "ea": "IY1", "ie": "IY1", "ei": "EY1", "ey": "IY0", "oo": "UW1"},
    **{"oa": "OW1", "ou": "AW1", "ow": "OW1", "ai": "EY1", "ay": "EY1", "oy": "OY1", "au": "AO1", "aw": "AO1"},
    **{"ew": "UW1", "ue": "UW1", "ui": "UW1", "ar": "AA1 R", "er": "ER0", "ir": "ER1", "or": "AO1 R", "ur": "ER1"},
    **{
        "cy": "S IY0",
        "ge": "JH EH1",
        "gi": "JH IH1",
        "ous": "AH0 S",
        "le ": "AH0 L",
        "y ": "IY0",
        "e ": "",
        "es ": "Z",
    },
    **{"ed ": "D", "a ": "AH0", "o ": "OW1", "i ": "IY1"},
}
# Where a vowel, one consonant and a final e follow each other, the vowel is long: "name", "time", "home", "tune".
_LONG = {"a": "EY1", "e": "IY1", "i": "AY1", "o": "OW1", "u": "UW1", "y": "AY1"}
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "de": {
        **{"sch": "SH", "tsch": "CH", "ch": "HH", "ie": "IY1", "ei": "AY1", "eu": "OY1", "äu": "OY1", "ä": "EH1"},
        **{"ö": "ER1", "ü": "UW1", "v": "F", "z": "T S", "st": "SH T", "sp": "SH P", "qu": "K V", "e ": "AH0"},
        **{"er ": "ER0", "en ": "AH0 N", "ng": "NG", "ah": "AA1", "oh": "OW1", "uh": "UW1", "eh": "EY1"},
    },
    "fr": {
        **{"ch": "SH", "j": "ZH", "ge": "ZH", "gi": "ZH IY1", "gn": "N Y", "eau": "OW1", "au": "OW1", "ou": "UW1"},
        **{"oi": "W AA1", "ai": "EH1", "ei": "EH1", "u": "UW1", "eu": "ER1", "é": "EY1", "ç": "S", "qu": "K", "h": ""},
        **{"on": "AO1", "an": "AA1", "en": "AA1", "in": "AE1", "un": "AE1", "e ": "", "es ": "", "t ": "", "s ": ""},
        **{"d ": "", "x ": "", "er ": "EY1", "ez ": "EY1", "w": "W", "ill": "IY1 Y", "th": "T"},
    },
    "es": {
        **{"j": "HH", "ge": "HH EH1", "gi": "HH IY1", "ll": "Y", "ñ": "N Y", "qu": "K", "h": "", "z": "S", "v": "B"},
        **{"gue": "G EH1", "gui": "G IY1", "ü": "W", "y": "Y", "y ": "IY1", "ch": "CH", "hue": "W EH1", "hui": "W IY1"},
        **{"cce": "K S EH1", "cci": "K S IY1", "ps": "S", "o": "AO1", "oi": "AO1 IY1", "ou": "AO1 UW1"},  # o is even
    },
    "it": {
        **{
            "ce": "CH EH1",
            "ci": "CH IY1",
            "che": "K EH1",
            "chi": "K IY1",
            "ge": "JH EH1",
            "gi": "JH IY1",
            "gli": "L IY1",
        },
        **{"gn": "N Y", "sci": "SH IY1", "sce": "SH EH1", "h": "", "z": "T S", "qu": "K W", "ch": "K"},
    },
    "nl": {
        **{"oe": "UW1", "ij": "EY1", "ei": "EY1", "ui": "AW1", "eu": "ER1", "ie": "IY1", "uu": "UW1", "aa": "AA1"},
        **{"sch": "S HH", "ch": "HH", "g": "HH", "w": "V", "en ": "AH0", "e ": "AH0", "ou": "AW1"},
    },
    "pt": {
        **{"ch": "SH", "nh": "N Y", "lh": "L Y", "ç": "S", "ão": "AW1", "j": "ZH", "x": "SH", "h": "", "qu": "K"},
        **{"o ": "UW0", "e ": "IY0", "ou": "OW1"},
    },
}
_VOWELS = frozenset("aeiouy")


def spell_out(word: str, language: str = "en") -> list[str]:
    """The phonemes of one folded word by its spelling; none where it holds no letter that can be read.

    Args:
        word: one word in lower case.
        language: its primary part, as in "en".
    """
    rules = _rules(language)
    text = "".join(_readable(letter, rules) for letter in unicodedata.normalize("NFC", word))
    found: list[str] = []
    place, padded = 0, text + " "
    while place < len(text):
        letter = text[place]
        if language == "en" and letter in _LONG and _is_long(padded, place):
            found.append(_LONG[letter])
            place += 1
            continue
        if place and letter == text[place - 1] and letter not in _VOWELS:  # a double consonant is one
            place += 1
            continue
        rule = next(padded[place : place + n] for n in range(5, 0, -1) if padded[place : place + n] in rules)
        if not (found or rules[rule]) and rule.strip() in _LATIN and rule != rule.strip():
            rule = rule.strip()  # "the" and "de" end in their only vowel
        found += rules[rule].split()
        place += len(rule.rstrip())
    return found


def _is_long(padded: str, place: int) -> bool:
    end = padded[place + 1 : place + 4]
    return end[1:] == "e " and end[0] not in _VOWELS and end[0] not in "rxw"


@cache
def _rules(language: str) -> dict[str, str]:
    """The rules of one language, by the letters that they read; a space stands for the end of the word."""
    return _LATIN | dict(_ENGLISH if language == "en" else _OTHERS.get(language, {}))


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
