"""Candidates: which words to look for on the lips, and where, by the subtitles (Sec. 3.1, stage 1)."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from signspot.errors import OptionsError
from signspot.mouthing.phonemes import is_known
from signspot.mouthing.visemes import visemes_of
from signspot.types import Segment, Subtitle
from signspot.words.match import Form, WordMatch, WordMatcher
from signspot.words.tokens import primary_language, tokens

logger = logging.getLogger(__name__)

LEAST = 0.5  # probability of a peak, from which it is a label
WORD_LEAST = 0.8  # probability that some instance of a word must reach, for the word to stay in the vocabulary
_FEWEST_SHAPES = 3  # of a word that is looked for unasked: shorter ones are on the lips all the time
_ENOUGH = 30  # words, from which on the language of subtitles can be guessed
_FOREIGN = 0.6  # share of English words below which subtitles are hardly English
_NAMED = 3  # words that a doubt names
_ENGLISH = 0.9  # and above which they hardly are of another language


@dataclass(frozen=True, slots=True)
class MentionWindow:
    """Words that one subtitle mentions, and the window around it."""

    window: Segment
    words: tuple[str, ...]


class LongWords:
    """Finds every word of a text that is long enough on the lips, as it is written there."""

    def __init__(self, language: str = "en"):
        self.language = language

    def find_all(self, text: str) -> list[WordMatch]:
        """The words with their places, in order."""
        return [
            WordMatch(token.word, token.start, token.end, Form.ORIGINAL)
            for token in tokens(text)
            if _is_long(token.word, self.language)
        ]


def find_candidates(
    subtitles: Sequence[Subtitle], words: Iterable[str] | None, padding: float, language: str = "en"
) -> list[MentionWindow]:
    """The padded subtitles with the words to look for in each.

    Args:
        subtitles: in order of time.
        words: to look for where a subtitle mentions them in any form; None: every word of a subtitle that is long
            enough on the lips.
        padding: seconds before and after a subtitle.
        language: of the words and the subtitles.

    Raises:
        OptionsError: the padding is below 0, the language unknown, or a word that was asked for has no phonemes.
    """
    if not (0 <= padding <= 60):
        raise OptionsError(f"subtitles are padded by 0 to 60 seconds; got {padding:g}")
    if language != "en":
        primary_language(language)  # raises where it is unknown
    asked = None if words is None else tuple(dict.fromkeys(words))
    for word in asked or ():
        visemes_of(word, language)  # raises where it has none
    finder = LongWords(language) if asked is None else WordMatcher(asked, language)
    found = []
    for subtitle in subtitles:
        mentioned = [match.word for match in finder.find_all(subtitle.text)]
        if mentioned:
            window = Segment(max(0.0, subtitle.start - padding), subtitle.end + padding)
            found.append(MentionWindow(window, tuple(dict.fromkeys(mentioned))))
    return found


def explain_none(subtitles: Sequence[Subtitle], words: Iterable[str] | None, language: str) -> str:
    """The reason why subtitles give nothing to look for, as the end of a sentence that begins with their name."""
    unread = doubt_letters(subtitles, language)
    if unread:
        return unread
    if words is not None:
        return f"mentions none of the words that are asked for ({_few(list(words))})"
    shown = [token.word for subtitle in subtitles for token in tokens(subtitle.text)]
    return f"has no word that shows on lips: each has fewer than {_FEWEST_SHAPES} mouth shapes ({_few(shown)})"


def doubt_letters(subtitles: Sequence[Subtitle], language: str) -> str | None:
    """The reason why no word of subtitles can be read as sounds, as the end of a sentence; None where one can."""
    unread: list[str] = []
    for token in (token for subtitle in subtitles for token in tokens(subtitle.text)):
        if _shapes(token.word, language):
            return None
        unread.append(token.word)
    if not unread:
        return "has no words"
    return f"has no word in letters that can be read as sounds ({_few(unread)}). Give subtitles in Latin letters"


def doubt_language(subtitles: Sequence[Subtitle], language: str) -> str | None:
    """Why subtitles may be of another language than asked; None where they look right, or are few."""
    words = [token.word for subtitle in subtitles for token in tokens(subtitle.text) if token.word.isalpha()]
    if len(words) < _ENOUGH:
        return None
    english = sum(map(is_known, words)) / len(words)
    wrong = english < _FOREIGN if language.split("-")[0] == "en" else english > _ENGLISH
    return (
        f"{english:.0%} of the words in these subtitles are English, and '{language}' was asked for: what is found "
        "may be wrong. Name their language with --language"
        if wrong
        else None
    )


def doubt_words(words: Iterable[str], language: str) -> str | None:
    """Words that are asked for as English and that no dictionary knows, so that their spelling says how they sound."""
    if language.split("-")[0] != "en":
        return None
    pieces = {word: [token.word for token in tokens(word) if token.word.isalpha()] for word in words}
    strange = [word for word, parts in pieces.items() if not all(map(is_known, parts)) and _shapes(word, language)]
    if not strange:
        return None
    return (
        f"no English dictionary knows {_few(strange)}: how it is said is guessed by its spelling. If it is a word of "
        "another language, name that with --language"
    )


def _few(words: Sequence[str]) -> str:
    """Some words by name."""
    return ", ".join(map(repr, words[:_NAMED])) + (" …" if len(words) > _NAMED else "")


def _is_long(word: str, language: str) -> bool:
    """Whether a word shows enough on the lips; one that cannot be read does not."""
    return _shapes(word, language) >= _FEWEST_SHAPES


@lru_cache(maxsize=1 << 16)
def _shapes(word: str, language: str) -> int:
    """The number of mouth shapes of a word; 0 where it cannot be read."""
    try:
        return len(visemes_of(word, language))
    except OptionsError:
        logger.info("the word %r of a subtitle has no phonemes", word)
        return 0
