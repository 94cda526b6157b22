import pytest
import torch

from signspot.errors import CheckpointError
from signspot.models.checkpoints import recognise, to_ours, to_public, without_wrappers


def test_module_is_dropped_wherever_it_stands():
    one = torch.ones(1)
    state = {"module.i3d.a.weight": one, "i3d.module.b": one, "module.module.c": one, "modules.d": one}
    assert list(without_wrappers(state)) == ["i3d.a.weight", "i3d.b", "c", "modules.d"]


def test_the_combined_network_is_told_by_its_keys(public_pair):
    options, prefix = recognise(public_pair, "w.pth")
    assert options == {"classes": 1064, "hidden": 512, "dimension": 256, "mlp_classes": 1064}
    assert to_ours("i3d.Conv3d_1a_7x7.bn.bias", prefix) == "trunk.Conv3d_1a_7x7.bn.bias"
    assert to_ours("mlp.res.0.weight", prefix) == "mlp.res.0.weight"
    assert [to_public(to_ours(name, prefix), prefix) for name in public_pair] == list(public_pair)


def test_i3d_alone_is_told_by_its_keys(public_i3d):
    options, prefix = recognise(public_i3d, "w.pth")
    assert options == {"classes": 1064, "mlp": False}
    assert to_ours("logits.conv3d.bias", prefix) == "trunk.logits.conv3d.bias"
    assert [to_public(to_ours(name, prefix), prefix) for name in public_i3d] == list(public_i3d)


def test_widths_are_read_from_the_weights(public_i3d):
    state = {f"i3d.{k}": v for k, v in public_i3d.items() if not k.startswith("logits")}
    state |= {"mlp.res.0.weight": torch.ones(1024, 1024), "mlp.adaptor.0.weight": torch.ones(300, 1024)}
    state |= {"mlp.adaptor.2.weight": torch.ones(100, 300)}
    options, _ = recognise(state, "w.pth")
    assert options == {"classes": None, "hidden": 300, "dimension": 100, "mlp_classes": None}


def test_an_mlp_alone_is_not_enough(public_mlp):
    for prefix in ("", "mlp."):
        with pytest.raises(CheckpointError, match="only the embedding MLP"):
            recognise({prefix + name: value for name, value in public_mlp.items()}, "w.pth")


def test_another_network_is_named_by_its_keys():
    with pytest.raises(CheckpointError, match=r"layer1\.weight \.\.\. \(1 keys\)"):
        recognise({"layer1.weight": torch.ones(1)}, "resnet.pth")
