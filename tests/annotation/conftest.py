"""A tiny corpus of the signing world, a small untrained encoder, and an engine without processes."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import torch

from signspot.annotation.engines.engine import Failure, attempt
from signspot.models.checkpoints import save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot.world.corpus import make_corpus
from signspot.world.options import CorpusOptions


class HereEngine:
    """Works in this process, one item after the other; counts them."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def run(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any | Failure]]:
        for item in items:
            self.items.append(item)
            yield item, attempt(work, item)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None


@pytest.fixture
def here() -> HereEngine:
    return HereEngine()


@pytest.fixture(scope="session")
def encoder_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    small = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    path = tmp_path_factory.mktemp("encoder") / "encoder.safetensors"
    save_encoder(small, path)
    return path


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four videos of ten seconds or so, a dictionary of 16 words."""
    options = CorpusOptions(words=16, hours=0.012, seed=3, video_seconds=10, dictionary_signers=3, exemplars=2.0)
    folder = tmp_path_factory.mktemp("world") / "corpus"
    make_corpus(options, folder)
    return folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tracks and exemplars, made once for all tests that are not about them."""
    return tmp_path_factory.mktemp("annotation-cache")
