"""The public checkpoints, by their own key names: I3D with its embedding MLP, or I3D alone."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from signspot.errors import CheckpointError

_FIRST_LAYER = "Conv3d_1a_7x7.conv3d.weight"


def without_wrappers(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Drop the `module.` that parallel training puts into key names."""
    return {".".join(part for part in name.split(".") if part != "module"): value for name, value in state.items()}


def recognise(state: Mapping[str, Tensor], source: str) -> tuple[dict[str, Any], str]:
    """See which public network a state dict (without wrappers) belongs to.

    Args:
        state: tensors by their names in the file.
        source: the file's name, for the message.

    Returns:
        The options with which `registry.build("i3d")` makes it, and what stands before the trunk's names.

    Raises:
        CheckpointError: it is no network that we know.
    """
    if f"i3d.{_FIRST_LAYER}" in state:
        return _options(state, "i3d."), "i3d."
    if _FIRST_LAYER in state:
        return _options(state, ""), ""
    if "res.0.weight" in state or "mlp.res.0.weight" in state:
        raise CheckpointError(f"{source} holds only the embedding MLP. Give the combined file (keys i3d.*, mlp.*).")
    raise CheckpointError(
        f"{source} holds no network that we know: neither I3D (keys {_FIRST_LAYER} ...) nor I3D with MLP "
        f"(i3d.*, mlp.*), but {', '.join(sorted(state)[:3])} ... ({len(state)} keys)"
    )


def to_ours(name: str, prefix: str) -> str:
    """Our name for a tensor of a public file whose trunk has this prefix."""
    return "trunk." + name.removeprefix(prefix) if name.startswith(prefix) else name


def to_public(name: str, prefix: str) -> str:
    """The name in a public file for a tensor of ours."""
    return prefix + name.removeprefix("trunk.") if name.startswith("trunk.") else name


def _options(state: Mapping[str, Tensor], prefix: str) -> dict[str, Any]:
    options: dict[str, Any] = {"classes": _outputs(state, f"{prefix}logits.conv3d.weight")}
    if not any(name.startswith("mlp.") for name in state):
        return {**options, "mlp": False}
    hidden, dimension = _outputs(state, "mlp.adaptor.0.weight"), _outputs(state, "mlp.adaptor.2.weight")
    widths = {"hidden": hidden or 512, "dimension": dimension or 256}
    return {**options, **widths, "mlp_classes": _outputs(state, "mlp.logits.weight")}


def _outputs(state: Mapping[str, Tensor], name: str) -> int | None:
    """How many outputs a layer has; None if the file has no such layer."""
    return len(state[name]) if name in state and state[name].ndim else None
