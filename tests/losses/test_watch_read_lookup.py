"""The losses: worked by hand at named angles, against slow obvious loops, and by their laws."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import get_args

import pytest
import torch
from torch import Tensor

from signspot.losses.watch_read_lookup import (
    Bags,
    Batch,
    by_word,
    classification,
    exponentials,
    info_nce,
    mil_nce,
    watch_lookup,
    watch_read_lookup,
)

FRIEND, LANGUAGE, NAME, WHAT, SPEAK = range(5)


def at(*degrees: float) -> Tensor:
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def batch_of(clips: list[tuple[float, int, int]], exemplars: list[tuple[float, int, int, bool]]) -> Batch:
    """Clips as (angle, item, word or -1) and exemplars as (angle, item, word, foreground)."""
    return Batch(
        at(*(c[0] for c in clips)),
        torch.tensor([c[1] for c in clips]),
        torch.tensor([c[2] for c in clips]),
        at(*(e[0] for e in exemplars)),
        torch.tensor([e[1] for e in exemplars]),
        torch.tensor([e[2] for e in exemplars]),
        torch.tensor([e[3] for e in exemplars], dtype=torch.bool),
    )


def two_items() -> Batch:
    """ "What is your friend's name?" with friend labelled; "speak a language" with language labelled."""
    return batch_of(
        [(0, 0, FRIEND), (90, 0, -1), (180, 1, LANGUAGE), (270, 1, -1)],
        [(0, 0, FRIEND, True), (60, 0, FRIEND, True), (90, 0, NAME, False), (120, 0, WHAT, False),
         (180, 1, LANGUAGE, True), (270, 1, SPEAK, False)],
    )  # fmt: skip


def random_batch(seed: int, items: int = 5, words: int = 8) -> Batch:
    """Items that share words, in foreground and background."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high: int, size: int) -> list[int]:
        return torch.randint(high, (size,), generator=generator).tolist()

    clips: list[tuple[float, int, int]] = []
    exemplars: list[tuple[float, int, int, bool]] = []
    for item in range(items):
        fore, *back = torch.randperm(words, generator=generator)[:4].tolist()
        clips += [(draw(360, 1)[0], item, fore)] + [(angle, item, -1) for angle in draw(360, 3)]
        for word in (fore, *back):
            exemplars += [(angle, item, word, word == fore) for angle in draw(360, 1 + draw(3, 1)[0])]
    return batch_of(clips, exemplars)


def pair_exponentials(batch: Batch, temperature: float) -> list[list[float]]:
    return torch.exp(batch.clips @ batch.exemplars.T / temperature).tolist()


def words_of_clips(batch: Batch) -> list[set[int]]:
    background: dict[int, set[int]] = {}
    for item, word, fore in zip(
        batch.exemplar_item.tolist(),
        batch.exemplar_word.tolist(),
        batch.exemplar_foreground.tolist(),
        strict=True,
    ):
        background.setdefault(item, set())
        if not fore:
            background[item].add(word)
    rows = zip(batch.clip_item.tolist(), batch.clip_word.tolist(), strict=True)
    return [{word} if word >= 0 else background[item] for item, word in rows]


def slow_released(batch: Batch, temperature: float) -> float:
    e, sets, words = (
        pair_exponentials(batch, temperature),
        words_of_clips(batch),
        batch.exemplar_word.tolist(),
    )
    clip_item, exemplar_item = batch.clip_item.tolist(), batch.exemplar_item.tolist()
    terms = []
    for word, _ in groupby(words):
        numerator = denominator = 0.0
        for row, words_of_clip in enumerate(sets):
            for column, other in enumerate(words):
                if word in words_of_clip and other == word:
                    numerator += e[row][column]
                differs = other in words_of_clip and clip_item[row] != exemplar_item[column]
                if (other == word or word in words_of_clip) and not differs:
                    denominator += e[row][column]
        terms.append(math.log(denominator) - math.log(numerator))
    return sum(terms) / len(terms)


def slow_appendix(batch: Batch, temperature: float) -> float:
    e, sets, words = (
        pair_exponentials(batch, temperature),
        words_of_clips(batch),
        batch.exemplar_word.tolist(),
    )
    labels, clip_item = batch.clip_word.tolist(), batch.clip_item.tolist()
    subtitle: dict[int, set[int]] = {}
    for item, word in zip(batch.exemplar_item.tolist(), words, strict=True):
        subtitle.setdefault(item, set()).add(word)
    terms = []

    def add(positive: list[tuple[int, int]], negative: list[tuple[int, int]]) -> None:
        top, others = sum(e[r][c] for r, c in positive), sum(e[r][c] for r, c in negative)
        if positive:
            terms.append(math.log(top + others) - math.log(top))

    for row, words_of_clip in enumerate(sets):  # (i) and (iii)
        columns = list(range(len(words)))
        add(
            [(row, c) for c in columns if words[c] in words_of_clip],
            [(row, c) for c in columns if words[c] not in words_of_clip],
        )
    for word in sorted(set(words)):
        columns = [c for c, other in enumerate(words) if other == word]
        rows = range(len(sets))
        fore = [r for r in rows if labels[r] == word]
        excluded = [r for r in rows if labels[r] != word and not (labels[r] < 0 and word in sets[r])]
        if fore:  # (ii)
            add([(r, c) for r in fore for c in columns], [(r, c) for r in excluded for c in columns])
        back = [r for r in rows if labels[r] < 0 and word in sets[r]]
        others = [r for r in rows if labels[r] >= 0 and labels[r] != word]
        others += [r for r in rows if labels[r] < 0 and word not in subtitle[clip_item[r]]]
        add([(r, c) for r in back for c in columns], [(r, c) for r in others for c in columns])  # (iv)
    return sum(terms) / len(terms)


def test_watch_lookup_by_hand() -> None:
    """Two labelled clips at 0° and 90°, an exemplar of each word right on it, τ = 1: every bag is e / (e + 1)."""
    batch = batch_of([(0, 0, FRIEND), (90, 1, NAME)], [(0, 0, FRIEND, True), (90, 1, NAME, True)])
    expected = -math.log(math.e / (math.e + 1))
    assert watch_lookup(batch, 1.0).item() == pytest.approx(expected)
    assert info_nce(batch, 1.0).item() == pytest.approx(expected)


def test_of_several_variants_one_match_is_enough() -> None:
    """A clip at 0°, variants at 0° and 180°, one other word at 90°; τ = 1."""
    batch = batch_of(
        [(0, 0, FRIEND), (90, 1, NAME)],
        [(0, 0, FRIEND, True), (180, 0, FRIEND, True), (90, 1, NAME, True)],
    )
    e, inverse = math.e, 1 / math.e
    seg = [(e + inverse, e + inverse + 1), (e, e + 1 + 1)]  # clip anchors: friend, name
    words = [(e + inverse, e + inverse + 1 + 1), (e, e + 1)]  # dictionary anchors: friend, name
    expected = sum(math.log(total / top) for top, total in seg + words) / 4
    assert watch_lookup(batch, 1.0).item() == pytest.approx(expected)


def test_the_background_of_the_subtitle_is_read() -> None:
    """In the example, moving the background clip onto 'name' lowers the loss; Watch-Lookup does not care."""
    near, batch = two_items(), two_items()
    far = Batch(at(0, 45, 180, 270), *(getattr(batch, f) for f in list(Batch.__dataclass_fields__)[1:]))
    assert watch_read_lookup(near) < watch_read_lookup(far)
    assert watch_lookup(near).item() == pytest.approx(watch_lookup(far).item())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("temperature", [0.07, 1.0])
def test_bags_of_runs_and_of_the_appendix_equal_slow_loops(seed: int, temperature: float) -> None:
    batch = random_batch(seed)
    for loss, slow in (
        (watch_read_lookup(batch, temperature, "released"), slow_released),
        (watch_read_lookup(batch, temperature), slow_appendix),
    ):
        assert loss.item() == pytest.approx(slow(batch, temperature), rel=1e-9)


def one_item(fore: float, back: tuple[float, float]) -> Batch:
    """Friend (0°) is labelled at `fore`; name (90°) and what (270°) are in the subtitle, with two background clips."""
    return batch_of(
        [(fore, 0, FRIEND), (back[0], 0, -1), (back[1], 0, -1)],
        [(0, 0, FRIEND, True), (90, 0, NAME, False), (270, 0, WHAT, False)],
    )


E, ONE, LESS = math.e, 1.0, 1 / math.e  # e^cos of 0°, 90°, 180°


def test_the_three_readings_by_hand() -> None:
    """Background clips at 90° (name) and 180° (nothing): e^ψ of friend, name, what is (1, e, 1/e) and (1/e, 1, 1).

    The labelled clip at 0° has (e, 1, 1).
    """
    batch = one_item(0, (90, 180))
    name, nothing = (ONE, E, LESS), (LESS, ONE, ONE)
    friend_clip, friend_word = E / (E + 2), E / (E + ONE + LESS)
    clips = [(E + LESS) / sum(name), (ONE + ONE) / sum(nothing)]
    words = [(E + ONE) / (E + ONE + ONE), (LESS + ONE) / (LESS + ONE + ONE)]  # negative: the labelled clip
    clip_pairs = E + LESS + ONE + ONE
    both = clip_pairs / (clip_pairs + (ONE + LESS) + (ONE + ONE))  # × friend, and the labelled clip × name and what
    single_words = [(E + ONE) / (E + ONE + ONE + LESS), (LESS + ONE) / (LESS + ONE + ONE + LESS)]
    expected = {
        "appendix": [friend_clip, friend_word, *clips, *words],
        "section": [friend_clip, friend_word, both],
        "figure": [friend_clip, friend_word, *single_words, *words],
    }
    for bags, shares in expected.items():
        mean = sum(-math.log(share) for share in shares) / len(shares)
        assert watch_read_lookup(batch, 1.0, bags).item() == pytest.approx(mean), bags  # type: ignore[arg-type]


def test_a_set_asks_for_one_match_and_the_figure_for_one_of_each_word() -> None:
    """Two clips on 'name' satisfy the set; the figure misses 'what'. The temperature is low: only matches count."""
    on_name, on_both = one_item(0, (90, 90)), one_item(0, (90, 270))
    assert watch_read_lookup(on_name, 0.05, "section").item() == pytest.approx(0, abs=1e-6)
    assert watch_read_lookup(on_name, 0.05, "figure").item() > 1
    assert watch_read_lookup(on_both, 0.05, "figure").item() == pytest.approx(0, abs=1e-6)
    astray = one_item(0, (90, 0))  # one background clip shows nothing of the subtitle
    assert watch_read_lookup(astray, 0.05, "section").item() < watch_read_lookup(astray, 0.05, "appendix").item()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bags", ["section", "figure"])
def test_bags_of_sets_equal_slow_loops(seed: int, bags: Bags) -> None:
    batch = random_batch(seed)
    assert watch_read_lookup(batch, 0.3, bags).item() == pytest.approx(slow_sets(batch, 0.3, bags), rel=1e-9)


def slow_sets(batch: Batch, temperature: float, bags: Bags) -> float:
    e, words = pair_exponentials(batch, temperature), batch.exemplar_word.tolist()
    items, labels = batch.clip_item.tolist(), batch.clip_word.tolist()
    looked_up = list(zip(batch.exemplar_item.tolist(), words, batch.exemplar_foreground.tolist(), strict=True))
    rows, columns = range(len(items)), range(len(words))
    terms: list[float] = []

    def add(positive: list[tuple[int, int]], negative: list[tuple[int, int]]) -> None:
        top, others = (sum(e[r][c] for r, c in set(pairs)) for pairs in (positive, negative))
        if positive:
            terms.append(math.log(top + others) - math.log(top))

    def cannot(r: int, c: int) -> bool:
        if labels[r] >= 0:
            return bool(labels[r] != words[c])
        return words[c] not in {word for item, word, _ in looked_up if item == items[r]}

    behind = {item: {word for other, word, fore in looked_up if other == item and not fore} for item in set(items)}
    for r in (row for row in rows if labels[row] >= 0):  # (i)
        positives = [(r, c) for c in columns if words[c] == labels[r]]
        add(positives, [(r, c) for c in columns if words[c] != labels[r]])
    for word in sorted({label for label in labels if label >= 0}):  # (ii)
        of_word = [c for c in columns if words[c] == word]
        fore = [(r, c) for r in rows if labels[r] == word for c in of_word]
        out = [r for r in rows if labels[r] != word and not (labels[r] < 0 and word in behind[items[r]])]
        add(fore, [(r, c) for r in out for c in of_word])
    for item, background_words in behind.items():
        own_rows = [r for r in rows if items[r] == item and labels[r] < 0]
        strange = [(r, c) for r in own_rows for c in columns if words[c] not in background_words]
        if bags == "section":
            excluded = [(r, c) for r in rows for c in columns if words[c] in background_words and cannot(r, c)]
            add([(r, c) for r in own_rows for c in columns if words[c] in background_words], strange + excluded)
        else:
            for word in background_words:
                add([(r, c) for r in own_rows for c in columns if words[c] == word], strange)
    if bags == "figure":
        for word in sorted(set(words)):  # (iv)
            of_word = [c for c in columns if words[c] == word]
            back = [(r, c) for r in rows if labels[r] < 0 and word in behind[items[r]] for c in of_word]
            add(back, [(r, c) for r in rows for c in of_word if cannot(r, c)])
    return sum(terms) / len(terms)


def shuffled(batch: Batch, seed: int) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(batch.clips), generator=generator)
    columns = torch.randperm(len(batch.exemplars), generator=generator)
    return Batch(
        batch.clips[rows], batch.clip_item[rows], batch.clip_word[rows], batch.exemplars[columns],
        batch.exemplar_item[columns], batch.exemplar_word[columns], batch.exemplar_foreground[columns],
    )  # fmt: skip


@pytest.mark.parametrize("loss", [watch_read_lookup, watch_lookup, info_nce])
def test_the_temperature_is_the_papers_unless_another_is_given(loss: Callable[..., Tensor]) -> None:
    batch = random_batch(0)
    assert float(loss(batch)) == float(loss(batch, 0.07)) != float(loss(batch, 0.1))


@pytest.mark.parametrize("loss", [watch_read_lookup, watch_lookup])
def test_order_does_not_matter(loss: object) -> None:
    batch = random_batch(3)
    assert callable(loss)
    assert loss(shuffled(batch, 1)).item() == pytest.approx(loss(batch).item(), rel=1e-9)


def test_names_of_words_do_not_matter() -> None:
    batch = random_batch(4)
    renamed = Batch(
        batch.clips, batch.clip_item + 70, torch.where(batch.clip_word < 0, -1, 900 - 7 * batch.clip_word),
        batch.exemplars, batch.exemplar_item + 70, 900 - 7 * batch.exemplar_word, batch.exemplar_foreground,
    )  # fmt: skip
    for bags in get_args(Bags):
        assert watch_read_lookup(renamed, 0.07, bags).item() == pytest.approx(
            watch_read_lookup(batch, 0.07, bags).item(), rel=1e-9
        )


@pytest.mark.parametrize("bags", get_args(Bags))
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_of_what_is_around_it_changes_nothing(bags: Bags, half: torch.dtype) -> None:
    plain = random_batch(1)
    batch = replace(plain, clips=plain.clips.to(half), exemplars=plain.exemplars.to(half))
    exact = replace(plain, clips=batch.clips.double(), exemplars=batch.exemplars.double())
    with torch.autocast("cpu", half):
        loss = watch_read_lookup(batch, 0.07, bags)
    assert loss.item() == pytest.approx(watch_read_lookup(exact, 0.07, bags).item(), rel=1e-4)


@pytest.mark.parametrize("bags", get_args(Bags))
def test_gradients_are_right(bags: str) -> None:
    batch = random_batch(5, items=3)

    def loss(clips: Tensor, exemplars: Tensor) -> Tensor:
        fields = [getattr(batch, name) for name in Batch.__dataclass_fields__]
        fields[0], fields[3] = clips, exemplars
        return watch_read_lookup(Batch(*fields), 0.3, bags)

    inputs = (batch.clips.clone().requires_grad_(), batch.exemplars.clone().requires_grad_())
    assert torch.autograd.gradcheck(loss, inputs)


def test_a_synonym_is_neither_positive_nor_negative() -> None:
    """'happy' and 'content' are one sign: with both exemplars on one spot, only discarding makes the loss small."""
    batch = batch_of([(0, 0, 1), (0, 1, 2)], [(0, 0, 1, True), (0, 1, 2, True)])
    assert watch_lookup(batch, 0.07).item() == pytest.approx(math.log(2))
    assert watch_lookup(batch, 0.07, torch.tensor([[2, 1]])).item() == pytest.approx(0, abs=1e-9)
    unrelated = torch.tensor([[5, 1], [2, 9]])
    assert watch_lookup(batch, 0.07, unrelated).item() == pytest.approx(math.log(2))


def test_an_unbalanced_batch_discards_equal_words() -> None:
    """Two items of one word: neither is a negative of the other."""
    batch = batch_of([(0, 0, 1), (0, 1, 1)], [(0, 0, 1, True), (0, 1, 1, True)])
    assert watch_lookup(batch, 0.07).item() == pytest.approx(0, abs=1e-9)


def test_empty_bags_give_zero_and_a_zero_gradient() -> None:
    clips = at(0).requires_grad_()
    none = torch.zeros(0, dtype=torch.long)
    one = torch.zeros(1, dtype=torch.long)
    batch = Batch(clips, one, one - 1, at(90), one, one, torch.ones(1, dtype=torch.bool))
    loss = watch_read_lookup(batch)
    loss.backward()
    assert loss.item() == 0
    assert clips.grad is not None
    assert clips.grad.abs().sum() == 0
    assert watch_lookup(Batch(at(0)[:0], none, none, at(0), one, one, one.bool())).item() == 0


@pytest.mark.parametrize("temperature", [0.005, 0.01, 5.0])
def test_no_temperature_makes_it_infinite(temperature: float) -> None:
    batch = random_batch(1)
    fields = {name: getattr(batch, name) for name in Batch.__dataclass_fields__}
    single = Batch(**{**fields, "clips": batch.clips.float(), "exemplars": batch.exemplars.float()})
    for bags in get_args(Bags):
        assert math.isfinite(watch_read_lookup(single, temperature, bags).item())


def test_classification_is_cross_entropy() -> None:
    logits = torch.tensor([[math.log(3.0), 0.0]])
    assert classification(logits, torch.tensor([0])).item() == pytest.approx(math.log(4 / 3))


def test_bags_are_summed_by_word_and_empty_ones_left_out() -> None:
    values = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert by_word(values, torch.tensor([0, 1, 0]), 3).tolist() == [[4, 2, 0], [10, 5, 0]]
    loss = mil_nce(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([2.0, 8.0, 5.0]))
    assert loss.item() == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert mil_nce(torch.zeros(2), torch.ones(2)).item() == 0


def test_a_very_low_temperature_does_not_underflow() -> None:
    values = exponentials(torch.tensor([[-1.0, 0.0, 1.0]]), 0.01)
    assert values.dtype == torch.float64
    assert values[0].log().tolist() == pytest.approx([-200, -100, 0])
    assert exponentials(torch.tensor([0.5]), 0.07).dtype == torch.float32
