"""The worth of labels, measured cheaply: a linear classifier on frozen trunk features, tested on true signs.

Table 7 trains a whole I3D on each set of spottings. Here the trunk stays as it is and one layer is learned, so that a
row costs seconds; what is compared is the labels, not the network.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from signspot.corpus.truth import SignTruth
from signspot.errors import OptionsError
from signspot.metrics.classification import ClassificationAccuracy
from signspot.training.embedding.trunk_features import WindowFeatures
from signspot.types import Label

FloatArray = NDArray[np.float32]
_JITTER = 4  # frames by which a training clip may lie off the middle of its sign
_EPOCHS, _BATCH, _RATE, _DECAY = 10, 128, 3e-3, 1e-4


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of right answers, in [0, 1]: over signs, and averaged over words."""

    labels: int  # that were learned from
    signs: int  # that were asked
    top_1: float
    top_5: float
    word_top_1: float
    word_top_5: float


class Probe:
    """Learns to tell words apart from labels, and is asked for true signs."""

    def __init__(self, videos: Mapping[str, WindowFeatures], words: Sequence[str], signs: Iterable[SignTruth]):
        """Prepare.

        Args:
            videos: trunk features of all windows of every video.
            words: the classes.
            signs: true signs to be asked for; those of other words are left out.

        Raises:
            OptionsError: no sign of any of the words is left.
        """
        self._videos = videos
        self._classes = {word: number for number, word in enumerate(words)}
        asked = [sign for sign in signs if sign.word in self._classes]
        if not asked:
            raise OptionsError(f"none of {len(words)} words is signed in the test videos: there is nothing to test on")
        self._asked = [self._inside(sign) for sign in asked]
        self._truth = np.array([self._classes[sign.word] for sign in asked])

    def accuracy(self, labels: Iterable[Label], seed: int = 0) -> Accuracy:
        """Learn from labels and test.

        Raises:
            OptionsError: no label is of one of the words.
        """
        chosen = [label for label in labels if label.word in self._classes]
        if not chosen:
            raise OptionsError(f"there is no label of any of the {len(self._classes)} words to learn from")
        classes = torch.tensor([self._classes[label.word] for label in chosen])
        learned = _learn(self._clips(chosen), classes, len(self._classes), seed)
        found = ClassificationAccuracy()
        with torch.inference_mode():
            logits = [learned(torch.from_numpy(clips)).mean(dim=0).numpy() for clips in self._asked]
        found.add(np.stack(logits), self._truth)
        top = found.value((1, 5))
        shares = (top[1].per_instance, top[5].per_instance, top[1].per_group, top[5].per_group)
        return Accuracy(len(chosen), len(self._truth), *shares)

    def _inside(self, sign: SignTruth) -> FloatArray:
        """(n, D) the windows whose middle lies in a sign; the nearest if there is none."""
        windows = self._videos[sign.video]
        times = windows.grid.times
        inside = np.flatnonzero((times >= sign.start) & (times <= sign.end))
        rows = inside if len(inside) else [windows.grid.nearest((sign.start + sign.end) / 2)]
        return np.asarray(windows.features[rows], np.float32)

    def _clips(self, labels: Sequence[Label]) -> Tensor:
        """(N, 2 × jitter + 1, D) the windows around the middle of each label's sign."""
        clips = []
        for label in labels:
            windows = self._videos[label.video]
            middle = windows.grid.nearest(label.segment.middle)
            rows = np.clip(np.arange(middle - _JITTER, middle + _JITTER + 1), 0, len(windows.features) - 1)
            clips.append(np.asarray(windows.features[rows]))
        return torch.from_numpy(np.stack(clips))


def _learn(clips: Tensor, classes: Tensor, count: int, seed: int) -> nn.Module:
    """A standardising linear layer; each epoch sees each label once, a few frames off."""
    random = torch.Generator().manual_seed(seed)
    sample = clips[torch.randperm(len(clips), generator=random)[:4000], _JITTER].float()
    layer = nn.Linear(clips.shape[-1], count)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
    model = nn.Sequential(_Standard(sample.mean(dim=0), sample.std(dim=0) + 1e-3), layer)
    optimiser = torch.optim.Adam(layer.parameters(), _RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, _EPOCHS)
    for _ in range(_EPOCHS):
        order = torch.randperm(len(clips), generator=random)
        for rows in (order[first : first + _BATCH] for first in range(0, len(order), _BATCH)):
            shifts = torch.randint(clips.shape[1], (len(rows),), generator=random)
            loss = nn.functional.cross_entropy(model(clips[rows, shifts].float()), classes[rows], label_smoothing=0.1)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        schedule.step()
    return model


class _Standard(nn.Module):
    """Gives features mean 0 and deviation 1."""

    def __init__(self, mean: Tensor, scale: Tensor):
        super().__init__()
        self.mean, self.scale = mean, scale

    def forward(self, features: Tensor) -> Tensor:
        """(N, D) → (N, D)."""
        return (features - self.mean) / self.scale
