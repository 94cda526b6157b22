"""The landmark encoder that is measured: the shipped one, or one with random weights where none is shipped."""

import torch

from signspot.errors import CheckpointError
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.registry import build


def landmark_encoder() -> Encoder:
    """The shipped encoder, or an untrained one of the same architecture: just as fast."""
    try:
        return load_encoder()
    except CheckpointError:
        torch.manual_seed(0)
        return make_encoder("random weights", build("landmark"))


def describe(encoder: Encoder) -> str:
    """Its name and its size."""
    weights = sum(parameter.numel() for parameter in encoder.module.parameters())
    return f"{encoder.name}, {weights:,} parameters"
