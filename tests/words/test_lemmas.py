"""Words in their dictionary form."""

import sys

import pytest

from signspot.errors import MissingExtraError, OptionsError
from signspot.words import tokens as module
from signspot.words.tokens import languages, lemmas, primary_language


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
    with pytest.raises(OptionsError, match="Choose one of"):
        primary_language(tag)


def test_a_missing_lemmatiser_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module._simplemma.cache_clear()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'signspot\[text\]'"):
        module._simplemma()
    monkeypatch.undo()
    module._simplemma.cache_clear()
