"""Batch norm across two domains: forget what one domain taught it, or keep one set per domain (Appendix C.1)."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from signspot.errors import OptionsError

Domain = Literal["continuous", "dictionary"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)


def check_domain(domain: str) -> Domain:
    """Return `domain` if it is one, or say which there are."""
    for allowed in DOMAINS:
        if domain == allowed:
            return allowed
    raise OptionsError(f"no domain '{domain}'. There are: {', '.join(DOMAINS)}")


def reinitialise_batch_norm(module: nn.Module) -> int:
    """Forget statistics, scale and shift of every batch norm in `module`, in place; return how many there are.

    Before a trunk that knows continuous signing is trained on dictionary videos too: in the paper this lifts
    the training accuracy on dictionary videos from 48.09 % to 78.94 %.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, _BatchNorm)]
    for layer in layers:
        layer.reset_parameters()
    return len(layers)


class DomainBatchNorm(nn.Module):
    """One batch norm per domain; which of them works is chosen by `use_domain`."""

    def __init__(self, norms: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.norms = nn.ModuleDict(norms)
        self.domain: Domain = "continuous"

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, ...) to the same shape."""
        normalised: Tensor = self.norms[self.domain](x)
        return normalised


def make_domain_specific(module: nn.Module) -> int:
    """Give every batch norm in `module` one set per domain, in place, each a copy of the original; return how many."""
    replaced = 0
    for parent in [part for part in module.modules() if not isinstance(part, DomainBatchNorm | nn.ModuleDict)]:
        for name, child in list(parent.named_children()):
            if isinstance(child, _BatchNorm):
                setattr(parent, name, DomainBatchNorm({domain: copy.deepcopy(child) for domain in DOMAINS}))
                replaced += 1
    return replaced


@contextmanager
def use_domain(module: nn.Module, domain: Domain) -> Iterator[None]:
    """Within the block, every domain-specific batch norm of `module` normalises as for `domain`."""
    layers = [layer for layer in module.modules() if isinstance(layer, DomainBatchNorm)]
    before = [layer.domain for layer in layers]
    for layer in layers:
        layer.domain = domain
    try:
        yield
    finally:
        for layer, domain_before in zip(layers, before, strict=True):
            layer.domain = domain_before


def features_by_domain(trunk: nn.Module, clips: Tensor, dictionary: Tensor) -> Tensor:
    """Clips of both domains to features, each normalised as for its own domain.

    Args:
        trunk: with or without domain-specific batch norms; one without sees all clips at once.
        clips: (N, ...) as the trunk takes them.
        dictionary: (N,) bool: the clip is of an exemplar.

    Returns:
        (N, D) features, in the order of the clips.
    """
    if not any(isinstance(layer, DomainBatchNorm) for layer in trunk.modules()):
        features: Tensor = trunk(clips)
        return features
    parts, rows = [], []
    for domain, is_of_domain in (("continuous", ~dictionary), ("dictionary", dictionary)):
        if bool(is_of_domain.any()):
            with use_domain(trunk, check_domain(domain)):
                parts.append(trunk(clips[is_of_domain]))
            rows.append(is_of_domain.nonzero()[:, 0])
    return torch.cat(parts)[torch.cat(rows).argsort()]
