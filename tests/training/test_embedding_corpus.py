"""A new MLP on any trunk: another embedding, two parts, one MLP per domain, any loss; pairs of synonyms."""

from pathlib import Path

import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot.training.embedding import train_embedding_on_corpus
from signspot.training.item_batches import EmbeddingConfig, ItemBatchOptions, Loss, synonym_pairs
from signspot.training.run_folder import Run
from signspot.types import Exemplar
from signspot_synthetic.options import CorpusOptions
from tests.fixtures.corpora import corpus_once

SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    options = CorpusOptions(words=8, hours=0.02, seed=3, video_seconds=30.0, dictionary_signers=3)
    return corpus_once(options, tmp_path_factory)


@pytest.mark.parametrize(
    ("loss", "domain_specific", "end"),
    [
        ("classification", False, {"dimension": 24, "mlp_classes": 5}),
        ("watch_read_lookup", True, {"mlp": False}),
        ("watch_lookup", False, {"dimension": 24, "linear_features": 8, "linear": 8}),
    ],
)
def test_any_trunk_takes_any_new_mlp(
    loss: Loss, domain_specific: bool, end: dict[str, int], corpus: Corpus, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    trunk = make_encoder("trunk", build("landmark", **SMALL, **end), threshold=0.8, card={"licence": "CC0-1.0"})
    batch = ItemBatchOptions(items=4, background=2, clips=2)
    config = EmbeddingConfig(
        name="new", loss=loss, domain_specific=domain_specific, epochs=1, dimension=12, batch=batch
    )
    made = train_embedding_on_corpus(config, trunk, corpus, Run(tmp_path, command="signspot train"))
    assert (made.contract.dimension, made.contract.threshold, made.card["licence"]) == (12, 0.8, "CC0-1.0")
    kept = save_encoder(made, tmp_path / "new.safetensors")
    assert load_encoder(tmp_path / "new.safetensors").hash == kept.hash == made.hash
    clips = torch.rand(2, 16, 69, 4)
    with torch.inference_mode():
        assert torch.equal(made.module.trunk(clips), trunk.module.trunk(clips))
        same = torch.equal(made.module(clips, "continuous"), made.module(clips, "dictionary"))
    assert same is not domain_specific


WORDS = ("big", "car", "large", "tree")
DICTIONARY = Dictionary(
    Contents(tuple(Exemplar(word, word, Path(f"{word}.pose")) for word in WORDS), synonyms={"tree": ("car", "bush")})
)


def test_pairs_are_of_the_vocabulary_and_each_is_there_once() -> None:
    assert synonym_pairs("keep", DICTIONARY, WORDS) == []
    assert synonym_pairs("sign", DICTIONARY, WORDS) == [("car", "tree")]
    assert synonym_pairs("sign", DICTIONARY, ("tree", "big")) == []
