"""Tiny data for every task of the training loop, made once."""

from pathlib import Path

import numpy as np
import pytest

from signspot.corpus.corpus import Corpus
from signspot.corpus.isolated import IsolatedClip
from signspot.models.checkpoints import load_encoder
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation_data import AdaptOptions, EmbeddedFootage, read_footage
from signspot.training.corpus_subset import Item, find_training_subset
from signspot.training.landmark_clips import LabelledSigns
from signspot.training.pairs import PairStore, store_clips
from signspot.training.rgb_clips import (
    ImageStore,
    RgbAugmentation,
    RgbBatchOptions,
    RgbConfig,
    RgbSigns,
    SignReader,
    collect_rgb_signs,
)
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Label, Segment
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.isolated_signs import isolated_clips
from tests.fixtures.clips import Clips
from tests.fixtures.corpora import corpus_once
from tests.fixtures.filmed import filmed_corpus

WORDS = ("apple", "dog", "house", "tree")
RGB = RgbConfig(
    model={"frames": 6, "image_size": 32, "width": 0.06},
    fps=12.5,
    epochs=2,
    optimiser="adam",
    lr=3e-3,
    batch=RgbBatchOptions(clips=8, before=9, after=3),
    augmentation=RgbAugmentation(flip=0.5, scale=0.05, shift=0.2, brightness=0.05, contrast=0.05, saturation=0),
)
ADAPT = AdaptOptions(steps=8, segments=6, exemplars=1, lr=1e-2, held_out=0.33, embeddings=True)


@pytest.fixture(scope="session")
def labelled_signs(clips: Clips) -> LabelledSigns:
    words = [[sign.astype(np.float16) for signer in clips.values() for sign in signer[word]] for word in (1, 2)]
    short = tuple(tuple(sign[:25] for sign in word) for word in words)
    return LabelledSigns(("up", "sideways"), short, tuple(map(tuple, words)))


@pytest.fixture(scope="session")
def features() -> TrunkFeatures:
    """A video that shows word after word, 60 frames each; a word is a direction, another one in the dictionary."""
    random = np.random.default_rng(0)
    directions = random.normal(0, 3, (4, 24))
    other = directions @ np.linalg.qr(random.normal(size=(24, 24)))[0]
    grid = Grid(25.0, 16, 1, 4 * 60 + 15)
    windows = 5 + np.repeat(directions, 60, axis=0) + random.normal(0, 0.5, (240, 24))
    exemplars = tuple(Exemplar(word, f"{word}-{take}") for word in WORDS for take in (1, 2))
    clips = 5 + np.repeat(other, 2, axis=0)[:, None] + random.normal(0, 0.5, (8, 4, 24))
    return TrunkFeatures(
        "test", {"v": WindowFeatures(windows.astype(np.float16), grid)}, exemplars, clips.astype(np.float16)
    )


@pytest.fixture(scope="session")
def items() -> list[Item]:
    """Each label lies at the end of its word; the subtitle also has the next word, which follows."""
    following = (*WORDS[1:], None)
    return [
        Item(
            Label(word, "v", (60 * i + 62) / 25),
            Segment((60 * i + 62) / 25, (60 * i + 112) / 25),
            (after,) if after else (),
        )
        for i, (word, after) in enumerate(zip(WORDS, following, strict=True))
    ]


@pytest.fixture(scope="session")
def rgb_config() -> RgbConfig:
    return RGB


@pytest.fixture(scope="session")
def rgb_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return filmed_corpus(tmp_path_factory.mktemp("filmed") / "corpus")


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of decoded images."""
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="session")
def reader(images: Path, rgb_config: RgbConfig) -> SignReader:
    return SignReader(ImageStore(images, 12.5, 32), 6, rgb_config.batch)


@pytest.fixture(scope="session")
def rgb_signs(rgb_corpus: Corpus, reader: SignReader) -> RgbSigns:
    return collect_rgb_signs(find_training_subset(rgb_corpus, filmed=True), reader)


@pytest.fixture(scope="session")
def isolated_signs() -> list[IsolatedClip]:
    """Eight words by three signers."""
    return isolated_clips(8, 3, 5)


@pytest.fixture(scope="session")
def store(isolated_signs: list[IsolatedClip]) -> PairStore:
    return store_clips(isolated_signs)


@pytest.fixture(scope="session")
def adapt_options() -> AdaptOptions:
    return ADAPT


@pytest.fixture(scope="session")
def subtitled(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Six easy videos of half a minute."""
    options = CorpusOptions(
        words=16, hours=0.06, seed=5, video_seconds=36.0, dictionary_signers=2, exemplars=1.0, variants=1,
        knobs=Knobs(coarticulation=0.3, misalignment=0.3),
    )  # fmt: skip
    return corpus_once(tmp_path_factory, options)


@pytest.fixture(scope="session")
def spotter(tmp_path_factory: pytest.TempPathFactory) -> Spotter:
    return Spotter(load_encoder("landmark-synthetic"), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def footage(spotter: Spotter, subtitled: Corpus, adapt_options: AdaptOptions) -> EmbeddedFootage:
    return read_footage(spotter, subtitled, subtitled.dictionary(), adapt_options)
