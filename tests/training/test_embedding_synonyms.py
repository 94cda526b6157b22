"""Pairs of words that are not called negatives of one another."""

from pathlib import Path

from signspot.dictionary.contents import Contents
from signspot.dictionary.dictionary import Dictionary
from signspot.records import Exemplar
from signspot.training.embedding.data import synonym_pairs

WORDS = ("big", "car", "large", "tree")
DICTIONARY = Dictionary(
    Contents(tuple(Exemplar(word, word, Path(f"{word}.pose")) for word in WORDS), synonyms={"tree": ("car", "bush")})
)


def test_pairs_are_of_the_vocabulary_and_each_is_there_once() -> None:
    assert synonym_pairs("keep", DICTIONARY, WORDS) == []
    assert synonym_pairs("sign", DICTIONARY, WORDS) == [("car", "tree")]
    assert synonym_pairs("sign", DICTIONARY, ("tree", "big")) == []
