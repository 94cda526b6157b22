"""Words in any script, at their place."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.words.tokens import fold, tokens


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
    found = list(tokens(text))
    assert all(fold(text[token.start : token.end]) == token.word for token in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    letters = sum(character.isalnum() for character in text)
    assert sum(c.isalnum() for token in found for c in text[token.start : token.end]) == letters


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
