"""The networks of the mouthing spotter, from and to files: lips and visemes in, logits that the word ends there out.

Lips are read by convolutions over time, a word by convolutions over its visemes. Each step is compared with each
viseme; a word on the lips is a slanted line in that map, and convolutions over the map look for it. Weights are stored
in safetensors, with a JSON card; never by pickle.
"""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from signspot.corpus.corpus import is_synthetic
from signspot.errors import CheckpointError, FormatError, OptionsError
from signspot.io.checks import check_list, check_text, parse_json
from signspot.io.files import atomic_write
from signspot.models.checkpoints import load_network, read_header
from signspot.mouthing.lips import CHANNELS, SHAPES, VERSION
from signspot.mouthing.visemes import VISEMES

STEP = 2  # frames of one step
PADDING = -1  # stands for no viseme, after the last one of a word


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """Sizes of the network."""

    width: int = 48  # of the lips' and the visemes' codes
    heads: int = 4  # ways in which a step is compared with a viseme
    maps: int = 12  # channels of the map
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if min(self.width, self.heads, self.maps) < 1 or self.width % self.heads or not 0 <= self.dropout < 1:
            raise OptionsError(f"the width must be a multiple of the heads, and no size below 1; got {self}")


class _Residual(nn.Module):
    """A convolution over time whose result is added to what goes in."""

    def __init__(self, width: int, dilation: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, width, T) to (B, width, T); `mask`, (B, 1, T), is 0 where nothing counts."""
        normed = self.norm(x.transpose(1, 2)).transpose(1, 2)  # each step on its own, whatever is around it
        normed = normed if mask is None else normed * mask
        added: Tensor = self.drop(functional.gelu(self.conv(normed)))
        return x + added


class LipMatcher(nn.Module):
    """The contract of all that compares lips with words."""

    options: Any  # a frozen record: with the weights, all that its logits follow from
    scale: Tensor  # (2,) calibration: gain and offset of a peak's logit

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 0.0]))

    @abstractmethod
    def code_lips(self, lips: Tensor) -> Tensor:
        """(B, T, C) lips to (B, …) codes, made once for all words that are looked for in them."""

    @abstractmethod
    def compare(self, coded: Tensor, words: Tensor) -> Tensor:
        """(B, …) codes and (B, L) words to (B, ceil(T / STEP)) logits, before calibration, that the word ends there."""

    def forward(self, lips: Tensor, words: Tensor) -> Tensor:
        """(B, T, C) lips and (B, L) words to (B, ceil(T / STEP)) calibrated probabilities."""
        logits = self.compare(self.code_lips(lips), words)
        return torch.sigmoid(self.calibrated(logits))

    def calibrated(self, logits: Tensor) -> Tensor:
        """Logits whose sigmoid, at a peak, is how often such a peak is right."""
        return logits * self.scale[0] + self.scale[1]


class MouthingNetwork(LipMatcher):
    """Compares lips with words by what it has learned."""

    options: NetworkOptions

    def __init__(self, options: NetworkOptions | None = None):
        super().__init__()
        self.options = chosen = options or NetworkOptions()
        width, maps = chosen.width, chosen.maps
        self.first = nn.Conv1d(CHANNELS, width, 5, stride=STEP, padding=2)
        self.lips = nn.Sequential(*(_Residual(width, dilation, chosen.dropout) for dilation in (1, 2, 4, 1)))
        self.visemes = nn.Embedding(len(VISEMES) + 1, width)
        self.word = nn.ModuleList(_Residual(width, 1, chosen.dropout) for _ in range(2))
        self.map = nn.ModuleList(
            nn.Conv2d(
                chosen.heads + 3 if not number else maps,
                maps,
                (5, 3),
                padding=(2 * dilation, 1),
                dilation=(dilation, 1),
            )
            for number, dilation in enumerate((1, 1, 2, 2))
        )
        self.shapes = nn.Conv1d(width, len(VISEMES) + 1, 1)
        self.last = nn.Conv1d(2 * maps, 1, 5, padding=2)

    def code_lips(self, lips: Tensor) -> Tensor:
        """Code lips, once for all words that are looked for in them.

        Args:
            lips: (B, T, CHANNELS).

        Returns:
            (B, width, ceil(T / STEP)).
        """
        coded: Tensor = self.lips(self.first(lips.transpose(1, 2)))
        return coded

    def name_shapes(self, coded: Tensor) -> Tensor:
        """(B, width, S) coded lips to (B, len(VISEMES) + 1, S) logits of the viseme on them, the last one of none.

        Training uses it: lips that can be named can be compared with words.
        """
        named: Tensor = self.shapes(coded)
        return named

    def compare(self, coded: Tensor, words: Tensor) -> Tensor:
        """Look for words in lips.

        Args:
            coded: (B, width, S) lips, as `code_lips` gives them.
            words: (B, L) numbers of visemes, PADDING after the last.

        Returns:
            (B, S) logits, before calibration, that the word ends at a step.
        """
        is_viseme = (words != PADDING).float()  # (B, L)
        word_codes = self.visemes(words + 1).transpose(1, 2)
        for block in self.word:
            word_codes = block(word_codes, is_viseme[:, None])
        word_codes = word_codes * is_viseme[:, None]
        steps, length, heads = coded.shape[2], words.shape[1], self.options.heads
        ours = coded.reshape(len(coded), heads, -1, steps)
        theirs = word_codes.reshape(len(word_codes), heads, -1, length)
        alike = torch.einsum("bhds,bhdl->bhsl", ours, theirs) / ours.shape[2] ** 0.5
        count = is_viseme.sum(dim=1, keepdim=True)
        position = torch.arange(length, device=words.device).float()
        share, end = position / count, (position == count - 1).float()
        fixed = torch.stack([is_viseme, share * is_viseme, end], dim=1)[:, :, None].expand(-1, -1, steps, -1)
        x = torch.cat([alike, fixed], dim=1)
        inside = is_viseme[:, None, None]
        for number, conv in enumerate(self.map):
            features = functional.gelu(conv(x)) * inside
            x = features if not number else x + features
        best = x.masked_fill(inside == 0, -1e4).amax(dim=3)
        at_end = (x * end[:, None, None]).sum(dim=3)
        logits: Tensor = self.last(torch.cat([best, at_end], dim=1))[:, 0]
        return logits


def pad_words(queries: list[list[int]]) -> Tensor:
    """(B, L) visemes of words, the shorter ones padded."""
    longest = max(map(len, queries))
    return torch.tensor([[*query, *[PADDING] * (longest - len(query))] for query in queries])


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
        best = scores = gain.new_zeros(len(gain), gain.shape[2])
        for position in range(words.shape[1]):
            best = self._extend(best, gain[:, position])
            scores = torch.where((count == position + 1)[:, None], best, scores)
        return (scores / count[:, None].sqrt())[:, ::STEP]

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


DEFAULT, FOR_VIDEO = "mouthing-synthetic", "mouthing-video"
_SHIPPED = Path(__file__).parent / "weights"
_MATCHER, _BY_NETWORK, _BY_TEMPLATES = "matcher", "network", "templates"  # what compares lips with words, in its card
_HEADER = "signspot_mouthing"  # under which the card stands in the safetensors header


@dataclass(frozen=True)
class MouthingModel:
    """A network that compares lips with words, with its card."""

    name: str
    network: LipMatcher
    card: dict[str, Any]  # licence, data, command, config, metrics

    @cached_property
    def hash(self) -> str:
        """Names all that probabilities follow from: the weights, and what lips and visemes are."""
        digest = hashlib.sha256(json.dumps([VERSION, VISEMES, asdict(self.network.options)]).encode())
        for name, value in sorted(self.network.state_dict().items()):
            digest.update(name.encode() + value.detach().float().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]


def shipped() -> list[str]:
    """The names of the mouthing spotters that come with the package."""
    return sorted(path.stem for path in _SHIPPED.glob("*.safetensors"))


def default_for(sources: Iterable[str | PathLike[str]]) -> str:
    """The shipped spotter that finds most: in video, where an estimator distorts lips, or in clean landmarks.

    A `.pose` file was estimated from video, too, unless it lies in a synthetic corpus.
    """
    paths = [Path(source) for source in sources]
    if not paths or any(path.suffix.lower() != ".pose" for path in paths):
        return FOR_VIDEO
    return DEFAULT if all(is_synthetic(folder) for folder in {path.parent for path in paths}) else FOR_VIDEO


def load_mouthing(name_or_path: str | PathLike[str] | None = None) -> MouthingModel:
    """Load a mouthing spotter: a shipped one by its name, or a `.safetensors` file. None: the default.

    Raises:
        CheckpointError: there is none, it is damaged or of another kind, or it was trained on other lips or visemes.
    """
    name = str(name_or_path or DEFAULT)
    path = _SHIPPED / f"{name}.safetensors" if name in shipped() else Path(name)
    if not path.is_file():
        raise CheckpointError(
            f"no weights of a mouthing spotter at '{path}'. Shipped: {', '.join(shipped()) or 'none'}"
        )
    header = read_header(path).get(_HEADER)
    if header is None:
        raise CheckpointError(
            f"{path} holds no mouthing spotter. Train one with: signspot train configs/mouthing-synthetic.toml"
        )
    try:
        card = parse_json(header, path.name)
        made_for = card["lips_version"], tuple(check_list(card["visemes"], "visemes"))
        if made_for != (VERSION, VISEMES):
            raise CheckpointError(
                f"{path.name} was trained on other lips or visemes than this signspot has. Train it again"
            )
        network = load_network(path, card["options"], lambda: _network(card))
        name = check_text(card["name"], "the name")
    except (KeyError, TypeError, ValueError, RuntimeError, OptionsError, FormatError) as error:
        reason = f"its card lacks {error}" if isinstance(error, KeyError) else f"{error!s:.200}"
        raise CheckpointError(f"{path.name} does not fit the network of a mouthing spotter: {reason}") from error
    return MouthingModel(name, network.eval(), card)


def _network(card: dict[str, Any]) -> LipMatcher:
    """The network that a card describes, without weights.

    Raises:
        CheckpointError: it compares neither by a network nor by templates.
    """
    matcher = card.get(_MATCHER, _BY_NETWORK)
    if matcher == _BY_TEMPLATES:
        return TemplateMatcher(TemplateOptions(**card["options"]))
    if matcher != _BY_NETWORK:
        raise CheckpointError(
            f"a mouthing spotter is a '{_BY_NETWORK}' or '{_BY_TEMPLATES}'; the card says {matcher!r:.40}"
        )
    return MouthingNetwork(NetworkOptions(**card["options"]))


def save_mouthing(model: MouthingModel, path: str | PathLike[str]) -> None:
    """Write weights in 16 bits to a `.safetensors` file, and the card beside it, with the suffix `.json`."""
    target = Path(path)
    if target.suffix != ".safetensors":
        raise OptionsError(f"weights are written as .safetensors; got '{target.name}'")
    card = {
        **model.card,
        **{"name": model.name, "options": asdict(model.network.options)},
        **{"lips_version": VERSION, "visemes": list(VISEMES)},
    }
    if isinstance(model.network, TemplateMatcher):
        card[_MATCHER] = _BY_TEMPLATES
    state = {key: value.detach().half().contiguous() for key, value in model.network.state_dict().items()}
    if not all(bool(torch.isfinite(value).all()) for value in state.values()):
        raise OptionsError(f"the weights of {model.name} do not fit into 16 bits, or are not numbers. Train it again")
    with atomic_write(target) as temporary:
        save_file(state, temporary, metadata={_HEADER: json.dumps(card, sort_keys=True)})
    with atomic_write(target.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
