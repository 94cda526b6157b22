"""A trunk as a classifier: it learns, goes on to the same weights after a stop, and forgets batch norms when asked."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.errors import CheckpointError, OptionsError, SignspotError
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.registry import build
from signspot.training.distributed import Group
from signspot.training.recogniser import RecogniserConfig, train_trunk
from signspot.training.run_folder import Run
from signspot.training.sign_clips import ClipOptions, LabelledSigns
from tests.fixtures.clips import Clips

SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32, "norm": "batch"}
CONFIG = RecogniserConfig(steps=30, warm_up=3, lr=1e-2, clips=ClipOptions(clips=8), model=SMALL)


@pytest.fixture(scope="module")
def signs(clips: Clips) -> LabelledSigns:
    words = [[sign.astype(np.float16) for signer in clips.values() for sign in signer[word]] for word in (1, 2)]
    short = tuple(tuple(sign[:25] for sign in word) for word in words)
    return LabelledSigns(("up", "sideways"), short, tuple(map(tuple, words)))


def test_it_learns_and_is_saved(signs: LabelledSigns, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    encoder = train_trunk(CONFIG, signs, tmp_path, lambda done, total: told.append((done, total)))
    rows = [line.split(",") for line in (tmp_path / "curve.csv").read_text().splitlines()]
    assert rows[0] == ["step", "lr", "loss", "continuous accuracy", "dictionary accuracy"]
    assert float(rows[-1][2]) < 0.7 * float(rows[1][2])
    assert told[-1] == (30, 30)
    assert encoder.card["data"] == "12 labelled signs and 12 exemplars of 2 words"
    kept = save_encoder(encoder, tmp_path / "trunk.safetensors")
    assert load_encoder(tmp_path / "trunk.safetensors").hash == kept.hash
    assert encoder.contract.dimension == 32


def test_a_stopped_training_goes_on_to_the_same_weights(signs: LabelledSigns, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 7:
            os.kill(os.getpid(), signal.SIGINT)

    config = replace(CONFIG, steps=12)
    whole = train_trunk(config, signs, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train_trunk(config, signs, tmp_path / "parts", stop)
    assert train_trunk(config, signs, tmp_path / "parts").hash == whole.hash
    with pytest.raises(CheckpointError, match="was trained with seed 0, not 1"):
        train_trunk(replace(config, seed=1), signs, tmp_path / "parts")


def test_a_signal_to_stop_keeps_every_step(signs: LabelledSigns, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_trunk(CONFIG, signs, tmp_path, stop)
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 1 + 3


def test_batch_norms_forget_when_the_dictionary_joins(signs: LabelledSigns, tmp_path: Path) -> None:
    config = replace(CONFIG, steps=4, continuous_only_fraction=0.5)
    kept = train_trunk(config, signs, tmp_path / "kept")
    forgot = train_trunk(replace(config, reinitialise=True), signs, tmp_path / "forgot")
    assert kept.hash != forgot.hash
    seen = {name: value for name, value in forgot.module.state_dict().items() if name.endswith("num_batches_tracked")}
    assert {int(value) for value in seen.values()} == {2}
    rows = (tmp_path / "forgot" / "curve.csv").read_text().splitlines()
    assert rows[2].endswith("nan")  # continuous signing alone
    assert not rows[3].endswith("nan")


def test_a_loss_that_is_no_number_stops_it(signs: LabelledSigns, tmp_path: Path) -> None:
    broken = signs.continuous[0][0].copy()
    broken[..., :3] = np.nan  # seen, but nowhere
    bad = LabelledSigns(signs.words, ((broken,), (broken,)), signs.dictionary)
    with pytest.raises(SignspotError, match=r"the loss at step 0 is nan; its batch is saved in .*bad-batch-0\.npz"):
        train_trunk(CONFIG, bad, tmp_path)
    assert np.load(tmp_path / "bad-batch-0.npz")["clips"].shape[0] == 8


def test_mistakes_are_named() -> None:
    with pytest.raises(OptionsError, match="continuous_only_fraction must be at least 0 and at most 1; got 3"):
        RecogniserConfig(continuous_only_fraction=3)
    with pytest.raises(OptionsError, match="steps must be at least 1; got 0"):
        RecogniserConfig(steps=0)
    assert RecogniserConfig(steps=100, warm_up=10).lr_scale(0) == pytest.approx(0.1)
    assert 0 < RecogniserConfig(steps=100).lr_scale(99) < 1e-3


def test_domain_specific_batch_norms_of_both_domains_learn(signs: LabelledSigns, tmp_path: Path) -> None:
    """Both sets start alike; after a few steps each has weights and statistics of its own."""
    model = {**SMALL, "domain_norm": True}
    trained = train_trunk(replace(CONFIG, steps=3, warm_up=1, model=model), signs, tmp_path).module.state_dict()
    torch.manual_seed(CONFIG.seed)
    before = build("landmark", mlp=False, **model).state_dict()
    own = {domain: [name for name in trained if f".{domain}." in name] for domain in ("continuous", "dictionary")}
    assert len(own["continuous"]) == len(own["dictionary"]) > 0
    learned = [name for name in own["dictionary"] if name.endswith((".weight", ".bias"))]
    assert learned
    assert not [name for name in learned if torch.equal(trained[name], before[name])]
    for one, other in zip(own["continuous"], own["dictionary"], strict=True):
        assert one.endswith("num_batches_tracked") or not torch.equal(trained[one], trained[other])


def test_a_device_that_is_not_there_is_refused(signs: LabelledSigns, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="no device 'cuda' on this computer"):
        train_trunk(CONFIG, signs, tmp_path, device="cuda")
    with pytest.raises(OptionsError, match="several processes train on the CPU; got the device 'mps'"):
        Run(tmp_path, group=Group(0, 2), device="mps")
