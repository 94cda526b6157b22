"""The matcher that learns nothing: words are sequences of hand-written shapes, behind the contract of the network."""

import numpy as np
import pytest
import torch

from signspot.errors import CheckpointError, OptionsError
from signspot.mouthing.lips import CHANNELS, SHAPES, LipTrack
from signspot.mouthing.mouthing_spotter import MentionWindow, MouthingSpotter
from signspot.mouthing.network import MouthingModel, TemplateMatcher, TemplateOptions, load_mouthing, save_mouthing
from signspot.types import Segment


@pytest.fixture(scope="module")
def spotter() -> MouthingSpotter:
    return MouthingSpotter(MouthingModel("templates", TemplateMatcher().eval(), {}))


def mouth(*shapes: tuple[str, float, int], count: int = 250, start: int = 100) -> LipTrack:
    """Lips at rest that take shapes of some frames one after the other."""
    values = np.zeros((count, CHANNELS), np.float32)
    values[:, -2] = 1
    at = start
    for name, value, frames in shapes:
        values[at : at + frames, SHAPES.index(name)] = value
        at += frames
    return LipTrack(values)


def test_a_word_is_found_where_its_shapes_follow_each_other(spotter):
    """Lips pressed, then opened wide: "pa" ends there; backwards it is less sure, and at rest least."""
    forwards = mouth(("upper_lip", -1.0, 4), ("opening", 3.0, 4))
    backwards = mouth(("opening", 3.0, 4), ("upper_lip", -1.0, 4))
    window = MentionWindow(Segment(0.0, 9.9), ("pa",))
    (label,) = spotter.search(forwards, [window], "v", least=0.0).labels
    (other,) = spotter.search(backwards, [window], "v", least=0.0).labels
    (still,) = spotter.search(mouth(), [window], "v", least=0.0).labels
    assert label.time == pytest.approx((100 + 8) / 25, abs=0.09)
    assert label.confidence > other.confidence > still.confidence


def test_larger_movements_of_a_clearer_speaker_are_the_same(spotter):
    lips = mouth(("upper_lip", -1.0, 4), ("opening", 3.0, 4))
    twice = LipTrack(lips.values * np.array([2.0] * len(SHAPES) + [1.0, 1.0], np.float32))
    assert np.allclose(spotter.curves(lips, ["pa"]), spotter.curves(twice, ["pa"]), atol=1e-5)


def test_words_do_not_depend_on_the_words_beside_them_nor_on_hidden_lips(spotter):
    values = np.random.default_rng(0).normal(0, 1, (200, CHANNELS)).astype(np.float32)
    values[:, -2:] = [1, 0]
    alone = spotter.curves(LipTrack(values), ["apple"])
    assert alone.shape == (1, 100)
    assert np.allclose(spotter.curves(LipTrack(values), ["extraordinary", "apple"])[1], alone[0], atol=1e-5)
    hidden = spotter.search(
        LipTrack(np.zeros_like(values)), [MentionWindow(Segment(0.0, 8.0), ("apple",))], "v", least=0.0
    )
    assert (hidden.labels, hidden.hidden) == ((), 1)


def test_it_goes_through_the_same_files(spotter, tmp_path):
    path = tmp_path / "t.safetensors"
    model = MouthingModel("t", TemplateMatcher(TemplateOptions(longest=3)).eval(), {"licence": "CC0-1.0"})
    model.network.scale.copy_(torch.tensor([0.5, -1.5]))
    save_mouthing(model, path)
    again = load_mouthing(path)
    assert isinstance(again.network, TemplateMatcher)
    assert (again.network.options, again.network.scale.tolist()) == (TemplateOptions(3), [0.5, -1.5])
    assert again.hash == model.hash != spotter.model.hash
    content = path.read_bytes()
    assert b'\\"templates\\"' in content
    (tmp_path / "bad.safetensors").write_bytes(content.replace(b'\\"templates\\"', b'\\"Templates\\"'))
    with pytest.raises(CheckpointError):
        load_mouthing(tmp_path / "bad.safetensors")
    with pytest.raises(OptionsError, match="25"):
        TemplateOptions(longest=0)
