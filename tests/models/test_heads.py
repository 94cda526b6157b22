import torch

from signspot.models.inception import ClassifierHead


def test_is_one_linear_layer_whatever_the_leading_axes():
    head = ClassifierHead(2, 3).eval()
    with torch.no_grad():
        head.conv3d.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).reshape(3, 2, 1, 1, 1))
        head.conv3d.bias.copy_(torch.tensor([0.0, 10.0, 0.0]))
    features = torch.tensor([[[3.0, 4.0]], [[1.0, -1.0]]])
    assert head(features).tolist() == [[[3.0, 14.0, 7.0]], [[1.0, 9.0, 0.0]]]


def test_drops_features_only_in_training():
    head, features = ClassifierHead(64, 8), torch.ones(1, 64)
    assert not torch.equal(head.train()(features), head(features))
    assert torch.equal(head.eval()(features), head(features))
