"""Which words mean or show the same, so that a batch need not call them negatives of one another (Appendix B.3)."""

from collections.abc import Collection

from signspot.dictionary.dictionary import Dictionary
from signspot.text.synonyms import WordNet
from signspot.training.embedding_config import Synonyms


def synonym_pairs(how: Synonyms, dictionary: Dictionary, words: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of words, each once and in order, whose clips and exemplars are to be discarded.

    Args:
        how: "keep": none; "sign": words that share a sign, as the dictionary says; "english": words that share a
            meaning, as WordNet says.
        dictionary: that knows which words share a sign.
        words: of which there may be pairs.

    Raises:
        MissingWordNetError: English meanings are asked for, and WordNet is not installed.
    """
    if how == "keep":
        return []
    known = set(words)
    net = WordNet() if how == "english" else None
    pairs = set()
    for word in known & set(dictionary):
        others = net.synonyms(word) if net is not None else dictionary.synonyms(word)
        pairs |= {(min(word, other), max(word, other)) for other in others if other in known and other != word}
    return sorted(pairs)
