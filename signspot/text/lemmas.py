"""Words back to their dictionary form ("children" to "child"), in every language that simplemma knows."""

from functools import cache, lru_cache
from typing import Any

from signspot.errors import MissingExtraError, OptionsError
from signspot.text.tokens import fold

_LONGEST = 60  # letters; what is longer is no word


@cache
def _simplemma() -> Any:
    try:
        import simplemma
    except ImportError:
        raise MissingExtraError("simplemma", "text", "lemmatising subtitles") from None
    return simplemma


def primary_language(language: str) -> str:
    """The language that is meant by a tag such as "en-GB", "pt_BR" or "DE".

    Raises:
        OptionsError: no lemma is known in it; the message names the languages.
    """
    name = language.replace("_", "-").partition("-")[0].lower()
    name = {"no": "nb", "sr": "hbs", "hr": "hbs", "bs": "hbs"}.get(name, name)
    if name not in languages():
        raise OptionsError(f"no lemmas for the language '{language}'. Choose one of: {', '.join(languages())}.")
    return name


@cache
def languages() -> tuple[str, ...]:
    """The languages whose words can be lemmatised."""
    _simplemma()
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return tuple(sorted(SUPPORTED_LANGUAGES))


@lru_cache(maxsize=1 << 17)
def lemmas(word: str, language: str = "en") -> tuple[str, ...]:
    """The dictionary forms of a word, folded, without the word itself; none where it is in that form already.

    A word may have two: as it is written, and as it would be in another case ("Saw" at the head of a sentence).

    Args:
        word: as it stands in the text, its case kept, because in some languages it tells nouns from verbs.
        language: a name from `languages`.
    """
    if len(word) > _LONGEST or "'" in fold(word) or not any(character.isalpha() for character in word):
        return ()  # contractions are normalised, not lemmatised
    shapes = (word, word.lower(), word.capitalize()) if word.isupper() and len(word) > 1 else (word, word.lower())
    found = dict.fromkeys(fold(_simplemma().lemmatize(shape, lang=language)) for shape in dict.fromkeys(shapes))
    return tuple(lemma for lemma in found if lemma and lemma != fold(word))
