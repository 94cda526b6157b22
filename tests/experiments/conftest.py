"""A tiny world and trainings of a few steps: every part is real, no number means anything."""

from pathlib import Path

import pytest

from signspot.experiments.setup import Setup, Size
from signspot.sampling.batches import BatchOptions
from signspot.training.embedding_config import EmbeddingConfig
from signspot.training.trunk_classification import TrunkConfig
from signspot.training.trunk_clips import ClipOptions
from signspot.world.corpus import make_corpus
from signspot.world.layout import Corpus
from signspot.world.options import CorpusOptions

_SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32}
TINY = Size(
    CorpusOptions(words=24, hours=0.0125, seed=11, dictionary_signers=3),
    TrunkConfig(steps=2, clips=ClipOptions(clips=8), model=_SMALL),
    EmbeddingConfig(epochs=1, batch=BatchOptions(items=4, background=3)),
    1,
)


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(TINY.corpus, tmp_path_factory.mktemp("world") / "corpus")


@pytest.fixture(scope="session")
def tiny(tiny_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    """A setup whose corpus is there; trunks and features are made by whoever asks first."""
    return Setup(TINY, tmp_path_factory.mktemp("reproduced"), tiny_corpus)


@pytest.fixture
def size() -> Size:
    return TINY


@pytest.fixture
def lame(tiny_corpus: Corpus, tmp_path: Path) -> Corpus:
    """A copy of the tiny corpus that may be damaged."""
    import shutil

    from signspot.world.layout import open_corpus

    shutil.copytree(tiny_corpus.folder, tmp_path / "lame")
    return open_corpus(tmp_path / "lame")
