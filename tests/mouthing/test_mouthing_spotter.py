"""The paper's procedure on lips: candidates from subtitles, peaks, labels, vocabulary; and what cannot be asked."""

import numpy as np
import pytest
import torch

from signspot.errors import CheckpointError, OptionsError
from signspot.mouthing.lips import CHANNELS, LipTrack
from signspot.mouthing.mouthing_spotter import (
    MentionWindow,
    MouthingSpotter,
    as_spotting,
    doubt_language,
    doubt_words,
    find_candidates,
    keep_vocabulary,
    mark_mouthed,
    places_to_read,
)
from signspot.mouthing.network import (
    MouthingModel,
    MouthingNetwork,
    NetworkOptions,
    load_mouthing,
    pad_words,
    save_mouthing,
)
from signspot.mouthing.visemes import query
from signspot.types import Label, LabelSource, Segment, Spotting, Subtitle, TimeMeaning


@pytest.fixture(scope="module")
def spotter() -> MouthingSpotter:
    torch.manual_seed(3)
    network = MouthingNetwork(NetworkOptions(width=16, maps=6)).eval()
    for weight in network.parameters():  # norms, too, have no neutral offsets, as after a training
        weight.data += 0.1 * torch.randn_like(weight)
    return MouthingSpotter(MouthingModel("random", network, {}))


@pytest.fixture(scope="module")
def lips() -> LipTrack:
    values = np.random.default_rng(0).normal(0, 1, (600, CHANNELS)).astype(np.float32)
    values[:, -2:] = [1, 0]
    return LipTrack(values)


def test_candidates_are_padded_subtitles_with_the_words_in_any_form():
    subtitles = [Subtitle(1.0, 3.0, "She was walking to town."), Subtitle(20.0, 22.0, "Nothing here.")]
    assert find_candidates(subtitles, ["walk", "apple"], 4.0) == [MentionWindow(Segment(0.0, 7.0), ("walk",))]
    every = find_candidates(subtitles, None, 2.0)
    assert every[0].words == ("was", "walking", "town")  # the others show too little
    assert every[1].window == Segment(18.0, 24.0)


def test_candidates_refuse_what_cannot_be_done():
    with pytest.raises(OptionsError, match="got -1"):
        find_candidates([], None, -1)
    with pytest.raises(OptionsError):
        find_candidates([], ["東京"], 4)
    assert find_candidates([Subtitle(0, 1, "東京 ♪ 東京")], None, 4) == []


def test_subtitles_of_another_language_are_doubted():
    german = [
        Subtitle(0, 1, "Der Bundeskanzler begrüßte gestern zahlreiche Gäste aus verschiedenen Ländern")
        for _ in range(5)
    ]
    english = [Subtitle(0, 1, "the weather will be cold and wet in the north tomorrow morning") for _ in range(5)]
    assert "'en' was asked for" in (doubt_language(german, "en") or "")
    assert "'de' was asked for" in (doubt_language(english, "de") or "")
    assert doubt_language(german, "de") is None
    assert doubt_language(english, "en-GB") is None
    assert doubt_language(german[:2], "en") is None  # too few words to tell


def test_words_that_no_dictionary_knows_are_doubted():
    message = doubt_words(["apple", "Straße", "ice cream", "brœd", "tøj", "grød"], "en-GB")
    assert message is not None
    assert message.startswith("no English dictionary knows 'Straße', 'brœd', 'tøj' …: its pronunciation is guessed")
    assert doubt_words(["Straße"], "de") is None
    assert doubt_words(["apple", "ice-cream"], "en") is None
    assert doubt_words([], "en") is None


def test_a_label_is_the_best_place_of_its_window(spotter, lips):
    window = MentionWindow(Segment(4.0, 14.0), ("apple",))
    curve = spotter.curves(lips.between(4.0, 14.0), ["apple"])[0]
    (label,) = spotter.search(lips, [window], "v.mp4", least=0.0).labels
    assert label.confidence == pytest.approx(float(curve.max()), abs=1e-4)
    assert label.time == pytest.approx(4.0 + 0.08 * int(curve.argmax()))
    assert (label.source, label.at) == (LabelSource.MOUTHING, TimeMeaning.END)
    spotting = as_spotting(label)
    assert spotting.end == label.time
    assert spotting.end - spotting.start == pytest.approx(0.6)
    assert not spotter.search(lips, [window], "v.mp4", least=1.0).labels


def test_a_place_that_two_windows_show_is_one_label(spotter, lips):
    windows = [MentionWindow(Segment(4.0, 14.0), ("apple",)), MentionWindow(Segment(4.0, 14.0), ("apple", "moon"))]
    result = spotter.search(lips, windows, "v.mp4", least=0.0)
    assert sorted(label.word for label in result.labels) == ["apple", "moon"]
    assert result.queries == 3


def test_words_do_not_depend_on_the_words_beside_them(spotter, lips):
    alone = spotter.curves(lips, ["apple"])
    assert np.allclose(spotter.curves(lips, ["extraordinary", "apple"])[1], alone[0], atol=1e-5)


def test_hidden_lips_give_no_label(spotter, lips):
    hidden = LipTrack(np.zeros_like(lips.values))
    result = spotter.search(hidden, [MentionWindow(Segment(0.0, 10.0), ("apple",))], "v.mp4", least=0.0)
    assert (result.labels, result.hidden) == ((), 1)


def test_a_word_that_cannot_be_asked_has_a_reason(spotter, lips):
    result = spotter.search(lips, [MentionWindow(Segment(0.0, 10.0), ("a", "apple"))], "v.mp4", least=0.0)
    assert [label.word for label in result.labels] == ["apple"]
    assert len(result.unasked) == 1
    assert "one mouth shape" in result.unasked[0]


def test_windows_beyond_the_video_are_skipped(spotter, lips):
    assert spotter.search(lips, [MentionWindow(Segment(100.0, 110.0), ("apple",))], "v.mp4", least=0.0).queries == 0
    with pytest.raises(OptionsError, match="got 2"):
        spotter.search(lips, [], "v.mp4", least=2)


def test_the_vocabulary_keeps_words_that_were_sure_once():
    labels = [Label("apple", "v", 1, 0.55), Label("apple", "w", 2, 0.8), Label("moon", "v", 3, 0.79)]
    assert keep_vocabulary(labels) == labels[:2]
    assert keep_vocabulary(labels, 0.0) == labels


def test_calibration_changes_probabilities_and_not_places(lips):
    torch.manual_seed(0)
    network = MouthingNetwork(NetworkOptions(width=16, maps=6)).eval()
    values, words = torch.from_numpy(lips.values[None, :100]), pad_words([query("apple")])
    before = network(values, words)
    network.scale.copy_(torch.tensor([2.0, -1.0]))
    after = network(values, words)
    assert before.shape == (1, 50)
    assert torch.allclose(after.logit(), 2 * before.logit() - 1, atol=1e-3)


def test_weights_come_back_and_damage_is_named(spotter, lips, tmp_path):
    save_mouthing(spotter.model, tmp_path / "m.safetensors")
    again = MouthingSpotter(load_mouthing(tmp_path / "m.safetensors"))
    assert np.allclose(again.curves(lips, ["apple"]), spotter.curves(lips, ["apple"]), atol=5e-3)
    with pytest.raises(CheckpointError):
        load_mouthing("nowhere.safetensors")
    content = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError):
        load_mouthing(tmp_path / "cut.safetensors")
    (tmp_path / "old.safetensors").write_bytes(content.replace(b'\\"lips_version\\": 1', b'\\"lips_version\\": 0'))
    with pytest.raises(CheckpointError):
        load_mouthing(tmp_path / "old.safetensors")
    with pytest.raises(CheckpointError):
        load_mouthing("signspot/models/weights/warping.safetensors")


APPLE = Spotting("apple", "v.mp4", 5.0, 4.8, 5.2, 0.9)


def marks(*mouthings: Label) -> list[float | None]:
    return [spotting.mouthed for spotting in mark_mouthed([APPLE], mouthings)]


def test_the_same_word_at_the_same_place_agrees():
    assert marks(Label("apple", "v", 5.3, 0.7)) == [0.7]
    assert marks(Label("apple", "v", 4.8, 0.7), Label("apple", "v", 5.6, 0.9)) == [0.9]  # from the start to 0.4 s after
    assert marks(Label("apple", "v", 5.61, 0.9)) == [None]
    assert marks(Label("apple", "v", 4.79, 0.9)) == [None]
    assert marks(Label("moon", "v", 5.0, 0.9)) == [None]
    assert marks() == [None]


def test_lips_are_read_around_each_spotting():
    early = Spotting("moon", "v.mp4", 0.5, 0.3, 0.7, 0.9)
    (one, other) = places_to_read([APPLE, early])
    assert one.words == ("apple",)
    assert (one.window.start, one.window.end) == (pytest.approx(3.8), pytest.approx(6.6))
    assert other.window.start == 0.0
