"""Words to phonemes to visemes: the dictionary, rules for what it lacks, other languages, and what cannot be read."""

import pytest

from signspot.errors import OptionsError
from signspot.mouthing.visemes import (
    CODES,
    MOST_VISEMES,
    PHONEMES,
    VISEMES,
    is_known,
    known_words,
    of_phonemes,
    pronounce,
    query,
    visemes_of,
)


def test_every_word_of_the_data_can_be_shown_on_lips():
    words = known_words()
    assert len(words) > 120_000
    assert len(set(CODES)) == len(PHONEMES)
    for word in words[::997]:
        assert of_phonemes(pronounce(word))


@pytest.mark.parametrize(
    ("word", "language", "phonemes"),
    [
        ("apple", "en", "AE1 P AH0 L"),
        ("Apple", "en", "AE1 P AH0 L"),
        ("ice-cream", "en", "AY1 S K R IY1 M"),
        ("mother’s", "en", "M AH1 DH ER0 Z"),
        ("42", "en", "F AO1 R T IY0 T UW1"),
        ("brexiteer", "en", "B R EH1 K S IH1 T IY1 R"),  # no dictionary has it
        ("vape", "en", "V EY1 P"),
        ("Straße", "de", "SH T R AA1 S AH0"),
        ("mañana", "es", "M AA1 N Y AA1 N AA1"),
        ("acción", "es", "AA1 K S IY1 AO1 N"),
        ("pingüino", "es", "P IY1 N G W IY1 N AO1"),
        ("guerra", "es", "G EH1 R AA1"),
        ("huevo", "es", "W EH1 B AO1"),
        ("cigüeña", "es", "S IY1 G W EH1 N Y AA1"),
        ("hoy", "es", "AO1 IY1"),
        ("llegar", "es", "Y EH1 G AA1 R"),
        ("jirafa", "es-PE", "HH IY1 R AA1 F AA1"),
        ("bateau", "fr", "B AA1 T OW1"),
        ("žena", "cs", "Z EH1 N AA1"),  # no rules of its own: Latin letters without their marks
        ("die", "de", "D IY1"),
    ],
)
def test_words_are_said(word, language, phonemes):
    assert pronounce(word, language) == tuple(phonemes.split())


def test_only_english_is_looked_up():
    assert pronounce("chat") != pronounce("chat", "fr")
    assert is_known("Chat")
    assert not is_known("brexiteer")


@pytest.mark.parametrize("word", ["", "—", "東京", "♪"])
def test_a_word_without_phonemes_is_refused_with_the_reason(word):
    with pytest.raises(OptionsError):
        pronounce(word)


def test_endless_words_are_refused():
    with pytest.raises(OptionsError, match="300"):
        pronounce("a" * 300)


@pytest.mark.parametrize("pair", [("sheep", "jeep"), ("pat", "bat"), ("fan", "van")])
def test_homophenes_look_the_same(pair):
    assert visemes_of(pair[0]) == visemes_of(pair[1])
    assert visemes_of(pair[0]) != visemes_of("moon")


def test_a_query_is_of_bounded_length_and_at_least_two_shapes():
    assert query("mop") == [VISEMES.index(shape) for shape in ("closed", "open", "closed")]
    assert len(query("a very long phrase that nobody would ever mouth as one")) == MOST_VISEMES
    with pytest.raises(OptionsError):
        query("a")
