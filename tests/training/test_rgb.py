"""An RGB trunk: images are decoded once, batches are balanced; it learns, resumes to the same weights, stops."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.embedding.inputs import sign_frames
from signspot.errors import CheckpointError, OptionsError
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot.training.items import find_training_subset
from signspot.training.rgb import RgbTask, batch_loss, initial_trunk, start_from, train_rgb_on_corpus
from signspot.training.rgb_clips import (
    ImageStore,
    RgbAugmentation,
    RgbBatches,
    RgbBatchOptions,
    RgbConfig,
    RgbSigns,
    SignReader,
    augmented,
    collect_rgb_signs,
    plain,
    with_targets,
)
from signspot.training.run_folder import Run
from signspot.training.trunk_features import TrunkFeatures, VideoExemplars, WindowFeatures, trunk_features
from signspot.types import Exemplar, Grid
from signspot.video.clips import squash_and_crop
from signspot.video.reader import open_video
from tests.fixtures import filmed

CONFIG = RgbConfig(
    model={"frames": 6, "image_size": 32, "width": 0.06},
    fps=12.5,
    epochs=2,
    optimiser="adam",
    lr=3e-3,
    batch=RgbBatchOptions(clips=8, before=9, after=3),
    augmentation=RgbAugmentation(flip=0.5, scale=0.05, shift=0.2, brightness=0.05, contrast=0.05, saturation=0),
)


def test_stretches_are_the_pictures_before_each_label(rgb_corpus: Corpus, rgb_signs: RgbSigns) -> None:
    assert rgb_signs.words == filmed.WORDS
    assert (len(rgb_signs.continuous), len(rgb_signs.dictionary)) == (27, 6)
    label = rgb_corpus.labels(["train-1"])[4]
    sign = next(
        s for s in rgb_signs.continuous if s.source == "train-1" and s.start == pytest.approx(label.time - 9 / 25)
    )
    assert rgb_signs.words[sign.word] == label.word
    path = rgb_corpus.videos["train-1"].video
    assert path is not None
    with open_video(path) as video:
        frames = [squash_and_crop(frame.image, 32) for frame in video.resampled(12.5)]
    first = round(sign.start * 12.5)
    shown = np.stack(frames[first : first + 6], axis=1)
    np.testing.assert_array_equal(plain(sign.images, 32), shown)  # as the pipeline cuts it


def test_no_video_is_decoded_twice(
    rgb_corpus: Corpus, rgb_signs: RgbSigns, reader: SignReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.training.rgb_clips.open_video", lambda *_: pytest.fail("decoded again"))
    again = collect_rgb_signs(find_training_subset(rgb_corpus, filmed=True), reader)
    assert np.array_equal(again.continuous[5].images, rgb_signs.continuous[5].images)


def test_a_label_at_the_very_end_repeats_the_last_picture(rgb_corpus: Corpus, tmp_path: Path) -> None:
    path = rgb_corpus.videos["test-1"].video
    assert path is not None
    with open_video(path) as video:
        length = sum(1 for _ in video.resampled(12.5))
    cut = ImageStore(tmp_path, 12.5, 32).segments(path, [(length - 2) / 12.5, 99.0], 4)
    assert np.array_equal(cut[0, 1], cut[0, 3])
    assert np.array_equal(cut[0, 1], cut[1, 0])
    assert np.array_equal(cut[1, 0], cut[1, 3])


def test_batches_are_balanced_and_follow_from_their_number(rgb_signs: RgbSigns) -> None:
    batches = RgbBatches(rgb_signs, replace(CONFIG, batch=replace(CONFIG.batch, clips=12)), 6, 32)
    batch = batches[3]
    assert batch.clips.shape == (12, 3, 6, 32, 32)
    assert Counter(batch.words[:6].tolist()) == Counter(batch.words[6:].tolist()) == {0: 2, 1: 2, 2: 2}
    assert torch.equal(batch.clips, batches[3].clips)
    assert not torch.equal(batch.clips, batches[4].clips)
    assert len(batches) == 5  # 27 labels, 6 a batch
    alone = RgbBatches(rgb_signs, replace(CONFIG, epochs=4, continuous_only_fraction=0.5), 6, 32)
    assert [alone.of_dictionary(epoch) for epoch in range(4)] == [0, 0, 4, 4]


def test_domain_specific_batch_norms_of_both_domains_get_a_gradient(rgb_signs: RgbSigns) -> None:
    module = initial_trunk(replace(CONFIG, model={**CONFIG.model, "domain_norm": True}), len(rgb_signs.words)).train()
    batch_loss(module, RgbBatches(rgb_signs, CONFIG, 6, 32)[0], 0.0)[0].backward()
    of_dictionary = {name: weight.grad for name, weight in module.named_parameters() if ".dictionary." in name}
    assert len(of_dictionary) == 114
    assert not [name for name, gradient in of_dictionary.items() if gradient is None or not gradient.any()]


def test_augmentation_changes_a_clip_in_its_own_way(rgb_signs: RgbSigns) -> None:
    images, nothing = rgb_signs.continuous[0].images[:6], RgbAugmentation(0, 0, 0, 0, 0, 0)
    still = augmented(images, 32, nothing, np.random.default_rng(0))
    np.testing.assert_allclose(still, plain(images, 32), atol=0.01)
    mirrored = augmented(images, 32, replace(nothing, flip=1.0), np.random.default_rng(0))
    np.testing.assert_allclose(mirrored, still[..., ::-1], atol=1e-6)
    brighter = augmented(images, 32, replace(nothing, brightness=0.2), np.random.default_rng(0))
    shift = brighter - still
    assert np.ptp(shift) < 1e-5
    assert 0 < abs(shift.mean()) <= 0.2
    moved = augmented(images, 32, replace(nothing, scale=0.1, shift=1.0), np.random.default_rng(1))
    assert np.abs(moved - still).max() > 0.3


def test_it_learns_and_says_so_on_held_out_clips(rgb_corpus: Corpus, images: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=8, decays=(0.8,))
    encoder, tested = train_rgb_on_corpus(config, rgb_corpus, Run(tmp_path, images, "signspot train"))
    losses = encoder.card["metrics"]["loss_by_epoch"]
    assert len(losses) == 8
    assert losses[-1] < 0.6 * losses[0]
    assert tested is not None
    assert (tested.clips, tested.words) == (9, 3)
    assert tested.top_1 > 0.6  # chance is a third
    assert encoder.contract.fps == 12.5
    assert (tmp_path / "curve.png").stat().st_size > 1000
    save_encoder(encoder, tmp_path / "rgb.safetensors")
    assert load_encoder(tmp_path / "rgb.safetensors").hash == encoder.hash


def test_a_start_must_fit_and_its_batch_norms_start_anew(rgb_corpus: Corpus, images: Path, tmp_path: Path) -> None:
    module = initial_trunk(CONFIG, 7)
    with pytest.raises(CheckpointError, match="'s3d' instead of 'i3d'"):
        start_from(module, make_encoder("other", build("s3d", **CONFIG.model, mlp=False)))
    with pytest.raises(CheckpointError, match="Conv3d_1a_7x7"):
        start_from(module, make_encoder("other", build("i3d", frames=6, image_size=32, width=0.2, mlp=False)))
    fitting = make_encoder("first", initial_trunk(replace(CONFIG, seed=9), 5))
    start_from(module, fitting)
    name = "Conv3d_1a_7x7.conv3d.weight"
    assert torch.equal(module.trunk.state_dict()[name], fitting.module.trunk.state_dict()[name])
    assert module.trunk.state_dict()["logits.conv3d.bias"].shape == (7,)
    short = replace(CONFIG, epochs=1)
    fresh, _ = train_rgb_on_corpus(short, rgb_corpus, Run(tmp_path / "fresh", images))
    tuned, _ = train_rgb_on_corpus(short, rgb_corpus, Run(tmp_path / "tuned", images), fitting)
    assert tuned.hash != fresh.hash


def test_distillation_draws_the_embedding_towards_the_teachers(rgb_signs: RgbSigns, reader: SignReader) -> None:
    torch.manual_seed(0)
    small = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 12}
    teacher = make_encoder("teacher", build("landmark", dimension=8, **small))
    random = np.random.default_rng(0)
    grid = Grid(25.0, 16, 1, 200)
    videos = {
        name: WindowFeatures(random.normal(size=(185, 12)).astype(np.float16), grid) for name in ("train-1", "train-2")
    }
    videos["train-3"] = videos["train-1"]
    exemplars = tuple(Exemplar(sign.source[:-2], sign.source) for sign in rgb_signs.dictionary)
    clips = random.normal(size=(6, 3, 12)).astype(np.float16)
    taught = with_targets(rgb_signs, teacher, TrunkFeatures("t", videos, exemplars, clips), reader)
    sign = taught.continuous[0]
    assert sign.target is not None
    assert sign.target.shape == (len(sign.images) - 5, 8)
    nearest = grid.nearest(sign.start + 3 / 12.5)
    with torch.inference_mode():
        wanted = teacher.module.mlp(torch.from_numpy(videos[sign.source].features[nearest].astype(np.float32))[None])
    np.testing.assert_allclose(sign.target[0], wanted[0], atol=1e-6)
    module = initial_trunk(CONFIG, 3, teacher).train()
    batch = RgbBatches(taught, CONFIG, 6, 32)[0]
    assert batch.targets is not None
    optimiser = torch.optim.AdamW(module.parameters(), 3e-3)
    losses = []
    for _ in range(6):
        loss = batch_loss(module, batch, 5.0)[0] - batch_loss(module, batch, 0.0)[0]  # dropout differs, a little
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_kept_features_of_pixels_are_what_the_trunk_sees(rgb_corpus: Corpus, tmp_path: Path) -> None:
    encoder = make_encoder("small", initial_trunk(CONFIG, 3), fps=12.5)
    seen = trunk_features(encoder, rgb_corpus, tmp_path)
    assert len(seen.exemplars) == 6
    windows = seen.videos["test-1"]
    path = rgb_corpus.videos["test-1"].video
    assert path is not None
    frames = torch.from_numpy(sign_frames(path, encoder.contract, None).swapaxes(0, 1))
    assert windows.grid.count == len(windows.features) == frames.shape[1] - 5
    with torch.inference_mode():
        clip = encoder.module.trunk(frames[None, :, 21:27])[0].numpy()
    np.testing.assert_allclose(windows.features[21], clip, rtol=2e-3, atol=2e-3)


def test_where_the_sign_is_comes_from_landmarks_beside_the_video(rgb_corpus: Corpus) -> None:
    exemplar = VideoExemplars(rgb_corpus).exemplars[0]
    segment = VideoExemplars(rgb_corpus).segment(exemplar)
    assert segment is not None
    assert segment.start == pytest.approx(filmed.REST / filmed.FPS)


def scales(module: torch.nn.Module) -> set[float]:
    """The weights of all batch norms."""
    norms = [layer for layer in module.modules() if isinstance(layer, torch.nn.BatchNorm3d)]
    return {round(float(value), 4) for norm in norms if norm.bias is not None for value in norm.bias.detach()}


def shift(module: torch.nn.Module) -> None:
    """Move all batch norms away from where they begin."""
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, torch.nn.BatchNorm3d):
                layer.bias.fill_(5.0)


@pytest.mark.parametrize("reinitialise", [True, False])
def test_batch_norms_forget_when_the_dictionary_joins(rgb_signs: RgbSigns, reinitialise: bool) -> None:
    config = replace(CONFIG, continuous_only_fraction=0.5, reinitialise=reinitialise)
    module = initial_trunk(config, len(rgb_signs.words))
    task = RgbTask(config, module, RgbBatches(rgb_signs, config, 6, 32))
    shift(module)
    joins = len(task.batches)
    for step in (0, joins - 1, joins + 1):
        task.before_step(step)
    assert scales(module) == {5.0}
    task.before_step(joins)
    assert scales(module) == ({0.0} if reinitialise else {5.0})


@pytest.mark.parametrize("reinitialise", [True, False])
def test_batch_norms_of_a_start_forget(rgb_corpus: Corpus, images: Path, tmp_path: Path, reinitialise: bool) -> None:
    config = replace(CONFIG, epochs=1, lr=1e-12, reinitialise=reinitialise)
    start = make_encoder("first", initial_trunk(config, 5))
    shift(start.module)
    tuned, _ = train_rgb_on_corpus(config, rgb_corpus, Run(tmp_path, images), start)
    assert scales(tuned.module) == ({0.0} if reinitialise else {5.0})


def test_the_second_stage_takes_surer_mouthings(rgb_signs: RgbSigns) -> None:
    """Until the dictionary joins all labels are drawn, from then on the sure ones alone."""
    first = {sign.word: sign for sign in reversed(rgb_signs.continuous)}
    marked = tuple(replace(sign, sure=sign is first[sign.word]) for sign in rgb_signs.continuous)
    plainly = RgbAugmentation(flip=0, scale=0, shift=0, brightness=0, contrast=0, saturation=0)
    config = replace(CONFIG, continuous_only_fraction=0.5, augmentation=plainly)
    batches = RgbBatches(replace(rgb_signs, continuous=marked), config, 6, 32)
    windows = {
        plain(sign.images[start : start + 6], 32).tobytes()
        for sign in first.values()
        for start in range(len(sign.images) - 5)
    }

    def drawn(step: int) -> list[bool]:
        batch = batches[step]
        return [clip.numpy().tobytes() in windows for clip in batch.clips[~batch.dictionary]]

    assert not all(all(drawn(step)) for step in range(len(batches)))
    assert all(all(drawn(step)) for step in range(len(batches), 2 * len(batches)))
    with pytest.raises(OptionsError, match="surer"):
        RgbBatches(replace(rgb_signs, continuous=tuple(replace(s, sure=False) for s in marked)), config, 6, 32)


def test_labels_are_sure_by_their_confidence(rgb_corpus: Corpus, reader: SignReader) -> None:
    labels = rgb_corpus.labels(["train-1"])[:2]
    pair = [replace(labels[0], confidence=0.79), replace(labels[1], confidence=0.8)]
    strict = replace(reader, options=replace(reader.options, surer=0.8))
    number = {word: index for index, word in enumerate(filmed.WORDS)}
    assert [sign.sure for sign in strict.continuous(rgb_corpus, pair, number)] == [False, True]
