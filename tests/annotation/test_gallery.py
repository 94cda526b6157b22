"""Exemplars of all words in one file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.tasks import EmbeddedWord, embed_word, join_words, read_gallery, word_digests, write_gallery
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.errors import FormatError
from signspot.models.checkpoints import load_encoder
from signspot.types import Exemplar


def word(name: str, exemplars: int, seed: int = 0) -> EmbeddedWord:
    rows = np.random.default_rng([seed, len(name)]).normal(size=(exemplars, 2, 4)).astype(np.float32)
    shown = [Exemplar(name, f"{name}-{number}", variant="1") for number in range(exemplars)]
    return EmbeddedWord(name, Gallery.of(shown, rows) if shown else None)


def gallery(*words: EmbeddedWord) -> Gallery:
    joined = join_words(words)
    assert joined is not None
    return joined


def test_write_read_equal(tmp_path: Path) -> None:
    made = gallery(word("tree", 1), word("apple", 3), word("nothing", 0))
    again = read_gallery(write_gallery(made, tmp_path))
    assert list(again.words) == ["apple", "tree"]
    assert word_digests(again) == word_digests(made)
    assert (again.embeddings == made.embeddings).all()
    assert [again.exemplar(row) for row in range(8)] == [made.exemplar(row) for row in range(8)]
    assert [one.id for one in again.exemplars] == ["apple-0", "apple-1", "apple-2", "tree-0"]
    assert write_gallery(again, tmp_path) == write_gallery(made, tmp_path)
    assert join_words([word("nothing", 0)]) is None


def test_a_whole_file_of_other_exemplars_is_told(tmp_path: Path) -> None:
    wanted, other = (write_gallery(gallery(word("apple", count)), tmp_path) for count in (1, 2))
    wanted.write_bytes(other.read_bytes())
    with pytest.raises(FormatError):
        read_gallery(wanted)


def test_a_digest_tells_every_difference() -> None:
    one = gallery(word("apple", 2))
    others = [
        gallery(word("apple", 2, seed=1)),
        replace(one, exemplars=tuple(replace(each, id=each.id + "x") for each in one.exemplars)),
        replace(one, exemplars=(one.exemplars[0], replace(one.exemplars[1], variant="2"))),
        Gallery(one.exemplars, one.embeddings[::2], one.rows[::2], one.mirrored[::2]),
    ]
    assert len({word_digests(each)["apple"] for each in [one, *others]}) == 5
    assert word_digests(one)["apple"] == word_digests(gallery(word("tree", 1), word("apple", 2)))["apple"]


def test_exemplars_that_cannot_be_read_are_left_out_and_told(
    corpus_folder: Path, encoder_file: Path, tmp_path: Path
) -> None:
    dictionary = open_dictionary(corpus_folder / "dictionary")
    exemplars = next(found for found in dictionary.values() if len(found) > 1)
    bad = tmp_path / "bad.pose"
    bad.write_bytes(b"nothing")
    embedder = ExemplarEmbedder(load_encoder(encoder_file))
    made = embed_word(embedder, [exemplars[0], replace(exemplars[1], path=bad)], mirror=True)
    assert made.gallery is not None
    assert [one.id for one in made.gallery.exemplars] == [exemplars[0].id]
    assert made.gallery.embeddings.shape == (2, 256)
    assert len(made.problems) == 1
    assert made.problems[0].startswith(f"left out exemplar '{exemplars[1].id}' of '{exemplars[1].word}': {bad}")
    nothing = embed_word(embedder, [replace(exemplars[1], path=bad)], mirror=False)
    assert nothing.gallery is None


@pytest.mark.parametrize(
    "damage", [lambda content: b"", lambda content: content[:-3], lambda content: content[:-8] + b"\x01" * 8]
)
def test_a_damaged_file_is_made_again(damage, tmp_path: Path) -> None:
    made = gallery(word("apple", 2))
    path = write_gallery(made, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    with pytest.raises(FormatError, match=path.stem):
        read_gallery(path)
    assert write_gallery(made, tmp_path) == path
    assert path.read_bytes() == whole
