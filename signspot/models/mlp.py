"""The embedding MLP: features of either trunk to embeddings of unit norm, the last step of an encoder."""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from signspot.io.checks import check_numbers
from signspot.models.batch_norm import DOMAINS, Domain, check_domain

SLOPE = 0.2


@dataclass(frozen=True)
class MlpOptions:
    """Options of an encoder's head."""

    dimension: int = 256  # of the embedding
    hidden: int = 512  # width of the layer before
    mlp: bool = True  # False: the embedding is the trunk's own features at unit norm
    mlp_classes: int | None = None  # words of a classifier on the embedding; the public files hold one, unused
    domain_specific: bool = False  # one set of layers per domain (Table A.2)

    def __post_init__(self) -> None:
        check_numbers(self, "dimension", "hidden", least=1)


class Head(nn.Module):
    """The end of an encoder: features of a trunk to embeddings of unit norm."""

    dimension: int  # of an embedding


class EmbeddingMlp(Head):
    """A residual layer, then two that narrow, each with a leaky ReLU, the last one too (Appendix C.1).

    With 1,064 classes it has 1,979,176 parameters; `logits` takes no part in the embedding.
    """

    def __init__(self, features: int = 1024, options: MlpOptions | None = None) -> None:
        super().__init__()
        chosen = options or MlpOptions()
        self.dimension = chosen.dimension
        self.res = nn.Sequential(nn.Linear(features, features), nn.LeakyReLU(SLOPE))
        self.adaptor = nn.Sequential(
            nn.Linear(features, chosen.hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(chosen.hidden, chosen.dimension),
            nn.LeakyReLU(SLOPE),
        )
        self.logits = nn.Linear(chosen.dimension, chosen.mlp_classes) if chosen.mlp_classes else None

    def forward(self, features: Tensor, domain: Domain = "continuous") -> Tensor:
        """(..., 1024) features to (..., D) embeddings of unit norm; both domains share the layers."""
        return F.normalize(self.adaptor(features + self.res(features)), dim=-1)


class DomainMlp(Head):
    """Two embedding MLPs, one for continuous signing and one for the dictionary (Table A.2)."""

    def __init__(self, features: int = 1024, options: MlpOptions | None = None) -> None:
        super().__init__()
        self.domains = nn.ModuleDict({domain: EmbeddingMlp(features, options) for domain in DOMAINS})
        self.dimension = (options or MlpOptions()).dimension

    def forward(self, features: Tensor, domain: Domain = "continuous") -> Tensor:
        """(..., 1024) features to (..., D) embeddings of unit norm, by the layers of `domain`."""
        embeddings: Tensor = self.domains[check_domain(domain)](features)
        return embeddings


class UnitNorm(Head):
    """No MLP: the trunk's features themselves at unit norm, as in the I3D rows of the paper's Table 2."""

    def __init__(self, features: int = 1024) -> None:
        super().__init__()
        self.dimension = features

    def forward(self, features: Tensor, domain: Domain = "continuous") -> Tensor:
        """(..., 1024) features to (..., 1024) of unit norm."""
        return F.normalize(features, dim=-1)


def build_mlp(features: int, options: MlpOptions) -> Head:
    """Build the end of an encoder on a trunk of so many features."""
    if not options.mlp:
        return UnitNorm(features)
    return DomainMlp(features, options) if options.domain_specific else EmbeddingMlp(features, options)
