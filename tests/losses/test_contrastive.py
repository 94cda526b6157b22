"""Contrastive losses on embeddings at named angles, their values worked out here."""

from math import cos, exp, log, radians, sin

import pytest
import torch

from signspot.losses.contrastive import by_word, exponentials, mil_nce, supervised_contrastive


def at(*degrees: float) -> torch.Tensor:
    return torch.tensor([[cos(radians(angle)), sin(radians(angle))] for angle in degrees], dtype=torch.float64)


def loss(
    embeddings: torch.Tensor, *signs: int, repelled: torch.Tensor | None = None, temperature: float = 1.0
) -> float:
    return float(supervised_contrastive(embeddings, torch.tensor(signs), temperature, repelled))


FIRST = log(1 + exp(-1))  # of an anchor at 0°: its positive has cosine 0, the negative -1
SECOND = log(2)  # of the anchor at 90°: both have cosine 0


def test_each_anchor_compares_its_positive_with_the_negatives() -> None:
    """0° and 90° are one sign, 180° is another, which is alone and so no anchor."""
    assert loss(at(0, 90, 180), 0, 0, 1) == pytest.approx((FIRST + SECOND) / 2)


def test_a_temperature_stretches_similarities() -> None:
    assert loss(at(0, 90, 180), 0, 0, 1, temperature=0.5) == pytest.approx((log(1 + exp(-2)) + SECOND) / 2)


def test_several_positives_are_averaged_and_share_the_denominator() -> None:
    assert loss(at(0, 90, 180), 0, 0, 0) == pytest.approx((2 * (FIRST + 0.5) + SECOND) / 3)


def test_what_is_no_sign_repels_and_is_never_an_anchor() -> None:
    """Two of them at one place are neither positives nor anchors; each is a negative of the others."""
    both = (log(1 + 2 * exp(-1)) + log(3)) / 2
    assert loss(at(0, 90, 180, 180), 0, 0, -1, -1) == pytest.approx(both)
    assert loss(at(180, 180), -1, -1) == 0


def test_pairs_that_are_not_repelled_do_not_count() -> None:
    nobody = torch.zeros(3, 3, dtype=torch.bool)
    assert loss(at(0, 90, 180), 0, 0, 1, repelled=nobody) == pytest.approx(0)
    second = nobody.clone()
    second[1, 2] = True
    assert loss(at(0, 90, 180), 0, 0, 1, repelled=second) == pytest.approx(SECOND / 2)
    everybody = ~nobody  # two of one sign never repel
    assert loss(at(0, 90, 180), 0, 0, 1, repelled=everybody) == pytest.approx((FIRST + SECOND) / 2)


def test_without_positives_there_is_nothing_to_learn() -> None:
    embeddings = at(0, 90).requires_grad_()
    value = supervised_contrastive(embeddings, torch.tensor([0, 1]))
    value.backward()
    assert value.item() == 0
    assert embeddings.grad is not None
    assert not embeddings.grad.any()


def test_a_step_downhill_brings_one_sign_together() -> None:
    embeddings = at(0, 90, 180).requires_grad_()
    supervised_contrastive(embeddings, torch.tensor([0, 0, 1]), 1.0).backward()
    assert embeddings.grad is not None
    moved = torch.nn.functional.normalize((embeddings - 0.1 * embeddings.grad).detach(), dim=1)
    assert moved[0] @ moved[1] > 0
    assert moved[1] @ moved[2] < 0


def test_bags_are_summed_by_word_and_empty_ones_left_out() -> None:
    values = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert by_word(values, torch.tensor([0, 1, 0]), 3).tolist() == [[4, 2, 0], [10, 5, 0]]
    found = mil_nce(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([2.0, 8.0, 5.0]))
    assert found.item() == pytest.approx((log(2) + log(4)) / 2)
    assert mil_nce(torch.zeros(2), torch.ones(2)).item() == 0


def test_a_very_low_temperature_does_not_underflow() -> None:
    values = exponentials(torch.tensor([[-1.0, 0.0, 1.0]]), 0.01)
    assert values.dtype == torch.float64
    assert values[0].log().tolist() == pytest.approx([-200, -100, 0])
    assert exponentials(torch.tensor([0.5]), 0.07).dtype == torch.float32
