import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from signspot.errors import OptionsError
from signspot.models.mlp import DomainMlp, EmbeddingMlp, MlpOptions, UnitNorm, build_mlp

PUBLIC = MlpOptions(mlp_classes=1064)


def test_has_the_public_number_of_parameters():
    assert sum(p.numel() for p in EmbeddingMlp(options=PUBLIC).parameters()) == 1_979_176


def test_a_point_worked_by_hand():
    mlp = EmbeddingMlp(2, MlpOptions(dimension=2, hidden=2))
    with torch.no_grad():
        for layer in (mlp.res[0], mlp.adaptor[0], mlp.adaptor[2]):
            layer.weight.copy_(torch.eye(2))
            layer.bias.zero_()
    # (3, -10): residual gives (3 + 3, -10 - 2) = (6, -12); two leaky layers give (6, -2.4), then (6, -0.48).
    length = math.hypot(6, 0.48)
    assert mlp(torch.tensor([3.0, -10.0])).tolist() == pytest.approx([6 / length, -0.48 / length])


@settings(max_examples=8)
@given(leading=st.lists(st.integers(1, 3), max_size=3), seed=st.integers(0, 99))
def test_gives_unit_norm_for_any_leading_axes(leading, seed):
    x = torch.randn(*leading, 1024, generator=torch.Generator().manual_seed(seed))
    embeddings = EmbeddingMlp()(x)
    assert embeddings.shape == (*leading, 256)
    torch.testing.assert_close(embeddings.norm(dim=-1), torch.ones(leading))


def test_domains_have_layers_of_their_own():
    mlp, x = DomainMlp(), torch.randn(2, 1024)
    assert not torch.allclose(mlp(x, "continuous"), mlp(x, "dictionary"))
    assert torch.equal(mlp(x), mlp(x, "continuous"))
    mlp(x, "dictionary").sum().backward()
    assert mlp.domains["continuous"].res[0].weight.grad is None
    assert mlp.domains["dictionary"].res[0].weight.grad.abs().sum() > 0


def test_an_unknown_domain_names_the_known_ones():
    with pytest.raises(OptionsError, match="'studio'"):
        DomainMlp()(torch.randn(1, 1024), "studio")


def test_options_choose_the_kind():
    assert isinstance(build_mlp(8, MlpOptions()), EmbeddingMlp)
    assert isinstance(build_mlp(8, MlpOptions(domain_specific=True)), DomainMlp)
    norm = build_mlp(2, MlpOptions(mlp=False))
    assert isinstance(norm, UnitNorm)
    assert norm.dimension == 2
    assert norm(torch.tensor([3.0, -4.0])).tolist() == pytest.approx([0.6, -0.8])
