"""Encoders opened by what was noted of them: the same as loaded, without a network until one is needed."""

import pickle
from pathlib import Path

import pytest
import torch

from signspot.errors import CheckpointError
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import open_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build

SMALL = {"codes": 8, "width": 0, "embedding": 4, "mlp": False}


def weights(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    path = folder / "small.safetensors"
    save_encoder(make_encoder("small", build("frame_codes", **SMALL), card={"licence": "CC0"}), path)
    return path


def test_an_encoder_that_was_loaded_before_is_opened_without_its_network(tmp_path: Path) -> None:
    path, cache = weights(tmp_path), tmp_path / "cache"
    loaded, opened = load_encoder(path), (open_encoder(path, cache), open_encoder(path, cache))[1]
    assert "module" not in vars(opened)
    assert (opened.name, opened.hash, opened.contract) == (loaded.name, loaded.hash, loaded.contract)
    assert dict(opened.card) == dict(loaded.card)
    sent = pickle.loads(pickle.dumps(opened))  # as workers get it
    for one, other in zip(loaded.module.parameters(), sent.module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_without_a_cache_the_network_is_there_at_once(tmp_path: Path) -> None:
    path = weights(tmp_path)
    assert open_encoder(path, None).module.trunk.codes == 8
    assert not (tmp_path / "encoders").exists()


@pytest.mark.parametrize("damage", ["", "[]", "{}", "no json", '{"card": {}, "contract": {"kind": "rgb", "x": 1}}'])
def test_a_damaged_note_is_no_note(tmp_path: Path, damage: str) -> None:
    path, cache = weights(tmp_path), tmp_path / "cache"
    first = open_encoder(path, cache)
    (note,) = (cache / "encoders").iterdir()
    text = note.read_text()
    note.write_text(damage)
    assert open_encoder(path, cache).hash == first.hash
    assert note.read_text() == text


def test_other_weights_under_the_same_name_are_not_taken_for_those_noted(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = open_encoder(weights(tmp_path), cache)
    second = open_encoder(weights(tmp_path, seed=1), cache)
    assert second.hash != first.hash
    noted = open_encoder(tmp_path / "small.safetensors", cache)
    weights(tmp_path, seed=2)  # replaced while the encoder is in use
    with pytest.raises(CheckpointError):
        _ = noted.module


def test_a_card_of_other_weights_is_refused_as_ever(tmp_path: Path) -> None:
    path, cache = weights(tmp_path), tmp_path / "cache"
    open_encoder(path, cache)
    card = path.with_suffix(".json")
    card.write_text(card.read_text().replace(load_encoder(path).hash, "0" * 16))
    with pytest.raises(CheckpointError):
        open_encoder(path, cache)
