"""Supervised contrastive loss: all performances of a sign attract, all others repel."""

import torch
from torch import Tensor


def supervised_contrastive(
    embeddings: Tensor, signs: Tensor, temperature: float = 0.07, repelled: Tensor | None = None
) -> Tensor:
    """Pull embeddings of the same sign together.

    Args:
        embeddings: (N, D) unit norm.
        signs: (N,) which sign each one is; -1: none, a pure negative that is never an anchor.
        temperature: τ.
        repelled: (N, N) bool: pairs that count as negatives; None: all of different signs.

    Returns:
        A scalar: the mean over anchors of the mean over positives of -log softmax.
    """
    count = len(embeddings)
    itself = torch.eye(count, dtype=torch.bool, device=embeddings.device)
    anchor = signs >= 0
    positive = (signs[:, None] == signs) & anchor[:, None] & ~itself
    negative = (signs[:, None] != signs) if repelled is None else repelled & (signs[:, None] != signs)
    logits = (embeddings @ embeddings.T - 1) / temperature
    total = torch.logsumexp(logits.masked_fill(~(positive | negative), -torch.inf), dim=1, keepdim=True)
    rows = anchor & positive.any(dim=1)
    if not bool(rows.any()):
        return embeddings.sum() * 0.0
    each = ((total - logits).masked_fill(~positive, 0).sum(dim=1) / positive.sum(dim=1).clamp(min=1))[rows]
    return each.mean()
