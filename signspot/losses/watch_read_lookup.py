"""The paper's losses: Watch-Read-Lookup, Watch-Lookup, InfoNCE, and plain classification.

Where the prose of Sec. 3.2 and Appendix C.2 and its formulas disagree, `bags="paper"` follows the prose:

* (i) foreground clip: its negatives are all exemplars of other words. Prose and formula agree.
* (ii) foreground dictionary: the formula takes as negatives every background clip whose subtitle *has* the word.
  The prose, and its figure, mean the background clips that "can be excluded as a potential match through the
  subtitles": those of the word's own items, where the label says that it is elsewhere, and those of items that do
  not have it. Background clips of other items that have it among their background words are discarded.
* (iii) background clip: the formula's positives are all words of the subtitle. The figure excludes the labelled word,
  whose sign is in the labelled window; so its exemplars are negatives.
* (iv) background dictionary: negatives are the labelled clips of other words and the background clips of items whose
  subtitle does not have the word, as the formula says; labelled clips of this very word, which the formula neither
  lists as positives nor as negatives, and background clips of items that it is the label of, are discarded.

The loss is the mean over all anchors of all four kinds.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from signspot.losses.batch import Batch, Membership
from signspot.losses.mil_nce import by_word, exponentials, mil_nce

Bags = Literal["paper", "released"]


def watch_read_lookup(
    batch: Batch, temperature: float = 0.07, bags: Bags = "paper", synonyms: Tensor | None = None
) -> Tensor:
    """Learn from labels, subtitles and the dictionary at once (Eqn. 1 with the bags of Appendix C.2).

    Args:
        batch: N clips and V exemplars.
        temperature: τ.
        bags: "paper" for the appendix's four anchors, "released" for the semantics of the authors' code.
        synonyms: (P, 2) pairs of words; a clip and an exemplar of such a pair are neither positive nor negative.
    """
    members = Membership.of(batch)
    weights = exponentials(batch.clips @ batch.exemplars.T, temperature)
    kept = _without_synonyms(batch, members, synonyms)
    if kept is not None:
        weights = weights * kept
    if bags == "released":
        return mil_nce(*_released_bags(batch, members, weights))
    parts = [_clip_anchors(members, weights), _foreground_words(batch, members, weights)]
    parts.append(_background_words(batch, members, weights))
    return mil_nce(torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts]))


def watch_lookup(batch: Batch, temperature: float = 0.07, synonyms: Tensor | None = None) -> Tensor:
    """Learn from labels and the dictionary, without subtitles: anchors (i) and (ii) on foreground alone."""
    return watch_read_lookup(batch.foreground_only(), temperature, "paper", synonyms)


def info_nce(batch: Batch, temperature: float = 0.07, synonyms: Tensor | None = None) -> Tensor:
    """Pair each labelled clip with one exemplar of its word, both ways; all other words are negatives."""
    return watch_lookup(batch.one_exemplar_an_item(), temperature, synonyms)


def classification(logits: Tensor, words: Tensor) -> Tensor:
    """Cross entropy of (N, K) logits against (N,) words."""
    return functional.cross_entropy(logits, words)


def _clip_anchors(members: Membership, weights: Tensor) -> tuple[Tensor, Tensor]:
    """(i) and (iii): a clip against all exemplars; its own words' are positive, all others negative. (N,), (N,)."""
    return (weights * members.match).sum(dim=1), weights.sum(dim=1)


def _foreground_words(batch: Batch, members: Membership, weights: Tensor) -> tuple[Tensor, Tensor]:
    """(ii): the exemplars of a labelled word against all clips. (K,), (K,), 0 for words that label nothing."""
    sums = by_word(weights, members.column_word, len(members.words))  # (N, K)
    front = batch.is_foreground[:, None]
    positive = front & members.row_words
    maybe = ~front & members.row_words  # another item may sign it somewhere
    labelled = positive.any(dim=0)
    return (sums * positive).sum(dim=0), (sums * ~maybe).sum(dim=0) * labelled


def _background_words(batch: Batch, members: Membership, weights: Tensor) -> tuple[Tensor, Tensor]:
    """(iv): the exemplars of a subtitle word without a label against all clips. (K,), (K,)."""
    sums = by_word(weights, members.column_word, len(members.words))
    back = ~batch.is_foreground[:, None]
    positive = back & members.row_words
    negative = torch.where(back, ~members.row_subtitle, ~members.row_words)
    return (sums * positive).sum(dim=0), (sums * (positive | negative)).sum(dim=0)


def _released_bags(batch: Batch, members: Membership, weights: Tensor) -> tuple[Tensor, Tensor]:
    """A term for each run of equal words in the order of exemplars. (runs,), (runs,)."""
    count = len(members.words)
    elsewhere = members.match & (batch.clip_item[:, None] != batch.exemplar_item)
    kept = weights * ~elsewhere
    positive = (by_word(weights, members.column_word, count) * members.row_words).sum(dim=0)
    kept_sums = by_word(kept, members.column_word, count)  # (N, K)
    columns = kept_sums.sum(dim=0)  # all pairs whose exemplar has the word
    rows = kept.sum(dim=1) @ members.row_words.to(kept.dtype)  # all pairs whose clip has it
    both = (kept_sums * members.row_words).sum(dim=0)
    runs = torch.unique_consecutive(members.column_word)
    return positive[runs], (columns + rows - both)[runs]


def _without_synonyms(batch: Batch, members: Membership, synonyms: Tensor | None) -> Tensor | None:
    """(N, V): False where the clip's word and the exemplar's are synonyms of one another."""
    if synonyms is None or len(synonyms) == 0:
        return None
    words = members.words
    one = words[:, None, None] == synonyms[:, 0]  # (K, 1, P)
    two = words[None, :, None] == synonyms[:, 1]  # (1, K, P)
    alike = (one & two).any(dim=2)
    alike = alike | alike.T
    return ~((members.row_words.float() @ alike.float() > 0)[:, members.column_word] & ~members.match)
