"""A small encoder with random weights, a tiny RGB one, and a short stretch of the signing world."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from signspot.landmarks.landmarks import Landmarks
from signspot.models.encoder import Contract, Encoder, make_encoder
from signspot.models.registry import build
from signspot.world.camera import project
from signspot.world.lexicon import Lexicon, LexiconOptions, make_lexicon
from signspot.world.motion import continuous, isolated
from signspot.world.seeds import named_rng
from signspot.world.signers import Role, make_signer


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """Untrained: enough for everything but quality."""
    torch.manual_seed(0)
    return make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))


class MeanColour(nn.Module):
    """A tiny RGB trunk and MLP in one: the colours of the first, middle and last frames, projected, unit norm."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.project = nn.Parameter(torch.randn(9, 12, generator=generator))
        self.trunk, self.mlp = self._trunk, self._mlp

    def _trunk(self, clips: Tensor) -> Tensor:
        """(B, 3, F, H, W) → (B, 12)."""
        frames = clips[:, :, [0, clips.shape[2] // 2, -1]].mean(dim=(3, 4)).flatten(1)
        return frames @ self.project

    def _mlp(self, x: Tensor, domain: str = "continuous") -> Tensor:
        return nn.functional.normalize(x, dim=-1)

    def forward(self, clips: Tensor) -> Tensor:
        """(B, 3, F, H, W) → (B, 12)."""
        return self._mlp(self._trunk(clips))


@pytest.fixture(scope="session")
def rgb_encoder() -> Encoder:
    contract = Contract("rgb", dimension=12, image_size=32)
    return Encoder("colours", contract, MeanColour().eval(), "c0ffee", {})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Stretch:
    """Some signing and the dictionary signs in it."""

    footage: Landmarks
    words: tuple[str, ...]
    exemplars: dict[str, Landmarks]


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    return make_lexicon(LexiconOptions(words=("apple", "friend", "name", "river"), seed=3, variant_shares=(1.0,)))


@pytest.fixture(scope="session")
def stretch(lexicon: Lexicon) -> Stretch:
    words = ("river", "apple", "friend", "name", "river")
    signer = make_signer("one", 1, Role.TEST, left_share=0)
    motion, _ = continuous([lexicon[word].variants[0] for word in words], signer, named_rng(1, "s"))
    exemplars = {}
    for word in lexicon:
        model = make_signer("two", 1, Role.DICTIONARY, left_share=0)
        shown, _ = isolated(lexicon[word].variants[0], model, named_rng(1, word))
        exemplars[word] = project(shown, model.camera)
    return Stretch(project(motion, signer.camera), words, exemplars)


@pytest.fixture
def colour_film(tmp_path: Path) -> Path:
    """Four seconds that change their colour all the time, filmed at 25 fps."""
    from signspot.video.writer import write_video

    times = np.arange(100) / 25
    colours = 128 + 100 * np.stack([np.sin(times * 3), np.sin(times * 5 + 1), np.cos(times * 2)], axis=1)
    write_video(tmp_path / "film.mp4", (np.broadcast_to(c, (48, 64, 3)).astype(np.uint8) for c in colours), 25)
    return tmp_path / "film.mp4"
