"""The paper's losses: Watch-Read-Lookup, Watch-Lookup, InfoNCE, and plain classification.

The paper describes the bags of Watch-Read-Lookup three times, and released a fourth version. All are here by name:

* "appendix", the formulas of Appendix C.2: four anchors. (i) P(seg), N(seg-fore): a labelled clip. (ii) P(dict),
  N(dict-fore): the exemplars of a labelled word. (iii) P(seg-back), N(seg-back): one background clip × the exemplars of
  all background words of its subtitle. (iv) P(dict-back), N(dict-back): the exemplars of one background word × the
  background clips of all items that have it.
* "section", the text of Sec. 3.2: (i) and (ii), and in place of (iii) and (iv) one bag per item, the *set* of its
  background clips × the *set* of exemplars of its background words: the union of the item's bags P(seg-back).
* "figure", Fig. A.3: as the appendix, but (iii) is one bag per item and background word: the set of background clips ×
  the exemplars of that word, "repeated for each dictionary background"; the item's other background words are left out.
  Where items have one background clip and one background word each, it equals "appendix".
* "released", the authors' code: one term per run of equal words in the order of exemplars.

Where a formula of Appendix C.2 and its prose disagree, we follow the prose:

* (ii) foreground dictionary: the formula takes as negatives every background clip whose subtitle *has* the word.
  The prose, and its figure, mean the background clips that "can be excluded as a potential match through the
  subtitles": those of the word's own items, where the label says that it is elsewhere, and those of items that do
  not have it. Background clips of other items that have it among their background words are discarded.
* (iii) background clip: the formula's positives are all words of the subtitle. The figure excludes the labelled word,
  whose sign is in the labelled window; so its exemplars are negatives.
* (iv) background dictionary: negatives are the labelled clips of other words and the background clips of items whose
  subtitle does not have the word, as the formula says; labelled clips of this very word, which the formula neither
  lists as positives nor as negatives, and background clips of items that it is the label of, are discarded.

The loss is the mean over all anchors.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

BACKGROUND = -1
_FLOAT32_RANGE = 60.0  # natural log of the widest ratio of two summands that float32 sums well


@dataclass(frozen=True, slots=True)
class Batch:
    """Clips of subtitled videos, and the exemplars of their subtitles' words. Words are any whole numbers ≥ 0."""

    clips: Tensor  # (N, D) unit norm
    clip_item: Tensor  # (N,) which item a clip is of
    clip_word: Tensor  # (N,) its word; -1: background
    exemplars: Tensor  # (V, D) unit norm
    exemplar_item: Tensor  # (V,) which item an exemplar was looked up for
    exemplar_word: Tensor  # (V,)
    exemplar_foreground: Tensor  # (V,) bool: its word is the item's labelled one
    compared: Tensor | None = None  # (N, V) similarities by something else than cosine, such as minus a cost

    def __post_init__(self) -> None:
        n, v = len(self.clips), len(self.exemplars)
        assert self.compared is None or self.compared.shape == (n, v)
        assert self.clip_item.shape == self.clip_word.shape == (n,)
        assert self.exemplar_item.shape == self.exemplar_word.shape == self.exemplar_foreground.shape == (v,)

    @property
    def similarity(self) -> Tensor:
        """(N, V) of every clip and every exemplar: as compared, or the cosine; in float32 or better."""
        if self.compared is not None:
            return _wide(self.compared)
        # By columns in memory, as they are summed by word.
        return (_wide(self.exemplars) @ _wide(self.clips).T).T

    @property
    def is_foreground(self) -> Tensor:
        """(N,) bool: the clip is labelled."""
        return self.clip_word != BACKGROUND

    def foreground_only(self) -> "Batch":
        """Labelled clips and their words' exemplars: what there is without subtitles."""
        return self._part(self.is_foreground, self.exemplar_foreground)

    def one_exemplar_an_item(self) -> "Batch":
        """Labelled clips, and of each item the first exemplar of its labelled word."""
        fore = self.foreground_only()
        position = torch.arange(len(fore.exemplar_item), device=fore.exemplar_item.device)
        same = fore.exemplar_item[:, None] == fore.exemplar_item
        first = (same & (position < position[:, None])).sum(dim=1) == 0
        return fore._part(torch.ones_like(fore.clip_item, dtype=torch.bool), first)

    def _part(self, rows: Tensor, columns: Tensor) -> "Batch":
        """Some clips and some exemplars, by masks."""
        return Batch(
            self.clips[rows],
            self.clip_item[rows],
            self.clip_word[rows],
            self.exemplars[columns],
            self.exemplar_item[columns],
            self.exemplar_word[columns],
            self.exemplar_foreground[columns],
            None if self.compared is None else self.compared[rows][:, columns],
        )


@dataclass(frozen=True, slots=True)
class Membership:
    """Words of a batch, and the clips and exemplars that have them: the masks from which all bags are cut."""

    words: Tensor  # (K,) the words of the exemplars, sorted
    column_word: Tensor  # (V,) index into words
    row_item: Tensor  # (N,) the item of each clip, an index into the items of the batch
    background: Tensor  # (items, K) bool: words without a label that were looked up for the item
    subtitle: Tensor  # (items, K) bool: all words that were looked up for the item
    row_words: Tensor  # (N, K) bool: a foreground clip has its own word, a background clip its item's background words

    @classmethod
    def of(cls, batch: Batch) -> "Membership":
        """Work out the masks of a batch."""
        words, column_word = torch.unique(batch.exemplar_word, return_inverse=True)
        _, both = torch.unique(torch.cat([batch.clip_item, batch.exemplar_item]), return_inverse=True)
        row_item, exemplar_item = both[: len(batch.clip_item)], both[len(batch.clip_item) :]
        items = int(both.max()) + 1 if len(both) else 0
        background = torch.zeros(items, len(words), dtype=torch.bool, device=words.device)
        subtitle = background.clone()
        subtitle[exemplar_item, column_word] = True
        back = ~batch.exemplar_foreground
        background[exemplar_item[back], column_word[back]] = True
        is_label = batch.clip_word[:, None] == words
        row_words = torch.where(batch.is_foreground[:, None], is_label, background[row_item])
        return cls(words, column_word, row_item, background, subtitle, row_words)

    @property
    def match(self) -> Tensor:
        """(N, V) bool: the clip's words hold the exemplar's."""
        return self.row_words[:, self.column_word]


@dataclass(frozen=True, slots=True)
class WordSums:
    """Exponentials summed over the exemplars of each word: all that bags are sums of.

    Background clips of an item have the same words, so what only counts clips is worked out on their sums.
    """

    clips: Tensor  # (N, K) of each clip
    labelled: Tensor  # (F, K) of the clips that have a label
    background: Tensor  # (items, K) of all background clips of an item together
    is_label: Tensor  # (F, K) bool: the word is the clip's label

    @classmethod
    def of(cls, batch: Batch, members: Membership, weights: Tensor) -> "WordSums":
        """Sum the (N, V) exponentials of a batch."""
        sums = by_word(weights, members.column_word, len(members.words))
        front = batch.is_foreground
        items = sums.new_zeros(members.background.shape).index_add(0, members.row_item[~front], sums[~front])
        return cls(sums, sums[front], items, members.row_words[front])


Bags = Literal["appendix", "section", "figure", "released"]


def watch_read_lookup(
    batch: Batch, temperature: float = 0.07, bags: Bags = "appendix", synonyms: Tensor | None = None
) -> Tensor:
    """Learn from labels, subtitles and the dictionary at once (Eqn. 1 with the bags of Appendix C.2).

    Args:
        batch: N clips and V exemplars.
        temperature: τ.
        bags: which reading of the paper, or "released" for the semantics of the authors' code; see the module.
        synonyms: (P, 2) pairs of words; a clip and an exemplar of such a pair are neither positive nor negative.
    """
    # Exponentials differ by a factor of e^(2/τ): half precision, in which a trunk may compute, would lose bags.
    with torch.autocast(batch.clips.device.type, enabled=False):
        members = Membership.of(batch)
        weights = exponentials(batch.similarity, temperature)
        mask = _without_synonyms(batch, members, synonyms)
        if mask is not None:
            weights = weights * mask
        sums = WordSums.of(batch, members, weights)
        if bags == "released":
            return mil_nce(*_released_bags(batch, members, weights, sums))
        parts = [_foreground_words(members, sums)]
        if bags == "appendix":
            parts += [_clip_anchors(members, sums), _background_words(members, sums)]
        else:
            positive, total = _clip_anchors(members, sums)
            parts.append((positive[batch.is_foreground], total[batch.is_foreground]))
        if bags == "section":
            parts.append(_background_sets(members, sums))
        if bags == "figure":
            parts += [_background_sets_by_word(members, sums), _background_words(members, sums)]
        return mil_nce(torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts]))


def watch_lookup(batch: Batch, temperature: float = 0.07, synonyms: Tensor | None = None) -> Tensor:
    """Learn from labels and the dictionary, without subtitles: anchors (i) and (ii) on foreground alone."""
    return watch_read_lookup(batch.foreground_only(), temperature, "appendix", synonyms)


def info_nce(batch: Batch, temperature: float = 0.07, synonyms: Tensor | None = None) -> Tensor:
    """Pair each labelled clip with one exemplar of its word, both ways; all other words are negatives."""
    return watch_lookup(batch.one_exemplar_an_item(), temperature, synonyms)


def classification(logits: Tensor, words: Tensor) -> Tensor:
    """Cross entropy of (N, K) logits against (N,) words."""
    return functional.cross_entropy(logits, words)


def _clip_anchors(members: Membership, sums: WordSums) -> tuple[Tensor, Tensor]:
    """(i) and (iii): a clip against all exemplars; its own words' are positive, all others negative. (N,), (N,)."""
    return (sums.clips * members.row_words).sum(dim=1), sums.clips.sum(dim=1)


def _foreground_words(members: Membership, sums: WordSums) -> tuple[Tensor, Tensor]:
    """(ii): the exemplars of a labelled word against all clips. (K,), (K,), 0 for words that label nothing.

    Background clips of items that have the word in their background are left out: they may show it.
    """
    total = sums.labelled.sum(dim=0) + (sums.background * ~members.background).sum(dim=0)
    return (sums.labelled * sums.is_label).sum(dim=0), total * sums.is_label.any(dim=0)


def _background_words(members: Membership, sums: WordSums) -> tuple[Tensor, Tensor]:
    """(iv): the exemplars of a subtitle word without a label against all clips. (K,), (K,)."""
    positive = (sums.background * members.background).sum(dim=0)
    return positive, positive + _elsewhere(members, sums)


def _background_sets(members: Membership, sums: WordSums) -> tuple[Tensor, Tensor]:
    """Sec. 3.2: all background clips of an item × all exemplars of its background words. (items,), (items,).

    Negatives: these clips × all other exemplars, and these exemplars × all clips that cannot show their word.
    """
    positive = (sums.background * members.background).sum(dim=1)
    return positive, sums.background.sum(dim=1) + (_elsewhere(members, sums) * members.background).sum(dim=1)


def _background_sets_by_word(members: Membership, sums: WordSums) -> tuple[Tensor, Tensor]:
    """Fig. A.3 (iii): all background clips of an item × the exemplars of one of its background words. (items K,) twice.

    Negatives: these clips × the exemplars of words that are not among the item's background words.
    """
    positive = sums.background * members.background
    others = (sums.background * ~members.background).sum(dim=1, keepdim=True)
    return positive.flatten(), ((positive + others) * members.background).flatten()


def _elsewhere(members: Membership, sums: WordSums) -> Tensor:
    """(K,) over the clips that cannot show the word: their label is another one, or their subtitle does not have it."""
    return (sums.labelled * ~sums.is_label).sum(dim=0) + (sums.background * ~members.subtitle).sum(dim=0)


def _released_bags(batch: Batch, members: Membership, weights: Tensor, sums: WordSums) -> tuple[Tensor, Tensor]:
    """A term for each run of equal words in the order of exemplars. (runs,), (runs,).

    Of the pairs that match in word, those of different items are not part of a denominator.
    """
    rows, columns = torch.nonzero(batch.clip_item[:, None] == batch.exemplar_item, as_tuple=True)
    matching = members.row_words[rows, members.column_word[columns]]
    rows, columns = rows[matching], columns[matching]
    same_item = weights.new_zeros(len(weights)).index_add(0, rows, weights[rows, columns])  # of the same word and item
    other = sums.clips * ~members.row_words
    by_rows = (other.sum(dim=1) + same_item) @ members.row_words.to(
        same_item.dtype
    )  # all pairs whose clip has the word
    positive = (sums.clips * members.row_words).sum(dim=0)
    runs = torch.unique_consecutive(members.column_word)
    return positive[runs], (by_rows + other.sum(dim=0))[runs]


def _without_synonyms(batch: Batch, members: Membership, synonyms: Tensor | None) -> Tensor | None:
    """(N, V): False where the clip's word and the exemplar's are synonyms of one another."""
    if synonyms is None or len(synonyms) == 0:
        return None
    words = members.words
    clip_word = words[:, None, None] == synonyms[:, 0]  # (K, 1, P)
    exemplar_word = words[None, :, None] == synonyms[:, 1]  # (1, K, P)
    alike = (clip_word & exemplar_word).any(dim=2)
    alike = alike | alike.T
    return ~((members.row_words.float() @ alike.float() > 0)[:, members.column_word] & ~members.match)


def _wide(values: Tensor) -> Tensor:
    """The same numbers in float32, or as they are in double precision."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


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
