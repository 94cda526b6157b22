"""Mouthing spotters from and to files: weights in safetensors, and a JSON card. Never by pickle."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from signspot.corpus.corpus import is_synthetic
from signspot.errors import CheckpointError, FormatError, OptionsError
from signspot.io.checks import check_list, check_text, parse_json
from signspot.io.files import atomic_write
from signspot.models.checkpoints import check_fit, check_sizes, fill, read_header, read_shapes, read_weights, shapes
from signspot.mouthing.lips import VERSION
from signspot.mouthing.network import LipMatcher, MouthingNetwork, NetworkOptions, TemplateMatcher, TemplateOptions
from signspot.mouthing.visemes import VISEMES

DEFAULT, FOR_VIDEO = "mouthing-synthetic", "mouthing-video"
_SHIPPED = Path(__file__).parent / "weights"
_MATCHER, _LEARNED, _TEMPLATES = "matcher", "network", "templates"  # what compares lips with words, in its card
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
        check_sizes(card["options"])
        with torch.device("meta"):  # shapes without memory
            check_fit(shapes(_network(card)), read_shapes(path), path.name)
        network = _network(card)
        fill(network, {key: value.float() for key, value in read_weights(path).items()}, path.name)
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
    matcher = card.get(_MATCHER, _LEARNED)
    if matcher == _TEMPLATES:
        return TemplateMatcher(TemplateOptions(**card["options"]))
    if matcher != _LEARNED:
        raise CheckpointError(f"a mouthing spotter is a '{_LEARNED}' or '{_TEMPLATES}'; the card says {matcher!r:.40}")
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
        card[_MATCHER] = _TEMPLATES
    state = {key: value.detach().half().contiguous() for key, value in model.network.state_dict().items()}
    if not all(bool(torch.isfinite(value).all()) for value in state.values()):
        raise OptionsError(f"the weights of {model.name} do not fit into 16 bits, or are no numbers. Train it again")
    with atomic_write(target) as temporary:
        save_file(state, temporary, metadata={_HEADER: json.dumps(card, sort_keys=True)})
    with atomic_write(target.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
