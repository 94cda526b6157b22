"""Contrastive losses: performances of a sign attract and others repel; the sums over bags that MIL-NCE compares."""

import torch
from torch import Tensor

_FLOAT32_RANGE = 60.0  # natural log of the widest ratio of two summands that float32 sums well


def exponentials(similarity: Tensor, temperature: float) -> Tensor:
    """e^((ψ - 1)/τ): e^(ψ/τ) but for a common factor, which cancels in every ratio of bags.

    Args:
        similarity: (N, V) cosine similarities in [-1, 1].
        temperature: τ > 0; a very low one is worked in double precision, so that no bag underflows.

    Returns:
        (N, V) positive numbers, at most 1.
    """
    if 2 / temperature > _FLOAT32_RANGE:
        similarity = similarity.double()
    return (similarity - 1).div_(temperature).exp_()  # one array of this size, not three


def by_word(values: Tensor, column_word: Tensor, words: int) -> Tensor:
    """Sum (N, V) columns that have the same word → (N, K). A scatter, not a product with a one-hot matrix.

    It adds whole columns, so it is quick where these lie together in memory.
    """
    return values.new_zeros(words, len(values)).index_add(0, column_word, values.T).T.contiguous()


def mil_nce(positive: Tensor, total: Tensor) -> Tensor:
    """The mean of -log(positive / total) over bags that are not empty.

    Args:
        positive: (K,) sums of e^(ψ/τ) over the pairs of each positive bag.
        total: (K,) the same over positive and negative bags together.

    Returns:
        A scalar; 0, and no gradient, where every bag is empty.
    """
    there = positive > 0
    if not bool(there.any()):
        return positive.sum() * 0.0
    return (torch.log(total[there]) - torch.log(positive[there])).mean()


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
