"""The architectures by name: what a weights card names, this builds."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any

from signspot.errors import OptionsError
from signspot.models.encoder_network import SignEncoder, Trunk
from signspot.models.frame_coder import CoderOptions, FrameCoder
from signspot.models.inception import I3D, S3D, I3DOptions, S3DOptions
from signspot.models.landmark_trunk import LandmarkOptions, LandmarkTrunk
from signspot.models.mlp import MlpOptions, build_mlp


@dataclass(frozen=True)
class Architecture:
    """A trunk and the options that it takes."""

    trunk: Callable[[Any], Trunk]
    options: type[Any]  # a frozen dataclass


ARCHITECTURES: Mapping[str, Architecture] = {
    "frame_codes": Architecture(FrameCoder, CoderOptions),
    "i3d": Architecture(I3D, I3DOptions),
    "landmark": Architecture(LandmarkTrunk, LandmarkOptions),
    "s3d": Architecture(S3D, S3DOptions),
}


def names() -> list[str]:
    """The names of all architectures."""
    return sorted(ARCHITECTURES)


def build(architecture: str, **options: Any) -> SignEncoder:
    """Build a network with random weights.

    Args:
        architecture: one of `names()`.
        **options: fields of the trunk's options (`I3DOptions`, `S3DOptions`, `LandmarkOptions`) and of `MlpOptions`.

    Raises:
        OptionsError: there is no such architecture or option.
    """
    chosen = ARCHITECTURES.get(architecture)
    if chosen is None:
        raise OptionsError(f"no architecture '{architecture}'. There are: {', '.join(names())}")
    trunk_names = {field.name for field in fields(chosen.options)}
    mlp_names = {field.name for field in fields(MlpOptions)}
    for name in options:
        _check_option(architecture, name, trunk_names | mlp_names)
    trunk_options = chosen.options(**{name: value for name, value in options.items() if name in trunk_names})
    mlp_options = MlpOptions(**{name: value for name, value in options.items() if name in mlp_names})
    trunk = chosen.trunk(trunk_options)
    mlp = build_mlp(trunk.dimension, mlp_options)
    return SignEncoder(trunk, mlp, architecture, {**asdict(trunk_options), **asdict(mlp_options)})


def _check_option(architecture: str, name: str, options: set[str]) -> None:
    if name not in options:
        near = get_close_matches(name, options, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(sorted(options))}"
        raise OptionsError(f"the architecture '{architecture}' has no option '{name}'.{hint}")
