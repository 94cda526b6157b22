import pytest

from signspot.errors import OptionsError
from signspot.models.registry import build


@pytest.mark.parametrize("architecture", ["i3d", "landmark", "s3d"])
def test_a_network_can_be_built_again_from_its_options(architecture):
    first = build(architecture, dimension=128, frames=8)
    second = build(first.architecture, **first.options)
    assert {k: v.shape for k, v in first.state_dict().items()} == {k: v.shape for k, v in second.state_dict().items()}
    assert first.contract() == second.contract()
    assert (first.contract().dimension, first.contract().frames) == (128, 8)


def test_an_unknown_architecture_names_the_known_ones():
    with pytest.raises(OptionsError, match="'resnet'"):
        build("resnet")


@pytest.mark.parametrize(("architecture", "option"), [("landmark", "widht"), ("i3d", "gating")])
def test_an_unknown_option_is_named(architecture, option):
    with pytest.raises(OptionsError, match=f"'{option}'"):
        build(architecture, **{option: 3})


@pytest.mark.parametrize("name", ["hand_width", "part_width", "width", "last_width", "hidden", "dimension"])
def test_no_layer_is_empty(name):
    """Torch would build one, with a warning of its own."""
    with pytest.raises(OptionsError, match=name):
        build("landmark", **{name: 0})
