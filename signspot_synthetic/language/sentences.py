"""English sentences that look like subtitles, and the signs an interpreter makes of them, reordered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.drafting import ENDS, FLATTENING, POINT, Draft, DraftToken, WordFrequencies
from signspot_synthetic.language.english import EnglishWord, english_words
from signspot_synthetic.language.patterns import write_tokens

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
    [
        "have",
        "get",
        "make",
        "take",
        "use",
        "even",
        "like",
        "keep",
        "need",
        "go",
        "just now",
        "still",
        "really",
    ]
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
