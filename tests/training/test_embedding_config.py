"""The configuration of an embedding MLP: the paper's schedule, scaled; mistakes named."""

from pathlib import Path

import pytest

from signspot.errors import OptionsError
from signspot.training.configuration import read_toml
from signspot.training.embedding.config import EmbeddingConfig


def test_the_rate_decays_at_40_and_45_of_50_epochs_and_at_the_same_shares_of_others() -> None:
    rates = [EmbeddingConfig().rate_at(epoch) for epoch in (0, 39, 40, 44, 45, 49)]
    assert rates == pytest.approx([1e-2, 1e-2, 1e-3, 1e-3, 1e-4, 1e-4])
    short = EmbeddingConfig(epochs=10)
    assert [short.rate_at(epoch) for epoch in (7, 8, 9)] == pytest.approx([1e-2, 1e-3, 1e-4])


def test_toml_is_read_with_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('loss = "info_nce"\n[items]\nsources = ["M"]\n[batch]\nitems = 32\n')
    config = read_toml(path, EmbeddingConfig)
    assert (config.loss, config.items.sources, config.batch.items) == ("info_nce", ("M",), 32)
    path.write_text("[batch]\nitem = 32\n")
    with pytest.raises(OptionsError, match=r"unknown key 'item' in .*\[batch\]\. Did you mean 'items'\?"):
        read_toml(path, EmbeddingConfig)


def test_impossible_values_are_named() -> None:
    with pytest.raises(OptionsError, match="no loss 'softmax'. There are: classification, info_nce"):  # noqa: RUF043
        EmbeddingConfig(loss="softmax")  # type: ignore[arg-type]
    with pytest.raises(OptionsError, match="temperature must be above 0; got 0"):
        EmbeddingConfig(temperature=0)
