"""A matcher of lips that learns nothing: each viseme has a shape written by hand, and a word is their sequence.

It keeps the contract of the network, so that whatever the network finds can be held against it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from signspot.errors import OptionsError
from signspot.mouthing.lips import SHAPES
from signspot.mouthing.network import PADDING, STEP, LipMatcher
from signspot.mouthing.visemes import VISEMES

# Opening, width, protrusion and thickness of the lips, from the resting mouth, in standard deviations of a speaker;
# written by hand, and once put to scale after a look at eight synthetic clips.
_TEMPLATES: dict[str, tuple[float, float, float, float]] = {
    **{"closed": (0.4, 0.0, 0.2, -3.0), "teeth": (0.6, 0.0, 0.0, -2.0), "between": (1.0, 0.2, 0.2, 0.4)},
    **{"tongue": (1.3, 0.0, 0.3, 0.4), "hiss": (0.7, 0.5, 0.2, 0.4), "hush": (1.0, -2.5, 1.7, 0.4)},
    **{"back": (1.5, 0.0, 0.3, 0.4), "r": (1.5, -1.7, 1.2, 0.4), "w": (0.7, -3.2, 2.0, 0.4)},
    **{"spread": (1.3, 0.7, 0.3, 0.4), "open": (3.2, -0.5, 0.6, 0.4), "mid": (2.2, 0.3, 0.4, 0.4)},
    **{"round": (2.4, -2.7, 1.8, 0.4), "pursed": (1.0, -3.0, 2.0, 0.4), "neutral": (1.5, -0.3, 0.4, 0.4)},
}
_WORST = 9.0  # squared distance beyond which a viseme fits no worse: an estimator's mistake
_STILL = 0.1  # tenths of the distance of the eyes: lips whose shapes vary less are at rest


@dataclass(frozen=True, slots=True)
class TemplateOptions:
    """Options of comparing sequences."""

    longest: int = 4  # frames of one viseme, at most
    bonus: float = 0.5  # of a frame whose viseme fits as well as any

    def __post_init__(self) -> None:
        if not (1 <= self.longest <= 25 and 0 <= self.bonus <= 10):
            raise OptionsError(f"a viseme lasts 1 to 25 frames, with a bonus of 0 to 10 for each; got {self}")


class TemplateMatcher(LipMatcher):
    """Compares lips with words by hand-written templates of visemes, each as long as fits best."""

    options: TemplateOptions

    def __init__(self, options: TemplateOptions | None = None):
        super().__init__()
        self.options = options or TemplateOptions()
        rows = [(0.0,) * 4, *(_TEMPLATES[viseme] for viseme in VISEMES)]
        self.register_buffer("templates", torch.tensor(rows), persistent=False)
        self.templates: Tensor  # (len(VISEMES) + 1, 4), the first one of no viseme

    def code_lips(self, lips: Tensor) -> Tensor:
        """Lips in standard deviations of the speaker.

        Args:
            lips: (B, T, CHANNELS).

        Returns:
            (B, 6, T): four shapes, how far they are from the nearest template of all, whether they are seen.
        """
        at = {name: lips[..., SHAPES.index(name)] for name in SHAPES}
        thick = at["upper_lip"] + at["lower_lip"]
        shapes = torch.stack([at["opening"], at["width"], -at["protrusion"], thick], dim=1)
        seen = lips[..., -2][:, None]
        count = seen.sum(dim=2, keepdim=True).clamp(min=1)
        mean = (shapes * seen).sum(dim=2, keepdim=True) / count
        spread = (((shapes - mean) * seen).square().sum(dim=2, keepdim=True) / count).sqrt().clamp(min=_STILL)
        shapes = shapes / spread
        nearest = _away(shapes, self.templates[None]).amin(dim=1, keepdim=True)
        return torch.cat([shapes, nearest, seen], dim=1)

    def compare(self, coded: Tensor, words: Tensor) -> Tensor:
        """Look for words in lips: the best sequence of their visemes that ends at each step.

        Args:
            coded: (B, 6, T) lips, as `code_lips` gives them.
            words: (B, L) numbers of visemes, PADDING after the last.

        Returns:
            (B, ceil(T / STEP)) how well the word fits against any other visemes, as a logit before calibration.
        """
        shapes, nearest, seen = coded[:, :4], coded[:, 4:5], coded[:, 5:]
        worse = (_away(shapes, self.templates[words + 1]) - nearest).clamp(max=_WORST)  # (B, L, T)
        gain = (self.options.bonus - worse / 2) * seen
        count = (words != PADDING).sum(dim=1)
        best = found = gain.new_zeros(len(gain), gain.shape[2])
        for place in range(words.shape[1]):
            best = self._extend(best, gain[:, place])
            found = torch.where((count == place + 1)[:, None], best, found)
        return (found / count[:, None].sqrt())[:, ::STEP]

    def _extend(self, before: Tensor, gain: Tensor) -> Tensor:
        """(B, T) sequences that end at each frame, with one viseme more that lasts 1 frame to the longest."""
        choices, total = [], torch.zeros_like(gain)
        for frames in range(1, self.options.longest + 1):
            total = total + functional.pad(gain, (frames - 1, 0))[:, : gain.shape[1]]
            earlier = functional.pad(before, (frames, 0), value=-1e3)[:, : before.shape[1]]
            choices.append(earlier + total)
        return torch.stack(choices).amax(dim=0)


def _away(shapes: Tensor, templates: Tensor) -> Tensor:
    """Squared distances (B, L, T) of shapes (B, 4, T) from templates (B, L, 4)."""
    return (shapes[:, None] - templates[..., None]).square().sum(dim=2)
