"""Public checkpoints as their publishers' code would save them, on random weights; made without our networks."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from signspot.models.encoder_network import SignEncoder
from signspot.models.registry import build

MIXED = {
    "3b": (192, 64, 96, 128, 16, 32, 32),
    "3c": (256, 128, 128, 192, 32, 96, 64),
    "4b": (480, 192, 96, 208, 16, 48, 64),
    "4c": (512, 160, 112, 224, 24, 64, 64),
    "4d": (512, 128, 128, 256, 24, 64, 64),
    "4e": (512, 112, 144, 288, 32, 64, 64),
    "4f": (528, 256, 160, 320, 32, 128, 128),
    "5b": (832, 256, 160, 320, 32, 128, 128),
    "5c": (832, 384, 192, 384, 48, 128, 128),
}

State = dict[str, Tensor]


def convolutions() -> dict[str, tuple[int, int, int]]:
    """Unit name to outputs, inputs and the side of its kernel."""
    units = {"Conv3d_1a_7x7": (64, 3, 7), "Conv3d_2b_1x1": (64, 64, 1), "Conv3d_2c_3x3": (192, 64, 3)}
    for name, (inputs, b0, b1a, b1b, b2a, b2b, b3b) in MIXED.items():
        parts = {
            "b0": (b0, inputs, 1),
            "b1a": (b1a, inputs, 1),
            "b1b": (b1b, b1a, 3),
            "b2a": (b2a, inputs, 1),
            "b2b": (b2b, b2a, 3),
            "b3b": (b3b, inputs, 1),
        }
        units |= {f"Mixed_{name}.{part}": shape for part, shape in parts.items()}
    return units


def random_i3d(classes: int, seed: int) -> State:
    source = torch.Generator().manual_seed(seed)

    def normal(*shape: int, scale: float) -> Tensor:
        return torch.randn(*shape, generator=source) * scale

    def uniform(count: int, low: float, high: float) -> Tensor:
        return torch.rand(count, generator=source) * (high - low) + low

    state: State = {}
    for name, (outputs, inputs, side) in convolutions().items():
        scale = (2.0 / (inputs * side**3)) ** 0.5
        state[f"{name}.conv3d.weight"] = normal(outputs, inputs, side, side, side, scale=scale)
        state[f"{name}.bn.weight"] = uniform(outputs, 0.7, 1.3)
        state[f"{name}.bn.bias"] = uniform(outputs, -0.2, 0.2)
        state[f"{name}.bn.running_mean"] = uniform(outputs, -0.2, 0.2)
        state[f"{name}.bn.running_var"] = uniform(outputs, 0.5, 1.5)
        state[f"{name}.bn.num_batches_tracked"] = torch.tensor(7)
    state["logits.conv3d.weight"] = normal(classes, 1024, 1, 1, 1, scale=0.03)
    state["logits.conv3d.bias"] = uniform(classes, -0.1, 0.1)
    return state


def random_mlp(seed: int) -> State:
    source = torch.Generator().manual_seed(seed)
    shapes = {"res.0": (1024, 1024), "adaptor.0": (512, 1024), "adaptor.2": (256, 512), "logits": (1064, 256)}
    state: State = {}
    for name, (outputs, inputs) in shapes.items():
        state[f"{name}.weight"] = torch.randn(outputs, inputs, generator=source) * inputs**-0.5
        state[f"{name}.bias"] = torch.randn(outputs, generator=source) * 0.1
    return state


@pytest.fixture(scope="session")
def public_i3d() -> State:
    return random_i3d(1064, seed=1)


@pytest.fixture(scope="session")
def public_mlp() -> State:
    return random_mlp(seed=2)


@pytest.fixture(scope="session")
def public_pair(public_i3d: State, public_mlp: State) -> State:
    return {f"i3d.{k}": v for k, v in public_i3d.items()} | {f"mlp.{k}": v for k, v in public_mlp.items()}


@pytest.fixture(scope="session")
def seeded() -> Callable[..., SignEncoder]:
    """Build a network whose random weights depend on nothing but the seed."""

    def make(architecture: str, seed: int = 0, **options: object) -> SignEncoder:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return build(architecture, **options)

    return make


@pytest.fixture(scope="session")
def landmark_features() -> Callable[..., Tensor]:
    """(B, T, 69, 4) random points, most of them seen."""

    def make(videos: int, frames: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
        source = torch.Generator().manual_seed(seed)
        points = torch.randn(videos, frames, 69, 3, generator=source, dtype=torch.float64)
        observed = (torch.rand(videos, frames, 69, 1, generator=source) > 0.1).to(torch.float64)
        return torch.cat([points * observed, observed], dim=-1).to(dtype)

    return make
