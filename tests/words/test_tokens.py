"""Words of a text, their lemmas, and numbers as words."""

import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import MissingExtraError, OptionsError
from signspot.words import tokens as module
from signspot.words.tokens import fold, languages, lemmas, number_words, primary_language, speaks_numbers, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t stop!", ["don't", "stop"]),
        ("ice-cream_van", ["ice", "cream", "van"]),
        ("£5 & 1,000 at 3:30, 3rd", ["£", "5", "&", "1,000", "at", "3:30", "3rd"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("Stra\u00dfe STRASSE", ["strasse", "strasse"]),
        (unicodedata.normalize("NFD", "Déjà vu"), ["déjà", "vu"]),
        ("co\u00adoperate", ["cooperate"]),
        ("… -- ?!", []),
    ],
)
def test_a_text_by_hand(text: str, words: list[str]) -> None:
    assert [token.word for token in tokens(text)] == words


def test_an_apostrophe_parts_words_where_the_language_says_so() -> None:
    assert [token.word for token in tokens("l'homme", apostrophes=False)] == ["l", "homme"]


@given(st.text())
def test_tokens_are_in_order_and_at_their_place(text: str) -> None:
    all_tokens = list(tokens(text))
    assert all(fold(text[token.start : token.end]) == token.word for token in all_tokens)
    assert all(one.end <= other.start for one, other in pairwise(all_tokens))
    letters = sum(character.isalnum() for character in text)
    assert sum(c.isalnum() for token in all_tokens for c in text[token.start : token.end]) == letters


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("word", "language", "lemma"),
    [
        ("children", "en", "child"),
        ("CHILDREN", "en", "child"),
        ("Running", "en", "run"),
        ("went", "en", "go"),
        ("Häuser", "de", "haus"),
        ("HÄUSER", "de", "haus"),
        ("maisons", "fr", "maison"),
    ],
)
def test_a_word_by_hand(word: str, language: str, lemma: str) -> None:
    assert lemma in lemmas(word, language)


@pytest.mark.parametrize("word", ["child", "20", "", "won't", "1990s!", "a" * 10_000, "£"])
def test_words_without_another_form(word: str) -> None:
    assert word not in lemmas(word)
    assert len(lemmas(word)) <= (word == "1990s!")


@pytest.mark.parametrize(
    ("tag", "name"), [("en-GB", "en"), ("EN", "en"), ("pt_BR", "pt"), ("no", "nb"), ("hr", "hbs"), ("cy", "cy")]
)
def test_language_tags(tag: str, name: str) -> None:
    assert primary_language(tag) == name
    assert name in languages()


@pytest.mark.parametrize("tag", ["", "xx", "bfi", "../en"])
def test_unknown_languages_are_refused(tag: str) -> None:
    with pytest.raises(OptionsError):
        primary_language(tag)


def test_a_missing_lemmatiser_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module._simplemma.cache_clear()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'signspot\[text\]'"):
        module._simplemma()
    monkeypatch.undo()
    module._simplemma.cache_clear()


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
