"""`signspot synthetic`."""

from pathlib import Path

import pytest

from signspot.corpus.corpus import open_corpus
from tests.cli.conftest import Cli


def test_a_small_corpus_is_made_and_its_knobs_kept(signspot: Cli, tmp_path: Path) -> None:
    size = ("--words", 12, "--hours", 0.02, "--seed", 3)
    settings = ("train_signers=3", "test_signers=1", "knobs.noise=0", "variants=1")
    more = [part for text in settings for part in ("--set", text)]
    out, _ = signspot.ok("synthetic", "make", tmp_path / "w", *size, *more)
    assert "12 words" in out
    corpus = open_corpus(tmp_path / "w")
    assert len(corpus.videos) >= 2
    assert corpus.options["knobs"]["noise"] == 0
    assert (corpus.options["train_signers"], corpus.options["test_signers"]) == (3, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--words", 0), "at least 1 word"),
        (("--set", "knobs.nois=1"), "Did you mean 'noise'?"),
        (("--set", "knobs.noise=much"), "noise in the options [knobs] must be a number; got 'much'"),
        (("--kind", "signs", "--hours", 1), "unknown key 'hours'"),
        (("--kind", "lips", "--set", "seconds=1"), "got"),
        (("--size", "wide"), "a size is a width and a height, such as 320x240; got 'wide'"),
    ],
)
def test_impossible_corpora_are_one_line(
    signspot: Cli, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    assert message in signspot.refused("synthetic", "make", tmp_path / "w", *arguments)
    assert not (tmp_path / "w").exists()
