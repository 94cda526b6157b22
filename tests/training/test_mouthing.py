"""Training of the mouthing spotter: batches, distortions, the loss, the task from a corpus to a calibrated spotter."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import MouthingTruth
from signspot.errors import OptionsError
from signspot.mouthing.lips import CHANNELS, FPS, SHAPES, LipTrack
from signspot.mouthing.network import STEP, MouthingNetwork, NetworkOptions, TemplateMatcher, load_mouthing
from signspot.mouthing.trials import LipClip, read_vocabulary
from signspot.mouthing.visemes import VISEMES, of_phonemes, visemes_of
from signspot.training.configuration import Compute
from signspot.training.loop import train
from signspot.training.mouthing import (
    UNKNOWN,
    LipBatches,
    MouthingConfig,
    MouthingOptimiser,
    MouthingTask,
    distort,
    measured_distortions,
    mouthing_loss,
    train_mouthing,
)

SMALL = MouthingConfig(
    optimiser=MouthingOptimiser(steps=4, windows=3, queries=2, frames=60),
    network=NetworkOptions(width=16, heads=2, maps=4),
)


@pytest.fixture(scope="module")
def vocabulary():
    return read_vocabulary(unseen=False)


def test_batches_mark_where_words_end(vocabulary, lip_clips):
    batches = LipBatches(lip_clips, vocabulary, vocabulary.visemes, SMALL.optimiser, 0)
    batch, again = batches[1], batches[1]
    assert torch.equal(batch.lips, again.lips)
    assert batch.ends.shape == (6, 30)
    assert torch.equal(batch.ends.sum(dim=1) + batch.nowhere.sum(dim=1), torch.ones(6))
    assert 0 < batch.ends.sum() < 6


def test_the_loss_by_hand(vocabulary, lip_clips):
    """A network that says 0 everywhere takes every step and "not at all", every viseme and none, for equally likely."""
    batch = LipBatches(lip_clips, vocabulary, vocabulary.visemes, SMALL.optimiser, 0)[0]
    network = MouthingNetwork(SMALL.network)
    torch.nn.init.zeros_(network.last.weight)
    torch.nn.init.zeros_(network.last.bias)
    torch.nn.init.zeros_(network.shapes.weight)
    torch.nn.init.zeros_(network.shapes.bias)
    assert mouthing_loss(network, batch, 0.0).item() == pytest.approx(np.log(31), abs=1e-4)
    expected = np.log(31) + 0.5 * np.log(len(VISEMES) + 1)
    assert mouthing_loss(network, batch, 0.5).item() == pytest.approx(expected, abs=1e-4)


def test_visemes_stand_where_words_are_mouthed_and_are_unknown_where_labels_are_sparse(vocabulary, lip_clips):
    word = MouthingTruth("v", "mama", 1.0, 2.0, ("M", "AA1", "M", "AH0"))
    lips = LipTrack(np.ones((SMALL.optimiser.frames, CHANNELS), np.float32))
    how, visemes = replace(SMALL.optimiser, windows=1), {"mama": visemes_of("mama")}
    dense, sparse = (
        LipBatches([LipClip(lips, (word,), complete)], vocabulary, visemes, how, 0)[0] for complete in (True, False)
    )
    times = np.arange(dense.shapes.shape[1]) * STEP / FPS
    expected = [VISEMES.index(shape) for shape in of_phonemes(word.phonemes)]
    inside = (times >= 1.0) & (times < 2.0)
    shapes = dense.shapes[0].numpy()
    assert list(dict.fromkeys(shapes[inside].tolist())) == list(dict.fromkeys(expected))
    assert set(shapes[~inside].tolist()) == {len(VISEMES)}
    assert set(sparse.shapes[0].numpy()[~inside].tolist()) == {UNKNOWN}
    assert np.array_equal(sparse.shapes[0].numpy()[inside], shapes[inside])


def test_distorted_lips_keep_their_opening_and_lose_what_videos_lose(lip_clips):
    values, random = lip_clips[0].lips.values, np.random.default_rng(0)
    distorted = [distort(values, random) for _ in range(20)]
    visible = values[:, -2] > 0
    at = {name: SHAPES.index(name) for name in ("opening", "width", "protrusion")}
    alike = {
        name: np.mean([np.corrcoef(values[visible, channel], changed[visible, channel])[0, 1] for changed in distorted])
        for name, channel in at.items()
    }
    assert alike["opening"] > alike["width"] > alike["protrusion"]
    assert all(np.array_equal(changed[:, -2:], values[:, -2:]) for changed in distorted)
    assert not any(changed[~visible, :-2].any() for changed in distorted)


def test_errors_in_video_are_shared_by_shapes_between_the_same_points():
    """What one shape says wrongly its neighbour says, too: no average of both mends it."""
    opening, beside = SHAPES.index("opening"), SHAPES.index("opening_beside")
    for video in measured_distortions():
        size = np.sqrt(np.diag(video.covariance))
        assert video.covariance[opening, beside] / size[opening] / size[beside] > 0.95
        assert 0.3 < video.memory < 0.95


def test_a_share_of_the_windows_is_distorted_and_words_stay_as_they_were(vocabulary, lip_clips):
    how = replace(SMALL.optimiser, windows=20)
    plain, all_distorted = (
        LipBatches(lip_clips, vocabulary, vocabulary.visemes, replace(how, distorted=share), 0) for share in (0.0, 1.0)
    )
    originals = {clip.lips.values[first : first + how.frames].tobytes() for clip in lip_clips for first in range(250)}
    assert all(lips.numpy().tobytes() in originals for lips in plain[0].lips)
    assert not any(lips.numpy().tobytes() in originals for lips in all_distorted[0].lips)
    some = LipBatches(lip_clips, vocabulary, vocabulary.visemes, replace(how, distorted=0.5), 0)[0]
    assert 3 <= sum(lips.numpy().tobytes() in originals for lips in some.lips) <= 17
    assert torch.equal(some.ends.sum(dim=1) + some.nowhere.sum(dim=1), torch.ones(40))


def test_a_spotter_is_trained_and_calibrated_by_a_corpus(lips_corpus: Corpus, mouthing_file, tmp_path):
    config = replace(SMALL, seed=3, licence="CC0-1.0")
    model = train_mouthing(config, lips_corpus, tmp_path, command="signspot train")
    assert model.card["metrics"]["calibration"]["trials"] == 8
    assert model.network.scale.tolist() != [1.0, 0.0]
    again = train_mouthing(config, lips_corpus, tmp_path)  # the state is there: nothing is learned anew
    assert again.hash == model.hash
    templates = train_mouthing(replace(config, matcher="templates"), lips_corpus, tmp_path / "templates")
    assert isinstance(templates.network, TemplateMatcher)
    assert not (tmp_path / "templates").exists()


def test_a_training_starts_with_the_weights_of_another_spotter(vocabulary, lip_clips, mouthing_file, tmp_path):
    network = load_mouthing(mouthing_file).network
    still = replace(SMALL.optimiser, steps=1, lr=1e-12, weight_decay=0.0)
    config = replace(SMALL, start=str(mouthing_file), network=network.options, optimiser=still)
    learned = train(MouthingTask(config, lip_clips, vocabulary), tmp_path / "started").module
    for name, value in network.state_dict().items():
        assert torch.allclose(learned.state_dict()[name], value, atol=1e-6), name
    other = replace(config, network=replace(network.options, maps=network.options.maps + 1))
    with pytest.raises(OptionsError, match=f"maps={network.options.maps + 1}"):
        MouthingTask(other, lip_clips, vocabulary)
    with pytest.raises(OptionsError, match="'guess'"):
        replace(SMALL, matcher="guess")


def test_the_best_weights_are_chosen_on_lips_that_are_not_learned_from(vocabulary, lip_clips, tmp_path):
    config = replace(SMALL, compute=Compute(validate_every=2))
    task = MouthingTask(config, lip_clips[1:], vocabulary, lip_clips[:1])
    result = train(task, tmp_path)
    lines = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    measured = [line["log likelihood"] for line in lines if line["event"] == "validated"]
    assert len(measured) == 2
    assert result.validation["log likelihood"] == max(measured)
    with torch.no_grad():
        assert task.validate(result.module) == result.validation
        swapped = MouthingTask(config, lip_clips[:1], vocabulary, lip_clips[1:])
        assert swapped.validate(result.module) != result.validation
