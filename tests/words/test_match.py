"""Dictionary words in subtitles: in any form, at their place, the longest first, in linear time."""

import random
import sys
from itertools import pairwise
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.words.match import Form, WordMatcher, longest_first, units
from signspot.words.tokens import tokens

Found = list[tuple[str, str, str]]


def find(words: list[str], text: str, language: str = "en") -> Found:
    return [(m.word, text[m.start : m.end], str(m.form)) for m in WordMatcher(words, language).find(text)]


@pytest.mark.parametrize(
    ("word", "text", "part", "form"),
    [
        ("happy", "I am Happy!", "Happy", "original"),
        ("ice-cream", "Two ice creams", "ice creams", "lemmatised"),
        ("ice cream", "an ice-cream van", "ice-cream", "original"),
        ("new-york", "in New\nYork now", "New\nYork", "original"),
        ("20", "twenty dogs", "twenty", "normalised"),
        ("twenty", "20 dogs", "20", "normalised"),
        ("twenty-five", "25 dogs", "25", "normalised"),
        ("five-pounds", "for £5 only", "£5", "normalised"),
        ("pound", "for £5 only", "£", "lemmatised"),
        ("five", "for £5 only", "5", "normalised"),
        ("1990s", "the nineteen nineties", "nineteen nineties", "normalised"),
        ("nineties", "the 1990s", "1990s", "normalised"),
        ("third", "the 3rd man", "3rd", "normalised"),
        ("doctor", "Dr. Who", "Dr.", "normalised"),
        ("dr", "the doctor", "doctor", "normalised"),
        ("doctor", "two doctors", "doctors", "lemmatised"),
        ("child", "the children's books", "children", "lemmatised"),
        ("John", "John’s book", "John", "normalised"),
        ("not", "I can't", "n't", "normalised"),
        ("do-not", "Don’t!", "Don’t", "normalised"),
        ("brush-teeth", "brushing teeth", "brushing teeth", "lemmatised"),
        ("twenty-dog", "20 dogs", "20 dogs", "lemmatised"),
        ("email", "your e-mails", "e-mails", "lemmatised"),
        ("e-mail", "your email", "email", "normalised"),
        ("per cent", "50%", "%", "normalised"),
        ("hundred", "100 people", "100", "normalised"),
        ("hello, how are you?", "Hello, how are you?", "Hello, how are you", "original"),
        ("r&d", "R&D", "R&D", "original"),
        ("mister smith", "Mr. Smith", "Mr. Smith", "normalised"),
        ("o'clock", "at three o’clock", "o’clock", "original"),
    ],
)
def test_a_word_by_hand(word: str, text: str, part: str, form: str) -> None:
    assert find([word], text) == [(word, part, form)]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("five", "25 dogs"),
        ("hundred", "120 dogs"),
        ("one", "1,000 dogs"),
        ("£5", "5 dogs"),
        ("ice-cream", "I like ice. Cream, too"),
        ("children", "a child"),  # the dictionary's word is not lemmatised
        ("cat", "concatenate"),
        ("?", "What?"),
        ("", "What?"),
        ("street", "the best rest"),
    ],
)
def test_what_must_not_match(word: str, text: str) -> None:
    assert find([word], text) == []


@pytest.mark.parametrize(
    ("language", "word", "text", "part"),
    [
        ("de", "Haus", "drei alte HÄUSER", "HÄUSER"),
        ("de", "zwanzig", "20 Leute", "20"),
        ("fr", "ami", "l'ami", "ami"),
        ("fr", "maison", "les maisons", "maisons"),
        ("hi", "भाषा", "हिन्दी भाषा", "भाषा"),
    ],
)
def test_other_languages(language: str, word: str, text: str, part: str) -> None:
    assert [match[:2] for match in find([word], text, language)] == [(word, part)]


def test_the_longest_phrase_goes_first() -> None:
    words = ["ice", "cream", "ice-cream", "ice cream van", "van"]
    assert find(words, "ice, an ice cream van and cream") == [
        ("ice", "ice", "original"),
        ("ice cream van", "ice cream van", "original"),
        ("cream", "cream", "original"),
    ]
    assert [match[0] for match in find(["a b", "b cc"], "a b cc")] == ["b cc"]


def test_one_span_that_is_several_words() -> None:
    matcher = WordMatcher(["see", "saw", "twenty", "20"])
    assert [(m.word, m.form) for m in matcher.find("I saw 20")] == [("saw", Form.ORIGINAL), ("20", Form.ORIGINAL)]
    assert [(m.word, m.start, str(m.form)) for m in matcher.find_all("I saw 20")] == [
        ("saw", 2, "original"),
        ("see", 2, "lemmatised"),
        ("20", 6, "original"),
        ("twenty", 6, "normalised"),
    ]


def test_words_are_a_list_not_a_string() -> None:
    with pytest.raises(OptionsError):
        WordMatcher("apple")
    assert WordMatcher([]).find("anything") == []


VOCABULARY = [
    "go", "went", "ice", "cream", "ice-cream", "20", "twenty five", "pounds", "five pounds", "child", "children play",
    "play", "not", "will not", "the nineties", "third", "doctor", "e-mail", "new york", "york minster", "half", "and",
    "percent", "o'clock", "three", "pm",
]  # fmt: skip
PIECES = [
    "went", "ICE", "creams", "ice-cream", "20", "25", "£5", "5", "children", "plays", "won't", "don’t", "1990s",
    "3rd", "Dr.", "Dr", "E-mails", "New", "York", "Minster", "½", "&", "50%", "3:00", "3pm", "John's",
    "the", "nineties",
]  # fmt: skip
texts = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from([" ", "-", ", ", ". ", "\n", ""])), max_size=12
).map(lambda pairs: "".join(piece + gap for piece, gap in pairs))
MATCHER = WordMatcher(VOCABULARY)


@given(st.one_of(texts, st.text()))
def test_spans_hold_what_matched_and_never_overlap(text: str) -> None:
    matches = MATCHER.find(text)
    for match in matches:
        assert 0 <= match.start < match.end <= len(text)
        part = text[match.start : match.end]
        assert part == part.strip()
        if match.form is Form.ORIGINAL:
            assert [t.word for t in tokens(part)] == [t.word for t in tokens(match.word)]
        else:
            assert match in WordMatcher([match.word]).find_all(text)
    assert all(one.end <= other.start for one, other in pairwise(matches))


@given(texts)
def test_nothing_longer_was_passed_over(text: str) -> None:
    """Whatever a word matches alone is in the result, or gives way to what is at least as long."""
    matches = MATCHER.find(text)
    for word in VOCABULARY:
        for match in WordMatcher([word]).find(text):
            rivals = [m for m in matches if m.start < match.end and match.start < m.end]
            assert max((m.end - m.start for m in rivals), default=0) >= match.end - match.start


@given(texts)
def test_all_words_lie_on_the_same_spans(text: str) -> None:
    spans = [(m.start, m.end) for m in MATCHER.find(text)]
    everything = MATCHER.find_all(text)
    assert list(dict.fromkeys((m.start, m.end) for m in everything)) == spans
    assert set(MATCHER.find(text)) <= set(everything)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda t: (t[0], t[0] + t[1])), max_size=20))
def test_longest_first_is_greedy(spans: list[tuple[int, int]]) -> None:
    chosen = longest_first(set(spans), 40)
    assert all(one[1] <= other[0] for one, other in pairwise(chosen))
    for start, end in spans:
        assert any(s < end and start < e and e - s >= end - start for s, e in chosen)


def operations(matcher: WordMatcher, text: str) -> int:
    """The number of calls, of Python and of C, that a search takes: work without a clock."""
    count = 0

    def tally(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tally)
    try:
        matcher.find(text)
    finally:
        sys.setprofile(None)
    return count


def test_work_is_linear_in_the_text_and_does_not_grow_with_the_vocabulary() -> None:
    rng = random.Random(0)
    syllables = ["ba", "de", "ki", "lo", "mu", "na", "po", "ri", "su", "te"]
    lexicon = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(3_000)]
    phrases = ["-".join(rng.choices(lexicon, k=3)) for _ in range(500)]
    vocabulary = list(dict.fromkeys([*lexicon, *phrases]))[:2_500]
    text = " ".join(rng.choices(lexicon, k=1_000))
    large, small = WordMatcher(vocabulary), WordMatcher(vocabulary[:250])
    large.find(text)  # fills the caches
    one, two, four = (operations(large, text * times) for times in (1, 2, 4))
    assert two / one == pytest.approx(2, rel=0.02)
    assert four / one == pytest.approx(4, rel=0.02)
    assert one < 3 * operations(small, text)


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


def spoken(text: str, language: str = "en") -> list[str]:
    """The words of a text in the likeliest reading of each unit."""
    readings = [unit.readings[0] if unit.readings else unit.original for unit in units(text, language)]
    return [word for reading in readings for atom in reading for word in atom.words]


@pytest.mark.parametrize(("text", "expected"), EXAMPLES.items())
def test_english_by_hand(text: str, expected: str) -> None:
    assert spoken(text) == [token.word for token in tokens(expected)]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("21 Häuser", "de", "einundzwanzig Häuser"),
        ("1990", "de", "neunzehnhundertneunzig"),
        ("1.234,5", "fr", "mille deux cent trente quatre virgule cinq"),
        ("5 casas", "pt", "cinco casas"),
        ("5 teach", "ga", "5 teach"),  # no numbers in Irish: left as they are
    ],
)
def test_other_languages_are_normalised(text: str, language: str, expected: str) -> None:
    assert spoken(text, language) == [token.word for token in tokens(expected)]


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(OptionsError):
        WordMatcher(["x"], "xx")


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


@given(st.lists(st.sampled_from([word for word in EXAMPLES.values() if word.isalpha()]), max_size=8).map(" ".join))
def test_what_is_normal_stays(text: str) -> None:
    assert spoken(text) == [token.word for token in tokens(text)]
