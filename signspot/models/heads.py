"""What turns a trunk's features into something else than an embedding: a classifier over words."""

import torch.nn.functional as F
from torch import Tensor, nn


class ClassifierHead(nn.Module):
    """Dropout and one linear layer from features to words.

    The layer is stored as a 1 x 1 x 1 convolution, as the public checkpoints hold it
    (`logits.conv3d.weight`), so that one head serves every trunk and every file.
    """

    def __init__(self, dimension: int, classes: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.classes = classes
        self.dropout = nn.Dropout(dropout)
        self.conv3d = nn.Conv3d(dimension, classes, kernel_size=1)

    def forward(self, features: Tensor) -> Tensor:
        """(..., D) features to (..., K) logits, one a word."""
        return F.linear(self.dropout(features), self.conv3d.weight.flatten(1), self.conv3d.bias)
