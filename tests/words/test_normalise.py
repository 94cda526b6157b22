"""Text as it is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.words.match import normalise, units

EXAMPLES = {
    "20": "twenty",
    "1,234": "one thousand two hundred and thirty four",
    "3.14": "three point one four",
    "07700": "zero seven seven zero zero",
    "It is -5 now": "It is minus five now",
    "5-6": "five six",
    "£5": "five pounds",
    "£1": "one pound",
    "£5.50": "five pounds fifty pence",
    "£1.01": "one pound one penny",
    "£5m": "five million pounds",
    "$3 billion!": "three billion dollars!",
    "€20": "twenty euros",
    "50p": "fifty pence",
    "1990": "nineteen ninety",
    "2005": "two thousand and five",
    "1990s": "nineteen nineties",
    "the 1990's": "the nineteen nineties",
    "the ’80s": "the eighties",
    "1900s": "nineteen hundreds",
    "2000s": "two thousands",
    "3rd": "third",
    "21st century": "twenty first century",
    "50%": "fifty percent",
    "2.5 %": "two point five percent",
    "3:30pm": "three thirty pm",
    "7.30 p.m. today": "seven thirty pm today",
    "9am": "nine am",
    "10:05": "ten oh five",
    "3:00": "three o'clock",
    "14:00": "fourteen hundred",
    "10km": "ten kilometres",
    "1kg": "one kilogram",
    "30°C": "thirty degrees celsius",
    "½": "half",
    "3½ hours": "three and a half hours",
    "2/3": "two thirds",
    "Dr Smith": "doctor Smith",
    "Dr. & Mrs. Who": "doctor and missus Who",
    "St Paul": "saint Paul",
    "the 1st rd": "the first rd",
    "e.g. this": "for example this",
    "the U.S.A. and U.K": "the usa and uk",
    "R&D": "R and D",
    "John's dogs": "John dogs",
    "It’s": "It is",
    "don't": "do not",
    "Won't": "will not",
    "I'm": "I am",
    "they've": "they have",
    "Let's go": "Let us go",
    "well-known": "well known",
    "G20 and 4x4": "G20 and 4x4",
    "1.2.3": "one.two.three",
    "Nothing to do, here!": "Nothing to do, here!",
    "": "",
}


@pytest.mark.parametrize(("text", "said"), EXAMPLES.items())
def test_english_by_hand(text: str, said: str) -> None:
    assert normalise(text) == said


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("21 Häuser", "de", "einundzwanzig Häuser"),
        ("1990", "de-AT", "neunzehnhundertneunzig"),
        ("1.234,5", "fr", "mille deux cent trente quatre virgule cinq"),
        ("5 casas", "pt_BR", "cinco casas"),
        ("5 teach", "ga", "5 teach"),  # no numbers in Irish: left as they are
    ],
)
def test_other_languages(text: str, language: str, said: str) -> None:
    assert normalise(text, language) == said


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(OptionsError, match=r"no lemmas for the language 'xx'. Choose one of: ar, ast"):
        normalise("x", "xx")


odd = st.text(st.sampled_from("0123456789.,:/-'’£$%½&°+ Ddr.stnmpaAk\n"), max_size=25)


@given(st.one_of(st.text(), odd))
def test_units_lie_in_order_in_the_text(text: str) -> None:
    done = 0
    for unit in units(text, "en"):
        assert done <= unit.start < unit.end <= len(text)
        done = unit.end
        for atom in (atom for reading in (unit.original, *unit.readings) for atom in reading):
            assert unit.start <= atom.start < atom.end <= unit.end
            assert atom.words
            assert all(atom.words)


@given(st.one_of(st.text(), odd))
def test_normalising_never_fails(text: str) -> None:
    assert "%" not in normalise(text)
    assert "£" not in normalise(text)


@given(st.lists(st.sampled_from([word for word in EXAMPLES.values() if word.isalpha()]), max_size=8).map(" ".join))
def test_what_is_normal_stays(text: str) -> None:
    assert normalise(text) == text
