"""Exemplars of all words in one file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.tasks import WordTask, WorkerContext, embed_words, read_gallery, word_digests, write_gallery
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.exemplars import Gallery, SignViews
from signspot.errors import FormatError
from signspot.models.checkpoints import load_encoder
from signspot.types import Exemplar, Origin, Segment


def gallery(exemplars: dict[str, int], seed: int = 0) -> Gallery:
    """So many exemplars of each word, each of them mirrored, too."""
    signs = [Exemplar(word, f"{word}-{number}", variant="1") for word, n in exemplars.items() for number in range(n)]
    rows = [
        np.random.default_rng([seed, len(word)]).normal(size=(n, 2, 4)).astype(np.float32)
        for word, n in exemplars.items()
    ]
    return Gallery.of(signs, np.concatenate(rows))


def test_write_read_equal(tmp_path: Path) -> None:
    written = gallery({"apple": 3, "tree": 1})
    origins = (Origin(("a video", "its landmarks"), Segment(1.0, 2.0)),)
    cut_out = replace(written.exemplars[0], origins=origins)
    written = replace(written, exemplars=(cut_out, *written.exemplars[1:]))
    read = read_gallery(write_gallery(written, tmp_path))
    assert list(read.words) == ["apple", "tree"]
    assert word_digests(read) == word_digests(written)
    assert (read.embeddings == written.embeddings).all()
    assert [read.exemplar(row) for row in range(8)] == [written.exemplar(row) for row in range(8)]
    assert read.exemplars[0].origins == origins
    assert [exemplar.id for exemplar in read.exemplars] == ["apple-0", "apple-1", "apple-2", "tree-0"]
    assert write_gallery(read, tmp_path) == write_gallery(written, tmp_path)


def test_a_whole_file_of_other_exemplars_is_reported(tmp_path: Path) -> None:
    path, other = (write_gallery(gallery({"apple": count}), tmp_path) for count in (1, 2))
    path.write_bytes(other.read_bytes())
    with pytest.raises(FormatError):
        read_gallery(path)


def test_a_digest_tells_every_difference() -> None:
    one = gallery({"apple": 2})
    cut_out = replace(one.exemplars[1], origins=(Origin(("a video",), Segment(1.0, 2.0)),))
    others = [
        gallery({"apple": 2}, seed=1),
        replace(one, exemplars=tuple(replace(exemplar, id=exemplar.id + "x") for exemplar in one.exemplars)),
        replace(one, exemplars=(one.exemplars[0], replace(one.exemplars[1], variant="2"))),
        replace(one, exemplars=(one.exemplars[0], cut_out)),
        Gallery(one.exemplars, one.embeddings[::2], one.rows[::2], one.mirrored[::2]),
    ]
    assert len({word_digests(changed)["apple"] for changed in [one, *others]}) == 6
    assert word_digests(one)["apple"] == word_digests(gallery({"apple": 2, "tree": 1}))["apple"]


def test_exemplars_that_cannot_be_read_are_reported(corpus_folder: Path, encoder_file: Path, tmp_path: Path) -> None:
    dictionary = open_dictionary(corpus_folder / "dictionary")
    good, other, *_ = next(exemplars for exemplars in dictionary.values() if len(exemplars) > 1)
    bad = replace(other, path=tmp_path / "bad.pose")
    (tmp_path / "bad.pose").write_bytes(b"nothing")
    encoder = load_encoder(encoder_file)
    context = WorkerContext(str(encoder_file), encoder.hash, tmp_path / "cache", AnnotateOptions(negatives=0))
    (_, views), (left_out, reason) = embed_words(context, WordTask((good, bad)))
    assert isinstance(views, SignViews)
    assert views.embeddings.shape == (2, 256)  # mirrored, too
    assert left_out == bad
    assert str(reason).startswith(str(bad.path))


@pytest.mark.parametrize(
    "damage", [lambda content: b"", lambda content: content[:-3], lambda content: content[:-8] + b"\x01" * 8]
)
def test_a_damaged_file_is_made_again(damage, tmp_path: Path) -> None:
    written = gallery({"apple": 2})
    path = write_gallery(written, tmp_path)
    content = path.read_bytes()
    path.write_bytes(damage(content))
    with pytest.raises(FormatError, match=path.stem):
        read_gallery(path)
    assert write_gallery(written, tmp_path) == path
    assert path.read_bytes() == content
