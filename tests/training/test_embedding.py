"""The MLP on frozen features: it learns with every loss, resumes to the same weights, stops at nonsense."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from signspot.errors import CheckpointError, SignspotError
from signspot.models.mlp import EmbeddingMlp
from signspot.training.embedding import fold_standard, train_embedding
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, ItemBatchOptions, Loss, Standard
from signspot.training.items import Item
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Label, Segment

WORDS = ("apple", "dog", "house", "tree")
CONFIG = EmbeddingConfig(epochs=3, seed=4, dimension=8, batch=ItemBatchOptions(items=4, background=2, clips=2))


@pytest.fixture(scope="module")
def features() -> TrunkFeatures:
    """A video that shows word after word, 60 frames each; a word is a direction, another one in the dictionary."""
    random = np.random.default_rng(0)
    shown = random.normal(0, 3, (4, 24))
    other = shown @ np.linalg.qr(random.normal(size=(24, 24)))[0]
    grid = Grid(25.0, 16, 1, 4 * 60 + 15)
    windows = 5 + np.repeat(shown, 60, axis=0) + random.normal(0, 0.5, (240, 24))
    exemplars = tuple(Exemplar(word, f"{word}-{take}") for word in WORDS for take in (1, 2))
    clips = 5 + np.repeat(other, 2, axis=0)[:, None] + random.normal(0, 0.5, (8, 4, 24))
    return TrunkFeatures(
        "test", {"v": WindowFeatures(windows.astype(np.float16), grid)}, exemplars, clips.astype(np.float16)
    )


@pytest.fixture(scope="module")
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


def hits(mlp: EmbeddingMlp, features: TrunkFeatures) -> float:
    """The number of windows whose most similar exemplar shows their word."""
    with torch.inference_mode():
        windows = mlp(torch.from_numpy(features.videos["v"].features.astype(np.float32)))
        nearest = (windows @ mlp(torch.from_numpy(features.exemplar_means())).T).argmax(dim=1)
    return float((nearest // 2 == torch.arange(4).repeat_interleave(60)).float().mean())


@pytest.mark.parametrize("loss", get_args(Loss))
def test_every_loss_brings_the_two_domains_together(
    loss: Loss, features: TrunkFeatures, items: list[Item], tmp_path: Path
) -> None:
    config = replace(CONFIG, loss=loss, epochs=80, lr=0.05 if loss == "classification" else 0.02)
    mlp = train_embedding(config, EmbeddingData(features, items, config), tmp_path).module
    assert hits(mlp, features) > (0.6 if loss == "classification" else 0.9)  # a classifier need not match domains
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines[0] == "epoch,lr,loss"
    assert float(lines[-1].split(",")[2]) < 0.8 * float(lines[1].split(",")[2])
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_batches_hold_the_features_of_their_places(features: TrunkFeatures, items: list[Item]) -> None:
    batch = EmbeddingData(features, items, CONFIG)[3]
    windows = features.videos["v"].features
    assert torch.equal(batch.clips, torch.from_numpy(windows[batch.places.clip_window].astype(np.float32)))
    made = batch.embedded(batch.clips, batch.exemplars)
    assert len(made.clips) == 3 * (1 + 2) + 1
    assert len(made.exemplars) == 3 * 2 * 2 + 2
    words = [features.exemplars[i].word for i in batch.places.exemplars[batch.places.exemplar_row]]
    assert [WORDS[i] for i in made.exemplar_word] == words
    fore = EmbeddingData(features, items, replace(CONFIG, loss="watch_lookup"))[3]
    assert len(fore.clips) == 4
    assert torch.equal(fore.clips, batch.clips[made.is_foreground])


def test_stopped_and_resumed_gives_the_same_weights(features: TrunkFeatures, items: list[Item], tmp_path: Path) -> None:
    data = EmbeddingData(features, items, CONFIG)
    whole = train_embedding(CONFIG, data, tmp_path / "whole").module

    def stop(done: int, total: int | None) -> None:
        if done == 2 * len(data):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_embedding(CONFIG, data, tmp_path / "parts", stop)
    again = train_embedding(CONFIG, data, tmp_path / "parts").module
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))
    assert (tmp_path / "whole/curve.csv").read_text() == (tmp_path / "parts/curve.csv").read_text()
    other = replace(CONFIG, seed=5)
    third = train_embedding(other, EmbeddingData(features, items, other), tmp_path / "other").module
    assert not torch.equal(whole.adaptor[0].weight, third.adaptor[0].weight)
    with pytest.raises(CheckpointError, match="was trained with seed 4, not 5"):
        train_embedding(other, data, tmp_path / "whole")
    (tmp_path / "whole/state.pt").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"state\.pt"):
        train_embedding(CONFIG, data, tmp_path / "whole")


def test_a_loss_that_is_no_number_stops_and_keeps_the_batch(
    features: TrunkFeatures, items: list[Item], tmp_path: Path
) -> None:
    bad = replace(features, clips=np.full_like(features.clips, np.nan))
    with pytest.raises(SignspotError, match=r"the loss at step 0 is nan; .*bad-batch-0\.npz"):
        train_embedding(CONFIG, EmbeddingData(bad, items, CONFIG), tmp_path)
    with np.load(tmp_path / "bad-batch-0.npz") as saved:
        assert saved["clips"].shape == (10, 24)
        assert np.isnan(saved["exemplars"]).all()


def test_folding_changes_nothing() -> None:
    torch.manual_seed(1)
    mlp = EmbeddingMlp(24)
    features, standard = 7 + 30 * torch.randn(10, 24), Standard(torch.randn(24) + 7, 30.0)
    with torch.no_grad():
        before = mlp((features - standard.mean) / standard.scale)
        fold_standard(mlp, standard)
        assert torch.allclose(mlp(features), before, atol=1e-5)
