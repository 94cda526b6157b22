"""Drafts of sentences: words drawn by frequency, tokens, phrases, times and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from signspot_synthetic.language import english as numerals
from signspot_synthetic.language.english import (
    EnglishWord,
    article,
    gerund,
    participle,
    past,
    plural,
    present,
)

POINT = "(point)"  # the sign of a pronoun; no dictionary lists it
TIME, PLACE, TOPIC, AGENT, ACTION, MANNER, NEGATION, QUERY = range(8)  # the order in which signers sign
ENDS = (",", ".", "?", "!", ":")
FLATTENING = 8.0  # of Zipf's law at the most common words (Mandelbrot)


@dataclass(frozen=True, slots=True)
class DraftToken:
    """A piece of a sentence, as written."""

    text: str
    words: tuple[str, ...] = ()  # the dictionary words that it stands for
    place: float | None = None  # where its sign comes in signing order; None: it is never signed


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a sentence: tokens and their agreement."""

    tokens: tuple[DraftToken, ...]
    person: int  # 1: I, 2: you, we, they and plurals, 3: he, she, it and singulars


class WordFrequencies:
    """Draws words of given classes, the r-th most common in proportion to 1 / (r + flattening)."""

    def __init__(self, words: Sequence[EnglishWord], flattening: float = FLATTENING):
        self.words = tuple(words)
        self._weights = 1.0 / (np.arange(len(words)) + 1 + flattening)
        self._tables: dict[tuple[str, ...], tuple[list[EnglishWord], np.ndarray]] = {}

    def draw(self, rng: np.random.Generator, kinds: tuple[str, ...] = ()) -> EnglishWord | None:
        """Draw a word of one of the classes `kinds` (of any class if empty), None where there is none."""
        words, sums = self._tables.get(kinds) or self._table(kinds)
        if not words:
            return None
        return words[min(int(np.searchsorted(sums, rng.random() * sums[-1], "right")), len(words) - 1)]

    def _table(self, kinds: tuple[str, ...]) -> tuple[list[EnglishWord], np.ndarray]:
        chosen = [i for i, word in enumerate(self.words) if not kinds or word.kind in kinds]
        table = ([self.words[i] for i in chosen], np.cumsum(self._weights[chosen]))
        self._tables[kinds] = table
        return table


class Draft:
    """Hands out the words of one sentence; the wanted word goes to the first place that fits it."""

    def __init__(self, listed: WordFrequencies, others: WordFrequencies, rng: np.random.Generator):
        self.rng = rng
        self.wanted: EnglishWord | None = None
        self._listed, self._others = listed, others

    def pick(self, *kinds: str) -> EnglishWord:
        """A word of one of the classes: the wanted one, else mostly a listed one, sometimes another."""
        if self.wanted is not None and self.wanted.kind in kinds:
            word, self.wanted = self.wanted, None
            return word
        first, second = (self._listed, self._others) if self.rng.random() < 0.85 else (self._others, self._listed)
        drawn = first.draw(self.rng, kinds) or second.draw(self.rng, kinds)
        assert drawn is not None, f"no English word of the classes {kinds}"
        return drawn

    def fixed(self, word: str, text: str = "", place: float | None = None) -> DraftToken:
        """A token whose word the sentence pattern itself prescribes."""
        if self.wanted is not None and self.wanted.word == word:
            self.wanted = None
        return DraftToken(text or word, (word,), place)

    def one_of(self, *texts: str) -> str:
        """One of the texts, each as likely as it is often named."""
        return texts[int(self.rng.integers(len(texts)))]

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self.rng.random() < share)


def plain(*texts: str) -> list[DraftToken]:
    """Function words: written, never signed."""
    return [DraftToken(text) for text in texts]


def word_token(word: EnglishWord, place: float, text: str = "") -> DraftToken:
    """A token of one word, in the form `text` or uninflected."""
    return DraftToken(text or word.shown, (word.word,), place)


def noun_phrase(draft: Draft, place: float, *kinds: str) -> tuple[list[DraftToken], bool]:
    """'the big dogs', 'my friend', '20 apples', 'some milk', 'London'; also whether it is plural."""
    noun = draft.pick(*kinds)
    if noun.kind in ("nation", "tongue", "abbreviation"):
        return [word_token(noun, place)], False
    adjective = _adjective(draft, place)
    if noun.kind in ("mass", "drink"):
        amount_of = plain(*draft.one_of("the", "some", "", "my", "more", "").split())
        return [*amount_of, *adjective, word_token(noun, place)], False
    style = draft.rng.random()
    if style < 0.55:
        head = [*adjective, word_token(noun, place)]
        determiner = draft.one_of("a", "a", "the", "the", "the", "my", "this", "your", "his", "her", "our", "another")
        return plain(article(head[0].text) if determiner == "a" else determiner) + head, False
    head = [*adjective, word_token(noun, place, plural(noun))]
    if style < 0.85:
        return plain(*draft.one_of("the", "the", "some", "these", "my", "many", "their", "").split()) + head, True
    count = number(draft, place + 0.2)
    if count.words == ("one",):
        return [count, *adjective, word_token(noun, place)], False
    return [count, *head], True


def _adjective(draft: Draft, place: float) -> list[DraftToken]:
    wanted = draft.wanted is not None and draft.wanted.kind in ("quality", "colour")
    if not wanted and not draft.chance(0.22):
        return []
    return [word_token(draft.pick("quality", "quality", "colour"), place + 0.1)]


def subject(draft: Draft, *kinds: str) -> Subject:
    """A subject: a pronoun (signed by pointing) or a noun phrase."""
    wanted = draft.wanted is not None and draft.wanted.kind in kinds
    if not wanted and draft.chance(0.5):
        text = draft.one_of("I", "I", "you", "he", "she", "we", "they", "it")
        person = {"I": 1, "he": 3, "she": 3, "it": 3}.get(text, 2)
        return Subject((DraftToken(text, (POINT,), AGENT),), person)
    tokens, is_plural = noun_phrase(draft, AGENT, *kinds)
    return Subject(tuple(tokens), 2 if is_plural else 3)


def be(person: int, *, was: bool = False) -> str:
    """The form of 'be'."""
    return {1: "was", 2: "were", 3: "was"}[person] if was else {1: "am", 2: "are", 3: "is"}[person]


def verb_phrase(draft: Draft, verb: EnglishWord, person: int) -> list[DraftToken]:
    """A verb in a tense that fits the person, now and then with 'not'."""
    tense = draft.one_of("present", "present", "past", "past", "past", "future", "continuous", "perfect")
    if draft.chance(0.12) or (draft.wanted is not None and draft.wanted.word == "not"):
        return _negated(draft, verb, person, tense)
    if tense == "future":
        return [*plain(draft.one_of("will", "can", "should", "might", "must")), word_token(verb, ACTION)]
    if tense == "continuous":
        return [*plain(be(person)), word_token(verb, ACTION, gerund(verb))]
    if tense == "perfect":
        auxiliary = draft.fixed("have", "has" if person == 3 else "have")  # matches the word, is not signed
        return [auxiliary, word_token(verb, ACTION, participle(verb))]
    third = person == 3 and tense == "present"
    form = past(verb) if tense == "past" else present(verb) if third else verb.shown
    return [word_token(verb, ACTION, form)]


def _negated(draft: Draft, verb: EnglishWord, person: int, tense: str) -> list[DraftToken]:
    does = "doesn't" if person == 3 else "don't"
    auxiliary = {"past": "didn't", "perfect": "didn't", "future": draft.one_of("won't", "can't")}.get(tense, does)
    return [draft.fixed("not", auxiliary, NEGATION), word_token(verb, ACTION)]


def number(draft: Draft, place: float) -> DraftToken:
    """A whole number, mostly in digits: '20', '300', '5 million', 'seven'."""
    word = draft.pick("number").word
    value = numerals.VALUES[word]
    if value >= 100:
        value *= int(draft.rng.integers(1, 10))
    elif value >= 20 and draft.chance(0.3):
        value += int(draft.rng.integers(1, 10))
    words = numerals.number_words(value)
    digits = f"{value // 1_000_000} million" if value >= 1_000_000 else f"{value:,}"
    return DraftToken(digits if value > 1 and draft.chance(0.75) else numerals.spelled(words), words, place)


def amount(draft: Draft, place: float) -> list[DraftToken]:
    """Money, a share or a measure: '£5', '20%', '300 miles'."""
    unit, count = draft.pick("unit"), number(draft, place)
    digits = count.text[:1].isdigit()
    signs = (*count.words, unit.word)
    if digits and unit.word in ("pound", "dollar", "euro"):
        return [DraftToken({"pound": "£", "dollar": "$", "euro": "€"}[unit.word] + count.text, signs, place)]
    if digits and unit.word == "percent":
        return [DraftToken(f"{count.text}%", signs, place)]
    same = unit.word in ("percent", "pence") or count.words == ("one",)
    return [count, word_token(unit, place, unit.shown if same else plural(unit))]


def time_phrase(draft: Draft) -> list[DraftToken]:
    """A time: 'on Monday', 'last week', '3 years ago', 'in the 1990s', 'on the 3rd of March', 'in 2012'."""
    wanted = draft.wanted.kind if draft.wanted is not None else ""
    kind = {"when": "when", "period": "ago", "ordinal": "date"}.get(wanted) or draft.one_of(
        "when", "when", "when", "when", "this", "ago", "decade", "date", "year"
    )
    if kind == "when":
        return _when(draft)
    if kind == "this":
        return [*plain(draft.one_of("this", "every", "last", "next")), word_token(draft.pick("period"), TIME)]
    if kind == "ago":
        period, count = draft.pick("period"), number(draft, TIME + 0.2)
        text = period.shown if count.words == ("one",) else plural(period)
        return [count, word_token(period, TIME, text), *plain("ago")]
    if kind == "decade":
        century, tens = (
            draft.one_of("eighteen", "nineteen", "nineteen"),
            draft.one_of("sixty", "eighty", "ninety"),
        )
        text = f"{numerals.VALUES[century]}{numerals.VALUES[tens]}s"
        return [*plain("in", "the"), DraftToken(text, (century, tens), TIME)]
    if kind == "year":
        year = int(draft.rng.integers(1940, 2025))
        return [*plain("in"), DraftToken(str(year), numerals.year_words(year), TIME)]
    ordinal = draft.pick("ordinal")
    text = numerals.ordinal_digits(ordinal.word) if draft.chance(0.7) else ordinal.shown
    month = draft.one_of("January", "March", "May", "July", "October")
    return [
        *plain("on", "the"),
        DraftToken(text, (ordinal.word,), TIME + 0.1),
        *plain("of"),
        DraftToken(month, (month.lower(),), TIME),
    ]


def _when(draft: Draft) -> list[DraftToken]:
    word = draft.pick("when")
    if word.shown[0].isupper():
        before = "on" if word.word.endswith("day") else "at" if word.word in ("christmas", "easter") else "in"
        return [*plain(before), word_token(word, TIME)]
    return [word_token(word, TIME)]


def place_phrase(draft: Draft) -> list[DraftToken]:
    """A place: 'in the park', 'near a station', 'behind our house', 'in London'."""
    noun, _ = noun_phrase(draft, PLACE, "place", "place", "nation")
    if noun[-1].text[:1].isupper():
        return [*plain("in"), *noun]
    before = draft.one_of("in", "in", "at", "near", "under", "behind", "outside", "opposite", "inside")
    return [draft.fixed(before, before, PLACE + 0.3), *noun]
