"""Numbers as words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.words.tokens import number_words, speaks_numbers


@pytest.mark.parametrize(
    ("digits", "language", "words"),
    [
        ("21", "en", "twenty one"),
        ("120", "en", "one hundred and twenty"),
        ("3.14", "en", "three point one four"),
        ("21", "de", "einundzwanzig"),
        ("007", "en", "zero zero seven"),
        ("1234567890123456", "en", "one two three four five six seven eight nine zero one two three four five six"),
        ("5", "ga", ""),
    ],
)
def test_a_number_by_hand(digits: str, language: str, words: str) -> None:
    assert " ".join(number_words(digits, language)) == words


def test_which_languages_are_spoken() -> None:
    assert speaks_numbers("fr")
    assert speaks_numbers("nb")
    assert not speaks_numbers("ga")


@given(st.integers(0, 10**20))
def test_every_number_can_be_said_in_english(number: int) -> None:
    words = number_words(str(number), "en")
    assert words
    assert all(word.isalpha() for word in words)


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_different_numbers_sound_different(one: int, other: int) -> None:
    assert (number_words(str(one), "en") == number_words(str(other), "en")) == (one == other)
