"""`signspot reproduce`: a table on stdout, one line for each mistake."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import reproduce as module
from experiments.paper.setup import ReproductionSize
from signspot.training.embedding.batches import ItemBatchOptions
from signspot.training.embedding.config import EmbeddingConfig
from signspot.training.recogniser.clips import ClipOptions
from signspot.training.recogniser.training import TrunkConfig
from signspot_synthetic.options import CorpusOptions
from tests.fixtures.worlds import corpus_once

Outcome = tuple[int, str, str]

TINY = ReproductionSize(
    CorpusOptions(words=24, hours=0.0125, seed=11, dictionary_signers=3),
    TrunkConfig(
        steps=2,
        clips=ClipOptions(clips=8),
        model={"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32},
    ),
    EmbeddingConfig(epochs=1, batch=ItemBatchOptions(items=4, background=3)),
    1,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_once(TINY.corpus, tmp_path_factory).folder


@pytest.fixture
def lame(corpus: Path, tmp_path: Path) -> Path:
    shutil.copytree(corpus, tmp_path / "lame")
    return tmp_path / "lame"


def test_a_table_is_shown_and_written(
    signspot: Callable[..., Outcome], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SMALL", replace(module.SMALL, retrieval=TINY))
    code, said, noted = signspot("reproduce", "table3", "--quick", "--corpus", corpus, "--out", tmp_path)
    assert code == 0, noted
    assert said.splitlines()[0] == module.TABLES["table3"].title
    assert "| dictionary | mAP | R@5 | variant mAP |" in said
    assert "(14.86 ± 1.29)" in said
    assert f"written: {tmp_path / 'table3.md'} and {tmp_path / 'table3.png'}" in noted
    assert (tmp_path / "table3.md").read_text() in said


@pytest.mark.parametrize(
    ("part", "message"),
    [("truth", "no test word is known to be signed"), ("labels", "has no labels of its training videos")],
)
def test_a_corpus_that_lacks_something(
    signspot: Callable[..., Outcome], lame: Path, tmp_path: Path, part: str, message: str
) -> None:
    shutil.rmtree(lame / part)
    code, said, noted = signspot("reproduce", "table2", "--quick", "--corpus", lame, "--out", tmp_path / "out")
    assert (code, said) == (2, "")
    assert message in noted
    assert noted.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table9",), "no table 'table9'. There are: table2"),
        (("table2", "--seeds", 0), "seeds must be at least 1; got 0"),
        (("table2", "--epochs", 0), "epochs must be above 0; got 0"),
        (("table2", "--trunk-steps", 0), "steps must be at least 1; got 0"),
        (("table2", "--words", 0), "a corpus needs at least 1 word; got 0"),
        (("table2", "--hours", 0), "hours must be at least 0.0033"),
        (("table2", "--corpus", "no-such-folder"), "no corpus at no-such-folder"),
    ],
)
def test_mistakes_are_one_line(
    signspot: Callable[..., Outcome], tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    code, _, noted = signspot("reproduce", *arguments, "--out", tmp_path / "out")
    assert code == (1 if "--corpus" in arguments else 2)
    assert message in noted
    assert noted.count("\n") == 1
    assert not (tmp_path / "out").exists()
