"""The training loop: it learns, it resumes to the same weights, it stops at nonsense."""

import os
import signal
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.contrastive.batches import ContrastiveBatches, ContrastiveBatchOptions
from experiments.contrastive.config import NOTHING, ContrastiveConfig, Optimiser, Shares, read_config
from experiments.contrastive.linear_path import LinearOptions, fit_linear_path
from experiments.contrastive.performances import MixedSource
from experiments.contrastive.training import contrast, open_source, train_contrastive
from experiments.isolated.recombination import Clips, RealWords, Recombinations
from signspot.errors import CheckpointError, OptionsError, SignspotError
from signspot.models.checkpoints import save_encoder
from signspot.models.mlp import TwoPartMlp
from signspot.models.registry import build

SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32}


@pytest.fixture
def config(clips: Clips, monkeypatch: pytest.MonkeyPatch) -> ContrastiveConfig:
    source = MixedSource([Recombinations(clips), RealWords(clips)], [0.5, 0.5])
    monkeypatch.setattr("experiments.contrastive.training.open_source", lambda _: source)
    monkeypatch.setattr("experiments.contrastive.training.SAVE_EVERY", 3)
    return ContrastiveConfig(
        batch=ContrastiveBatchOptions(signs=6, clips=2),
        optimiser=Optimiser(steps=6, warm_up=1, average=0.5),
        model=SMALL,
    )


def test_a_batch_follows_from_seed_and_number(clips: Clips) -> None:
    batches = ContrastiveBatches(RealWords(clips), 9, 1, ContrastiveBatchOptions(signs=4, clips=2))
    exemplars, continuous, beside = batches[5]
    assert exemplars.shape == (4, 2, 2, 16, 69, 4)
    assert continuous.shape == beside.shape == (4, 16, 69, 4)
    assert all(torch.equal(a, b) for a, b in zip(batches[5], batches[5], strict=True))
    assert not torch.equal(batches[5][1], batches[6][1])


def test_contrast_falls_when_it_is_followed(clips: Clips) -> None:
    torch.manual_seed(0)
    module = build("landmark", **SMALL).train()
    batch = ContrastiveBatches(Recombinations(clips), 1, 1, ContrastiveBatchOptions(signs=6, clips=2))[0]
    optimiser = torch.optim.AdamW(module.parameters(), 3e-3)
    losses = []
    for _ in range(25):
        loss = contrast(module, batch, 0.2)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_domain_specific_batch_norms_of_both_domains_get_a_gradient(clips: Clips) -> None:
    module = build("landmark", **SMALL, norm="batch", domain_norm=True).train()
    batch = ContrastiveBatches(Recombinations(clips), 1, 1, ContrastiveBatchOptions(signs=6, clips=2))[0]
    contrast(module, batch, 0.2).backward()
    of_dictionary = {name: weight.grad for name, weight in module.named_parameters() if ".dictionary." in name}
    assert of_dictionary
    assert not [name for name, gradient in of_dictionary.items() if gradient is None or not gradient.any()]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_signal_to_stop_keeps_every_step(config: ContrastiveConfig, tmp_path: Path, workers: int) -> None:
    """Step 4 is none that is saved by itself; Ctrl-C reaches this process and those that make batches."""

    def stop(done: int, total: int | None) -> None:
        if done == 4:
            for process in (os.getpid(), *(child.pid for child in active_children())):
                assert process is not None
                os.kill(process, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_contrastive(config, tmp_path, stop, workers=workers)
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 1 + 4
    steps: list[int] = []
    train_contrastive(config, tmp_path, lambda done, _: steps.append(done), workers=0)
    assert steps == [5, 6]


def test_stopped_and_resumed_gives_the_same_weights(config: ContrastiveConfig, tmp_path: Path) -> None:
    whole = train_contrastive(config, tmp_path / "whole", workers=0)

    def stop(done: int, total: int | None) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_contrastive(config, tmp_path / "parts", stop, workers=0)
    again = train_contrastive(config, tmp_path / "parts", workers=0)
    assert again.hash == whole.hash
    assert whole.card["config"]["optimiser"]["steps"] == 6
    other = train_contrastive(replace(config, seed=2), tmp_path / "other", workers=0)
    assert other.hash != whole.hash


def test_a_linear_path_is_fitted_first_and_stays(config: ContrastiveConfig, tmp_path: Path) -> None:
    model = {**SMALL, "linear_features": 8, "linear": 8, "dimension": 16}
    config = replace(config, model=model, linear=LinearOptions(batches=2, directions=20))
    fitted = train_contrastive(replace(config, optimiser=Optimiser(steps=0)), tmp_path / "fitted", workers=0)
    whole = train_contrastive(config, tmp_path / "whole", workers=0)
    name = "trunk.linear.conv.linear.weight"
    assert whole.contract.dimension == 16
    assert whole.module.state_dict()[name].abs().sum() > 0
    assert fitted.module.state_dict()[name].shape == whole.module.state_dict()[name].shape

    def stop(done: int, _: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_contrastive(config, tmp_path / "parts", stop, workers=0)
    assert train_contrastive(config, tmp_path / "parts", workers=0).hash == whole.hash


def test_a_network_learns_to_correct_a_linear_path_that_stays(
    config: ContrastiveConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {**SMALL, "features": 24, "linear_features": 8, "linear": 8, "mlp": False, "linear_residual": True}
    config = replace(config, model=model, linear=LinearOptions(batches=2, directions=20))
    fits: list[torch.Tensor] = []
    monkeypatch.setattr(
        "experiments.contrastive.training.fit_linear_path",
        lambda path, *how: (fit_linear_path(path, *how), fits.append(path.conv.linear.weight.clone())),
    )
    trunk = train_contrastive(config, tmp_path, workers=0).module.trunk
    assert [torch.equal(fit, trunk.linear.conv.linear.weight) for fit in fits] == [True]
    clips = torch.randn(3, 16, 69, 4)
    with torch.inference_mode():
        seen, corrected = trunk.linear(clips)[:, 0], trunk(clips)[:, :16]
    assert 1e-4 < (corrected - seen).norm() < 0.5 * seen.norm()


def test_a_linear_path_may_be_fitted_to_signs_of_its_own(
    config: ContrastiveConfig, clips: Clips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {1.0: Recombinations(clips), 0.0: RealWords(clips)}
    monkeypatch.setattr(
        "experiments.contrastive.training.open_source", lambda config: sources[config.shares.recombined]
    )
    model = {**SMALL, "features": 40, "linear_features": 8, "linear": 8, "mlp": False}
    config = replace(
        config,
        model=model,
        shares=replace(NOTHING, real=1.0),
        linear=LinearOptions(batches=2, directions=20),
        optimiser=replace(config.optimiser, steps=0),
    )
    fitted = [
        train_contrastive(replace(config, linear_shares=shares), tmp_path / name, workers=0)
        for name, shares in (("same", NOTHING), ("named", config.shares), ("own", replace(NOTHING, recombined=1.0)))
    ]
    weights = [encoder.module.state_dict()["trunk.linear.conv.linear.weight"] for encoder in fitted]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert fitted[0].contract.dimension == 40


def test_a_network_is_taken_over_and_a_linear_path_fitted_beside_it(config: ContrastiveConfig, tmp_path: Path) -> None:
    network = train_contrastive(config, tmp_path / "network", workers=0)
    file = tmp_path / "network.safetensors"
    save_encoder(network, file, half=False)
    model = {**SMALL, "features": 40, "linear_features": 8, "linear": 8, "dimension": 264}
    beside = replace(
        config,
        model=model,
        network=str(file),
        linear=LinearOptions(batches=2, directions=20),
        optimiser=replace(config.optimiser, steps=0),
    )
    both = train_contrastive(beside, tmp_path / "both", workers=0)
    assert isinstance(both.module.mlp, TwoPartMlp)
    clips = torch.randn(3, 16, 69, 4)
    with torch.inference_mode():
        part = both.module.mlp.parts(both.module.trunk(clips))[0]
        torch.testing.assert_close(part, network.module(clips))
    assert both.card["config"]["network"] == "network.safetensors"
    assert both.card["network"]["optimiser"]["steps"] == 6
    with pytest.raises(CheckpointError, match="does not fit this model at trunk"):
        train_contrastive(replace(beside, model={**model, "width": 24}), tmp_path / "other", workers=0)


def test_a_folder_of_another_configuration_is_refused(config: ContrastiveConfig, tmp_path: Path) -> None:
    train_contrastive(config, tmp_path, workers=0)
    with pytest.raises(CheckpointError, match=r"was trained with seed 1, not 2\. Name another folder"):
        train_contrastive(replace(config, seed=2), tmp_path, workers=0)


def test_a_damaged_state_is_named(config: ContrastiveConfig, tmp_path: Path) -> None:
    (tmp_path / "state.pt").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"cannot go on from .*state\.pt"):
        train_contrastive(config, tmp_path, workers=0)


def test_a_loss_that_is_no_number_stops_and_keeps_the_batch(
    config: ContrastiveConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "experiments.contrastive.training.contrast", lambda *_: torch.tensor(float("nan"), requires_grad=True)
    )
    with pytest.raises(SignspotError, match="the loss at step 0 is nan"):
        train_contrastive(config, tmp_path, workers=0)
    with np.load(tmp_path / "bad-batch-0.npz") as saved:
        assert saved["continuous"].shape[1:] == (16, 69, 4)


def test_real_shares_need_real_data() -> None:
    with pytest.raises(OptionsError, match="set lsa64"):
        open_source(ContrastiveConfig(shares=Shares(world=0)))
    with pytest.raises(OptionsError, match="nothing to learn from"):
        open_source(ContrastiveConfig(shares=Shares(0, 0, 0, 0)))


def test_a_configuration_is_read_and_its_mistakes_named(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('name = "mine"\n[optimiser]\nsteps = 7\n[batch]\ntransition = [1, 2]\n')
    config = read_config(path)
    assert (config.name, config.optimiser.steps, config.batch.transition) == ("mine", 7, (1, 2))
    path.write_text("[optimiser]\nstep = 7\n")
    with pytest.raises(OptionsError, match=r"unknown key 'step' in .*\[optimiser\]\. Did you mean 'steps'\?"):
        read_config(path)
    path.write_text("= 3")
    with pytest.raises(OptionsError, match="is no TOML file"):
        read_config(path)
    with pytest.raises(OptionsError, match=r"cannot read .*none\.toml: no such file"):
        read_config(tmp_path / "none.toml")
