"""A mouthing spotter that sees pixels: crops of the mouth in, the same comparison with words. No weights of it ship.

For those who have weights of a lip reader: a 3D convolution and a small trunk turn crops into features per frame, which
take the place of measured shapes; everything after that is the network of the landmarks.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from signspot.errors import OptionsError
from signspot.mouthing.network import STEP, MouthingNetwork, NetworkOptions

REACH = 2  # frames before and after one that its features follow from
FEATURES = 64
_WIDTHS = (32, 64, 96)


class RgbFrontEnd(nn.Module):
    """Crops of the mouth to features per frame; without padding in time, so that a video may come in pieces."""

    def __init__(self, features: int = FEATURES):
        super().__init__()
        if features < 1:
            raise OptionsError(f"a lip reader needs at least 1 feature; got {features}")
        self.features = features
        self.first = nn.Conv3d(1, _WIDTHS[0], (2 * REACH + 1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False)
        self.norm = nn.BatchNorm3d(_WIDTHS[0])
        sizes = (*_WIDTHS, features)
        self.trunk = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1) for before, after in pairwise(sizes)
        )

    def forward(self, crops: Tensor) -> Tensor:
        """(B, T, SIDE, SIDE) normalised crops to (B, T - 2 REACH, features)."""
        x = functional.relu(self.norm(self.first(crops[:, None])))
        x = functional.max_pool3d(x, (1, 3, 3), (1, 2, 2), (0, 1, 1)).transpose(1, 2)
        batch, frames = x.shape[:2]
        x = x.flatten(0, 1)
        for layer in self.trunk:
            x = functional.relu(layer(x))
        return x.mean(dim=(2, 3)).reshape(batch, frames, self.features)

    def start(self) -> "FeatureStream":
        """Begin to read a video piece by piece."""
        return FeatureStream(self)


class FeatureStream:
    """The features of crops that come in pieces: one for each frame, REACH frames late."""

    def __init__(self, front: RgbFrontEnd):
        self._front = front
        self._last: Tensor | None = None  # (n, SIDE, SIDE) frames that the next piece needs

    @torch.inference_mode()
    def push(self, crops: Tensor) -> Tensor:
        """(T, SIDE, SIDE) the next crops to the (n, features) that are known by now."""
        side = crops.shape[1:]
        before = self._last if self._last is not None else torch.zeros(REACH, *side)
        known = torch.cat([before, crops])
        self._last = known[-2 * REACH :]
        if len(known) <= 2 * REACH:
            return torch.zeros(0, self._front.features)
        found: Tensor = self._front(known[None])[0]
        return found

    def finish(self) -> Tensor:
        """The (n, features) of the last frames."""
        if self._last is None:
            return torch.zeros(0, self._front.features)
        return self.push(torch.zeros(REACH, *self._last.shape[1:]))


class RgbMouthingNetwork(MouthingNetwork):
    """Compares words with lips that are seen in pixels; `code_lips` takes (B, T, features + 2)."""

    def __init__(self, options: NetworkOptions | None = None, features: int = FEATURES):
        super().__init__(options)
        self.front = RgbFrontEnd(features)
        self.first = nn.Conv1d(features + 2, self.options.width, 5, stride=STEP, padding=2)
