import re
from collections import Counter

import numpy as np
import pytest

from signspot_synthetic.language.english import english_words, vocabulary
from signspot_synthetic.language.sentences import (
    GESTURES,
    Draft,
    DraftToken,
    Interpreter,
    Sentence,
    SentenceMention,
    SentenceWriter,
    WordFrequencies,
    assemble,
    write_tokens,
)
from signspot_synthetic.random_streams import named_rng

LISTED = vocabulary(1064)
COUNT = 3000


@pytest.fixture(scope="module")
def writer():
    return SentenceWriter(LISTED)


@pytest.fixture(scope="module")
def sentences(writer):
    rng = named_rng(3, "sentences")
    return [writer.write(rng) for _ in range(COUNT)]


@pytest.fixture(scope="module")
def signed(writer, sentences):
    signable = [word.word for word in vocabulary(1300)] + list(GESTURES)
    interpreter, rng = Interpreter(writer, signable, seed=3), named_rng(3, "signing")
    return [interpreter.sign(sentence, rng) for sentence in sentences]


def test_assembling_gives_spaces_a_capital_and_spans():
    sentence = assemble(
        [
            DraftToken("the"),
            DraftToken("£5", ("five", "pound"), 4),
            DraftToken(","),
            DraftToken("TV", ("tv",), 2),
            DraftToken("."),
        ]
    )
    assert sentence.text == "The £5, TV."
    assert [sentence.text[m.start : m.end] for m in sentence.mentions] == ["£5", "TV"]


def test_sentences_look_like_subtitles(sentences):
    assert 7 <= np.mean([len(s.text.split()) for s in sentences]) <= 9
    for sentence in sentences:
        assert re.fullmatch(r"[A-Z0-9£$€].*[.?!]", sentence.text), sentence.text
        assert not re.search(r"  | [,.?!]", sentence.text), sentence.text


def test_numbers_inflections_phrases_and_function_words_occur(sentences):
    text = "\n".join(s.text for s in sentences)
    for pattern in (
        r"\b\d+ \w+s\b",
        r"£\d",
        r"\d%",
        r"\b1\d\d0s\b",
        r"\b3rd\b",
        r"\d,\d{3}\b",
        r"\bthe\b",
        r"\bdidn't\b",
    ):
        assert re.search(pattern, text), pattern
    for form in ("children", "went", "bigger", "stopped", "speaks", "making", "police station", "sign language"):
        assert form in text, form


def test_word_frequencies_follow_zipf(signed):
    listed = {word.word for word in LISTED}
    counts = np.array(sorted(Counter(g.word for gs in signed for g in gs if g.word in listed).values())[::-1])
    middle = slice(4, len(counts) // 2)
    ranks = np.arange(1, len(counts) + 1)
    slope = np.polyfit(np.log(ranks[middle]), np.log(counts[middle]), 1)[0]
    assert -1.2 < slope < -0.6
    assert len(counts) > 0.9 * len(listed)  # rare words are met, too


def test_some_words_are_not_signed_and_some_signs_are_not_written(sentences, signed):
    listed = {word.word for word in LISTED}
    written = sum(w in listed for s in sentences for m in s.mentions for w in m.words)
    rendered = sum(g.word in listed and g.mention is not None for gs in signed for g in gs)
    extra = sum(g.word in listed and g.mention is None for gs in signed for g in gs)
    signed_words = {g.word for gs in signed for g in gs}
    never = sum(w not in signed_words for s in sentences for m in s.mentions for w in m.words)
    assert 0.5 < rendered / written < 0.9
    assert extra > 0.01 * written
    assert never > 100
    assert min(len(gs) for gs in signed) == 1


def test_signing_order_differs_from_the_written_order(signed):
    orders = [[g.mention for g in gs if g.mention is not None] for gs in signed]
    longer = [order for order in orders if len(order) >= 3]
    assert np.mean([order != sorted(order) for order in longer]) > 0.5


def test_unsigned_words_are_a_property_of_the_word(writer):
    interpreter = Interpreter(writer, ["have", "house"], seed=1)
    assert interpreter.rate("house") > interpreter.rate("have") > 0
    sentence = Sentence("House", (SentenceMention(0, 5, ("house",), None),))
    assert all(
        g.word != "house" for _ in range(30) for g in interpreter.sign(sentence, named_rng(1, _)) if g.mention == 0
    )


@pytest.mark.parametrize("count", [1, 2, 12])
def test_tiny_vocabularies_are_used_in_most_sentences(count):
    writer, rng = SentenceWriter(vocabulary(count)), named_rng(1, count)
    listed = {word.word for word in vocabulary(count)}
    used = [any(w in listed for m in writer.write(rng).mentions for w in m.words) for _ in range(200)]
    assert np.mean(used) > 0.8


def test_every_word_finds_its_place():
    words = english_words()
    listed, rng = WordFrequencies(words), named_rng(5, "places")
    missed = []
    for word in words:
        draft = Draft(listed, WordFrequencies([]), rng)
        draft.wanted = word
        if all(word.word not in token.words for token in write_tokens(draft)):
            missed.append(word.word)
    assert len(missed) < 0.02 * len(words), missed
