"""English sentences that look like subtitles, and the signs an interpreter makes of them, reordered.

A draft hands out words by frequency; patterns join them to tokens; an interpreter signs some of the tokens.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from signspot_synthetic.language import english as numerals
from signspot_synthetic.language.english import (
    VERBS,
    EnglishWord,
    article,
    comparative,
    english_words,
    gerund,
    participle,
    past,
    plural,
    present,
    superlative,
)
from signspot_synthetic.random_streams import named_rng

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
    is_wanted = draft.wanted is not None and draft.wanted.kind in ("quality", "colour")
    if not is_wanted and not draft.chance(0.22):
        return []
    return [word_token(draft.pick("quality", "quality", "colour"), place + 0.1)]


def subject(draft: Draft, *kinds: str) -> Subject:
    """A subject: a pronoun (signed by pointing) or a noun phrase."""
    is_wanted = draft.wanted is not None and draft.wanted.kind in kinds
    if not is_wanted and draft.chance(0.5):
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
    wanted_kind = draft.wanted.kind if draft.wanted is not None else ""
    kind = {"when": "when", "period": "ago", "ordinal": "date"}.get(wanted_kind) or draft.one_of(
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
        century = draft.one_of("eighteen", "nineteen", "nineteen")
        tens = draft.one_of("sixty", "eighty", "ninety")
        text = f"{numerals.VALUES[century]}{numerals.VALUES[tens]}s"
        return [*plain("in", "the"), DraftToken(text, (century, tens), TIME)]
    if kind == "year":
        year = int(draft.rng.integers(1940, 2025))
        return [*plain("in"), DraftToken(str(year), numerals.year_words(year), TIME)]
    ordinal = draft.pick("ordinal")
    text = numerals.ordinal_digits(ordinal.word) if draft.chance(0.7) else ordinal.shown
    month = draft.one_of("January", "March", "May", "July", "October")
    day = DraftToken(text, (ordinal.word,), TIME + 0.1)
    return [*plain("on", "the"), day, *plain("of"), DraftToken(month, (month.lower(),), TIME)]


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


Pattern = Callable[[Draft], list[DraftToken]]
_ACTORS = ("person", "animal")
_OBJECTS = ("thing", "idea", "mass", "phrase", "person", "animal", "abbreviation")
_CONJUNCTIONS = ("because", "if", "but", "until", "since")
_MODAL_QUESTIONS = ("can", "will", "should")


def write_tokens(draft: Draft) -> list[DraftToken]:
    """Draft one sentence that holds the wanted word, where there is one."""
    wanted_word = draft.wanted
    patterns = _BY_KIND.get(wanted_word.kind, _ANY) if wanted_word is not None else _ANY
    for _ in range(6):
        draft.wanted = wanted_word
        tokens = patterns[int(draft.rng.integers(len(patterns)))](draft)
        if draft.wanted is None or wanted_word is None:
            break
    draft.wanted = None
    return tokens


def clause(draft: Draft) -> list[DraftToken]:
    """Somebody does something: the heart of most sentences, without end or tail."""
    return _clause_of(draft, subject(draft, *_ACTORS))


def _clause_of(draft: Draft, who: Subject) -> list[DraftToken]:
    wanted_kind = draft.wanted.kind if draft.wanted is not None else ""
    if wanted_kind in ("quality", "colour") or (wanted_kind not in VERBS and draft.chance(0.2)):
        return [*who.tokens, *_being(draft, who.person)]
    kind = _verb_kind(draft, wanted_kind)
    verb = draft.pick(kind)
    tokens = [*who.tokens, *verb_phrase(draft, verb, who.person)]
    if kind in ("do", "doing"):
        tokens += noun_phrase(draft, TOPIC, *_OBJECTS)[0]
    elif kind == "eat":
        tokens += noun_phrase(draft, TOPIC, "food", "drink")[0]
    elif kind == "move":
        tokens += plain(draft.one_of("to", "to", "from")) + noun_phrase(draft, PLACE, "place", "nation")[0]
    elif kind == "say":
        inner = subject(draft, *_ACTORS)
        tokens += [*plain("that"), *inner.tokens, *_being(draft, inner.person)]
    return tokens


def _verb_kind(draft: Draft, wanted_kind: str) -> str:
    """Choose the verb's class so that the wanted word finds a place beside it."""
    if wanted_kind in VERBS:
        return wanted_kind
    beside = {"food": "eat", "drink": "eat", "place": "move", "nation": "move"}.get(wanted_kind)
    if beside or wanted_kind in _OBJECTS:
        return beside or "do"
    return draft.one_of("do", "do", "do", "do", "do", "eat", "act", "act", "move", "say", "doing")


def _being(draft: Draft, person: int) -> list[DraftToken]:
    quality = draft.pick("quality", "colour")
    verb = be(person, was=draft.chance(0.4))
    degree = plain(*draft.one_of("", "", "very", "so", "too", "quite").split())
    if draft.chance(0.1):
        return [draft.fixed("not", verb + " not", NEGATION), word_token(quality, ACTION)]
    return [*plain(verb), *degree, word_token(quality, ACTION)]


def _tail(draft: Draft) -> list[DraftToken]:
    """A few more words at the end of a clause, or none."""
    wanted_kind = draft.wanted.kind if draft.wanted is not None else ""
    tail_of_kind = {"manner": "how", "when": "when", "period": "when", "ordinal": "when", "relation": "relation"}
    choice = tail_of_kind.get(wanted_kind) or draft.one_of("", "how", "when", "where", "where", "relation", "relation")
    if choice == "how":
        return [word_token(draft.pick("manner"), MANNER)]
    if choice == "when":
        return time_phrase(draft)
    if choice == "where":
        return place_phrase(draft)
    return _relation(draft) if choice else []


def _relation(draft: Draft) -> list[DraftToken]:
    relation = draft.pick("relation")
    if relation.word in _CONJUNCTIONS:
        return [*plain(","), word_token(relation, 10), *_later(clause(draft))]
    if relation.word == "during":
        return [word_token(relation, TIME + 0.3), *noun_phrase(draft, TIME, "period", "idea")[0]]
    return [word_token(relation, PLACE + 0.3), *noun_phrase(draft, PLACE, "thing", "person", "idea", "place")[0]]


def _later(tokens: list[DraftToken]) -> list[DraftToken]:
    """The same tokens, signed after everything before them."""
    return [DraftToken(t.text, t.words, None if t.place is None else t.place + 11) for t in tokens]


def statement(draft: Draft) -> list[DraftToken]:
    """Such as 'The old man went to the park on Monday'."""
    tokens = [*clause(draft), *_tail(draft)]
    if len(tokens) < 8 and draft.chance(0.5):
        tokens += plain(draft.one_of("and", "so", "and then")) + _later(clause(draft))
    return [*tokens, *plain(draft.one_of(".", ".", ".", ".", "!"))]


def timed(draft: Draft) -> list[DraftToken]:
    """Such as 'In the 1990s, she lived near the sea'."""
    return [*time_phrase(draft), *plain(","), *clause(draft), *plain(".")]


def mannered(draft: Draft) -> list[DraftToken]:
    """Such as 'Unfortunately, the boys sometimes forget their names'."""
    first = word_token(draft.pick("manner"), MANNER)
    return [first, *plain(","), *clause(draft), *_tail(draft), *plain(".")]


def wh_question(draft: Draft) -> list[DraftToken]:
    """Such as 'What do you want?', 'How many apples did she eat?'."""
    question_word = draft.pick("question")
    question = word_token(question_word, QUERY)
    who = subject(draft, "person")
    if question_word.word == "how old":
        return [question, *plain(be(who.person)), *who.tokens, *plain("?")]
    head = [question]
    if question_word.word in ("how many", "which"):
        noun = draft.pick("food", "thing", "person", "animal")
        head.append(word_token(noun, TOPIC, plural(noun) if question_word.word == "how many" else ""))
    elif question_word.word == "how much":
        head.append(word_token(draft.pick("mass", "drink"), TOPIC))
    verb = draft.pick(*(("act", "move") if question_word.word in ("where", "when", "why", "how") else ("do",)))
    auxiliary = draft.one_of("did", "does" if who.person == 3 else "do", *_MODAL_QUESTIONS)
    return [*head, *plain(auxiliary), *who.tokens, word_token(verb, ACTION), *plain("?")]


def yes_no_question(draft: Draft) -> list[DraftToken]:
    """Such as 'Did your sister buy the red car?'."""
    who = subject(draft, "person")
    verb = draft.pick("do", "doing")
    auxiliary = draft.one_of("did", "does" if who.person == 3 else "do", *_MODAL_QUESTIONS)
    thing, _ = noun_phrase(draft, TOPIC, *_OBJECTS)
    return [*plain(auxiliary), *who.tokens, word_token(verb, ACTION), *thing, *_tail(draft), *plain("?")]


def request(draft: Draft) -> list[DraftToken]:
    """Such as 'Please open the window', 'Don't forget your ticket!'."""
    verb = draft.pick("do", "doing")
    opening = draft.one_of("please", "don't", "let's", "you must", "")
    words = {"please": [draft.fixed("please", "please", TIME)], "don't": [draft.fixed("not", "don't", NEGATION)]}
    thing, _ = noun_phrase(draft, TOPIC, *_OBJECTS)
    first = words.get(opening, plain(*opening.split()))
    return [*first, word_token(verb, ACTION), *thing, *_tail(draft), *plain(draft.one_of(".", "!", "."))]


def existence(draft: Draft) -> list[DraftToken]:
    """Such as 'There are 20 people in the park'."""
    phrase, is_plural = noun_phrase(draft, TOPIC, "person", "animal", "thing", "idea", "food")
    verb = be(2 if is_plural else 3, was=draft.chance(0.4))
    return [*plain("there", verb), *phrase, *place_phrase(draft), *plain(".")]


def counted(draft: Draft) -> list[DraftToken]:
    """Such as 'The tickets cost £5', 'About 20% of people like it', '300 children were waiting'."""
    wanted_kind = draft.wanted.kind if draft.wanted is not None else ""
    style = 0 if wanted_kind == "unit" else 2 if wanted_kind == "number" else int(draft.rng.integers(3))
    if style == 0:
        phrase, _ = noun_phrase(draft, TOPIC, "thing", "food", "phrase")
        cost = plain("cost" if draft.chance(0.5) else "is only")
        return [*phrase, *cost, *amount(draft, ACTION), *_tail(draft), *plain(".")]
    if style == 1:
        share = DraftToken(f"{10 * int(draft.rng.integers(1, 10))}%", ("percent",), TOPIC)
        who = draft.pick("person")
        end = verb_phrase(draft, draft.pick("act"), 2)
        about = plain(draft.one_of("about", "nearly", "almost"))
        return [*about, share, *plain("of"), word_token(who, AGENT, plural(who)), *end, *plain(".")]
    who, count = draft.pick("person", "animal"), number(draft, AGENT + 0.2)
    alone = count.words == ("one",)
    verb = word_token(verb_word := draft.pick("act"), ACTION, gerund(verb_word))
    name = word_token(who, AGENT, who.shown if alone else plural(who))
    return [count, name, *plain(be(3 if alone else 2, was=True)), verb, *_tail(draft), *plain(".")]


def comparison(draft: Draft) -> list[DraftToken]:
    """Such as 'My house is bigger than the school', 'It was the happiest day of the year'."""
    quality = draft.pick("quality")
    if draft.chance(0.5):
        first, is_plural = noun_phrase(draft, TOPIC, "thing", "person", "animal", "place")
        second, _ = noun_phrase(draft, AGENT, "thing", "person", "animal", "place")
        middle = word_token(quality, ACTION, comparative(quality))
        return [*first, *plain(be(2 if is_plural else 3)), middle, *plain("than"), *second, *plain(".")]
    thing = draft.pick("thing", "person", "idea", "period")
    who = DraftToken(draft.one_of("it", "this", "that"), (POINT,), AGENT)
    best = word_token(quality, ACTION, superlative(quality))
    return [who, *plain("was", "the"), best, word_token(thing, TOPIC), *place_phrase(draft), *plain(".")]


def origin(draft: Draft) -> list[DraftToken]:
    """Such as 'Her uncle comes from France and speaks Italian'."""
    who = subject(draft, "person")
    tongue, come = draft.pick("tongue"), "comes" if who.person == 3 else "come"
    nation = word_token(draft.pick("nation"), PLACE)
    speak = "speaks" if who.person == 3 else "speak"
    rest = [*plain("and"), draft.fixed("speak", speak, ACTION + 11), word_token(tongue, TOPIC + 11), *plain(".")]
    return [*who.tokens, draft.fixed("come", come, ACTION), *plain("from"), nation, *rest]


def nobody_does(draft: Draft) -> list[DraftToken]:
    """Such as 'Nobody knew the answer'."""
    who = draft.pick("negation")
    if who.word != "nobody":
        first = clause(draft)
        return [*first, *plain(", but"), word_token(who, NEGATION + 11), *plain(draft.one_of("today", "here"), ".")]
    verb = verb_phrase(draft, draft.pick("do"), 3)
    return [word_token(who, AGENT), *verb, *noun_phrase(draft, TOPIC, *_OBJECTS)[0], *plain(".")]


def greeting(draft: Draft) -> list[DraftToken]:
    """Such as 'Thank you', 'Hello, my name is …', 'Good morning, everyone!'."""
    word = word_token(draft.pick("greeting"), TIME)
    if draft.chance(0.4):
        return [word, *plain(draft.one_of(".", "!"))]
    return [word, *plain(","), *_later(clause(draft)), *plain(".")]


_COMMON: tuple[Pattern, ...] = (statement, statement, statement, timed, yes_no_question, request)
_ANY: tuple[Pattern, ...] = (
    *_COMMON, statement, statement, mannered, wh_question, existence, counted, comparison, origin, greeting,
)  # fmt: skip
_BY_KIND: dict[str, tuple[Pattern, ...]] = {
    "animal": (statement, timed, existence, comparison, counted),
    "thing": (*_COMMON, existence, comparison, counted, wh_question),
    "idea": (*_COMMON, existence),
    "phrase": (statement, yes_no_question, request, timed),
    "abbreviation": (statement, yes_no_question, request, timed),
    "mass": (statement, yes_no_question, request, timed, wh_question),
    "food": (statement, timed, existence, wh_question),
    "drink": (statement, timed),
    "place": (statement, timed, existence, comparison),
    "period": (timed, statement, comparison),
    "eat": (statement, timed, mannered),
    "do": (*_COMMON, mannered, wh_question),
    "act": (statement, timed, mannered, counted),
    "move": (statement, timed, mannered),
    "say": (statement, timed, mannered),
    "doing": (statement, yes_no_question, request),
    "quality": (statement, timed, comparison, existence),
    "colour": (statement, existence, yes_no_question),
    "manner": (statement, mannered),
    "when": (timed, statement),
    "number": (counted, existence, counted),
    "ordinal": (timed,),
    "unit": (counted,),
    "question": (wh_question,),
    "nation": (origin, existence, statement),
    "tongue": (origin,),
    "greeting": (greeting,),
    "relation": (statement,),
    "negation": (nobody_does, statement),
}


GESTURES = (POINT, "(palm up)", "(shrug)")  # signs that no dictionary lists
_LISTED_SHARE = 0.85  # of the words that a sentence is written around
_ORDER_NOISE = 0.35  # of the signing order; neighbouring roles are 1 apart
_GESTURE_SHARE, _EXTRA_SHARE, _REPEAT_SHARE = 0.3, 0.12, 0.05  # of sentences
_SIGN_RATES = {  # how often a written word of a class is signed; the rest: 0.85
    "relation": 0.25, "manner": 0.45, "say": 0.6, "do": 0.75, "unit": 0.7, "negation": 0.7, "number": 0.9,
    "question": 0.9,
}  # fmt: skip
_CONTEXT_RATE = 0.3  # of words that mean something else in most contexts
_CONTEXT_WORDS = frozenset(
    "have,get,make,take,use,even,like,keep,need,go,just now,still,really".split(",")  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class SentenceMention:
    """A place in a text that stands for one or more dictionary words ('£5': five, pound)."""

    start: int  # of its characters in the text
    end: int
    words: tuple[str, ...]
    place: float | None  # in signing order; None: it is never signed


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it is written, and where its dictionary words stand."""

    text: str
    mentions: tuple[SentenceMention, ...]


@dataclass(frozen=True, slots=True)
class Gloss:
    """One sign that a signer is to make."""

    word: str
    mention: int | None = None  # the mention of the sentence that it renders; None: it is in no subtitle


class SentenceWriter:
    """Writes sentences around the words of a vocabulary, common words more often (Zipf's law)."""

    def __init__(self, vocabulary: Sequence[EnglishWord]):
        self._words = {word.word: word for word in vocabulary}
        self._listed = WordFrequencies(vocabulary)
        self._themes = WordFrequencies(vocabulary, flattening=max(FLATTENING, len(vocabulary) / 4))
        self._others = WordFrequencies([word for word in english_words() if word.word not in self._words])

    def write(self, rng: np.random.Generator, theme: str | None = None) -> Sentence:
        """Write one sentence, around the word `theme` if one is given."""
        draft = Draft(self._listed, self._others, rng)
        if theme is not None:
            draft.wanted = self._words[theme]
        elif rng.random() < _LISTED_SHARE:
            draft.wanted = self._themes.draw(rng)  # so that rare words are met, too
        return assemble(write_tokens(draft))

    def extra(self, rng: np.random.Generator) -> str:
        """A word of the vocabulary that no sentence asked for."""
        word = self._listed.draw(rng)
        assert word is not None, "the vocabulary is empty"
        return word.word


def assemble(tokens: Iterable[DraftToken]) -> Sentence:
    """Join tokens to a sentence: spaces, a capital at the beginning, character spans of the words."""
    text = ""
    mentions: list[SentenceMention] = []
    for token in tokens:
        if text and not token.text.startswith(ENDS):
            text += " "
        piece = token.text if text else token.text[0].upper() + token.text[1:]
        if token.words:
            mentions.append(SentenceMention(len(text), len(text) + len(piece), token.words, token.place))
        text += piece
    return Sentence(text, tuple(mentions))


class Interpreter:
    """Turns sentences into signs: only some of the words, in signing order, with signs of its own between."""

    def __init__(self, writer: SentenceWriter, signable: Iterable[str], seed: int):
        self._writer = writer
        self._signable = frozenset(signable)
        self._kinds = {word.word: word.kind for word in english_words()}
        self._seed = seed
        self._rates: dict[str, float] = {}

    def rate(self, word: str) -> float:
        """Share of a written word's mentions that are signed: a property of the word, the same all over the corpus."""
        if word not in self._rates:
            base = _CONTEXT_RATE if word in _CONTEXT_WORDS else _SIGN_RATES.get(self._kinds.get(word, ""), 0.85)
            base = 0.4 if word in GESTURES else base
            spread = named_rng(self._seed, "sign rate", word).uniform(-0.15, 0.15)
            self._rates[word] = float(np.clip(base + spread, 0.05, 0.98))
        return self._rates[word]

    def sign(self, sentence: Sentence, rng: np.random.Generator) -> list[Gloss]:
        """Choose the signs for a sentence, at least one."""
        placed = [
            (mention.place + 0.01 * turn + float(rng.normal(0, _ORDER_NOISE)), Gloss(word, index))
            for index, mention in enumerate(sentence.mentions)
            if mention.place is not None
            for turn, word in enumerate(mention.words)
            if word in self._signable and rng.random() < self.rate(word)
        ]
        glosses = [gloss for _, gloss in sorted(placed, key=lambda item: item[0])]
        if glosses and rng.random() < _REPEAT_SHARE:
            glosses.append(glosses[0])  # the topic again, at the end
        if rng.random() < _EXTRA_SHARE:
            glosses.insert(int(rng.integers(len(glosses) + 1)), Gloss(self._writer.extra(rng)))
        if not glosses or rng.random() < _GESTURE_SHARE:
            gesture = GESTURES[int(rng.integers(len(GESTURES)))]
            glosses.insert(int(rng.integers(len(glosses) + 1)), Gloss(gesture))
        return glosses
