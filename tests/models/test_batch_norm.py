import copy

import pytest
import torch
from torch import nn

from signspot.errors import OptionsError
from signspot.models.batch_norm import (
    DomainBatchNorm,
    check_domain,
    features_by_domain,
    make_domain_specific,
    reinitialise_batch_norm,
    use_domain,
)


@pytest.fixture
def network():
    layers = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, eps=1e-3, momentum=0.01))
    with torch.no_grad():
        for value in (layers[1].weight, layers[1].bias, layers[1].running_mean, layers[1].running_var):
            value.fill_(5.0)
    return layers


def test_reinitialisation_forgets_statistics_scale_and_shift_and_nothing_else(network):
    linear = network[0].weight.clone()
    network[1].num_batches_tracked.fill_(9)
    assert reinitialise_batch_norm(network) == 1
    norm = network[1]
    assert norm.running_mean.tolist() == norm.bias.tolist() == [0.0] * 3
    assert norm.running_var.tolist() == norm.weight.tolist() == [1.0] * 3
    assert norm.num_batches_tracked == 0
    assert torch.equal(network[0].weight, linear)


def test_domains_start_as_copies_and_then_part(network):
    x = torch.randn(16, 2)
    before = copy.deepcopy(network).eval()(x)
    assert make_domain_specific(network) == 1
    for domain in ("continuous", "dictionary"):
        with use_domain(network, domain):
            torch.testing.assert_close(network.eval()(x), before)
    with use_domain(network.train(), "dictionary"):
        network(x)
    norms = network[1].norms
    assert norms["continuous"].running_mean.tolist() == [5.0] * 3
    assert norms["dictionary"].running_mean.tolist() != [5.0] * 3
    assert norms["dictionary"].eps == 1e-3
    assert norms["dictionary"].momentum == 0.01


def test_making_domains_twice_changes_nothing(network):
    make_domain_specific(network)
    assert make_domain_specific(network) == 0
    assert sum(isinstance(part, DomainBatchNorm) for part in network.modules()) == 1


def test_the_domain_before_returns_even_after_an_error(network):
    make_domain_specific(network)
    with pytest.raises(RuntimeError), use_domain(network, "dictionary"):
        assert network[1].domain == "dictionary"
        raise RuntimeError
    assert network[1].domain == "continuous"


def test_domains_are_reinitialised_too(network):
    make_domain_specific(network)
    assert reinitialise_batch_norm(network) == 2


def test_an_unknown_domain_is_refused():
    with pytest.raises(OptionsError, match="'news'"):
        check_domain("news")


def test_clips_of_both_domains_are_each_normalised_as_their_own(network):
    make_domain_specific(network)
    network.eval()
    with torch.no_grad():
        network[1].norms["dictionary"].bias.add_(100.0)
    clips, dictionary = torch.randn(4, 2), torch.tensor([True, False, False, True])
    features = features_by_domain(network, clips, dictionary)
    assert (features[dictionary] > 50).all()
    assert (features[~dictionary] < 50).all()
    assert torch.equal(features[~dictionary], network(clips[~dictionary]))
    assert torch.equal(features_by_domain(network, clips, torch.zeros(4, dtype=torch.bool)), network(clips))
