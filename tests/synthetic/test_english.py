import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot_synthetic.language import english
from signspot_synthetic.language.english import (
    as_english,
    english_words,
    number_words,
    ordinal_digits,
    spelled,
    vocabulary,
    year_words,
)

BY_NAME = {word.word: word for word in english_words()}


def test_list_is_long_and_unique_and_holds_everyday_words():
    assert len(english_words()) >= 1300
    assert len(BY_NAME) == len(english_words())
    first = {word.word for word in vocabulary(1064)}
    assert {"apple", "friend", "language", "name", "what", "speak", "thank you", "twenty"} <= first


def test_a_small_vocabulary_holds_several_classes():
    assert len({word.kind for word in vocabulary(20)}) >= 8


@pytest.mark.parametrize("count", [1, 1787, 1900, 9000])
def test_vocabulary_of_any_size_is_unique_and_begins_alike(count):
    words = [word.word for word in vocabulary(count)]
    assert len(set(words)) == count
    assert words[:50] == [word.word for word in vocabulary(50)][:count]


def test_own_words_keep_their_class_and_unknown_ones_become_nouns():
    speak, quokka = as_english(["Speak", "quokka "])
    assert (speak.kind, quokka.kind, quokka.word) == ("act", "thing", "quokka")


@pytest.mark.parametrize(
    ("make", "words", "message"),
    [
        (vocabulary, 0, "got 0"),
        (vocabulary, 10_000_000, "at most"),
        (as_english, ["a", " "], "word 2"),
        (as_english, ["dog", "Dog"], "twice"),
    ],
)
def test_impossible_vocabularies_and_words_are_named(make, words, message):
    with pytest.raises(OptionsError, match=message):
        make(words)


@pytest.mark.parametrize(
    ("bend", "pairs"),
    [
        (english.plural, {"child": "children", "bus": "buses", "story": "stories", "bus stop": "bus stops"}),
        (english.present, {"go": "goes", "have": "has", "carry": "carries", "look after": "looks after"}),
        (english.past, {"go": "went", "stop": "stopped", "carry": "carried", "give up": "gave up", "cook": "cooked"}),
        (english.participle, {"write": "written", "travel": "travelled", "give up": "given up"}),
        (english.gerund, {"make": "making", "swim": "swimming", "die": "dying", "open": "opening"}),
        (english.comparative, {"big": "bigger", "happy": "happier", "important": "more important", "good": "better"}),
        (english.superlative, {"nice": "nicest", "bad": "worst", "famous": "most famous"}),
    ],
)
def test_inflection(bend, pairs):
    words = {**BY_NAME, "cook": english.EnglishWord("cook", "cook", "do")}
    assert {word: bend(words[word]) for word in pairs} == pairs


def test_article_goes_by_sound():
    assert [english.article(w) for w in ("apple", "dog", "hour", "university", "11th")] == ["an", "a", "an", "a", "an"]


@given(st.integers(1, 999_999_999))
def test_number_words_add_up_to_the_number(value):
    small = dict(zip(map(str, range(1, 20)), [number_words(n)[0] for n in range(1, 20)], strict=True))
    sizes = {word: int(digit) for digit, word in small.items()}
    sizes |= {number_words(n)[0]: n for n in range(20, 100, 10)}
    total = current = 0
    for word in number_words(value):
        if word == "hundred":
            current *= 100
        elif word in ("thousand", "million"):
            total, current = total + current * {"thousand": 1000, "million": 1_000_000}[word], 0
        else:
            current += sizes[word]
    assert total + current == value


def test_numbers_as_written_and_as_signed():
    assert year_words(1985) == ("nineteen", "eighty", "five")
    assert year_words(2003) == ("two", "thousand", "three")
    assert spelled(number_words(325)) == "three hundred twenty-five"
    assert [ordinal_digits(w) for w in ("first", "second", "third", "tenth")] == ["1st", "2nd", "3rd", "10th"]
