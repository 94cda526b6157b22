"""Exemplars of all words in one file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.gallery import EmbeddedWord, embed_word, make_gallery, read_gallery, write_gallery
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import ExemplarEmbedder
from signspot.errors import FormatError
from signspot.models.checkpoints import load_encoder


def word(name: str, exemplars: int, seed: int = 0) -> EmbeddedWord:
    rows = np.random.default_rng([seed, len(name)]).normal(size=(exemplars, 2, 4)).astype(np.float32)
    ids = tuple(f"{name}-{number}" for number in range(exemplars))
    return EmbeddedWord(name, ids, ("1",) * exemplars, rows)


def test_write_read_equal(tmp_path: Path) -> None:
    gallery = make_gallery([word("tree", 1), word("apple", 3), word("nothing", 0)])
    again = read_gallery(write_gallery(gallery, tmp_path))
    assert list(again.words) == ["apple", "tree"]
    assert again.digests == gallery.digests
    assert (again.words["apple"].embeddings == gallery.words["apple"].embeddings).all()
    assert again.words["apple"].ids == ("apple-0", "apple-1", "apple-2")
    assert write_gallery(again, tmp_path) == write_gallery(gallery, tmp_path)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = write_gallery(make_gallery([word("apple", 1)]), tmp_path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FormatError, match="damaged"):
        read_gallery(path)


def test_a_digest_tells_every_difference() -> None:
    one = word("apple", 2)
    others = [
        word("apple", 2, seed=1),
        replace(one, ids=("x", "y")),
        replace(one, variants=("1", "2")),
        replace(one, embeddings=one.embeddings[:, :1]),
    ]
    assert len({each.digest for each in [one, *others]}) == 5
    assert one.digest == word("apple", 2).digest


def test_exemplars_that_cannot_be_read_are_left_out_and_told(
    corpus_folder: Path, encoder_file: Path, tmp_path: Path
) -> None:
    dictionary = open_dictionary(corpus_folder / "dictionary")
    exemplars = next(found for found in dictionary.values() if len(found) > 1)
    bad = tmp_path / "bad.pose"
    bad.write_bytes(b"nothing")
    embedder = ExemplarEmbedder(load_encoder(encoder_file))
    made = embed_word(embedder, [exemplars[0], replace(exemplars[1], path=bad)], mirror=True)
    assert made.ids == (exemplars[0].id,)
    assert made.embeddings.shape == (1, 2, 256)
    assert len(made.problems) == 1
    assert made.problems[0].startswith(f"left out exemplar '{exemplars[1].id}' of '{exemplars[1].word}': {bad}")
    nothing = embed_word(embedder, [replace(exemplars[1], path=bad)], mirror=False)
    assert (nothing.ids, nothing.embeddings.shape) == ((), (0, 1, 256))
