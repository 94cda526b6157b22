"""An RGB trunk: images are decoded once, batches are balanced; it learns, resumes to the same weights, stops."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.embedding.inputs import sign_frames
from signspot.errors import CheckpointError, FormatError, OptionsError
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.recognition.recogniser import RgbRecogniser, load_recogniser
from signspot.training.configuration import Compute
from signspot.training.corpus_subset import find_training_subset
from signspot.training.loop import made_batches, train
from signspot.training.recogniser import score_recogniser
from signspot.training.rgb import RgbTask, batch_loss, initial_trunk, start_from, train_rgb_on_corpus
from signspot.training.rgb_clips import (
    KEYPOINTS,
    Crop,
    ImageStore,
    RgbAugmentation,
    RgbBatches,
    RgbSigns,
    SignReader,
    augmented,
    collect_rgb_signs,
    plain,
    with_keypoints,
)
from signspot.training.run_folder import Run
from signspot.training.trunk_features import VideoExemplars, trunk_features
from signspot.types import Segment
from signspot.video.clips import squash_and_crop
from signspot.video.reader import open_video
from tests.fixtures import filmed
from tests.training.conftest import RGB as CONFIG


@pytest.fixture(scope="module")
def two_words(rgb_corpus: Corpus, images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Encoder, Any, Path]:
    """A trunk that has learned all words but the first, its scores on the test video, and its folder."""
    folder = tmp_path_factory.mktemp("two-words")
    labels = [label for label in rgb_corpus.labels() if label.word != filmed.WORDS[0]]
    config = replace(CONFIG, epochs=8, decays=(0.8,))
    encoder, tested = train_rgb_on_corpus(config, rgb_corpus, Run(folder, images, "signspot train"), labels=labels)
    save_encoder(encoder, folder / "rgb.safetensors")
    return encoder, tested, folder


def test_segments_are_the_images_before_each_label(rgb_corpus: Corpus, rgb_signs: RgbSigns) -> None:
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
    expected = np.stack(frames[first : first + 6], axis=1)
    off = np.abs(plain(sign.images[:], 32) - expected)  # from what the pipeline cuts, by the loss of JPEG
    assert (off.mean(), off.max()) < (0.02, 0.3)


def test_no_video_is_decoded_twice(
    rgb_corpus: Corpus, rgb_signs: RgbSigns, reader: SignReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.training.rgb_clips.open_video", lambda *_: pytest.fail("decoded again"))
    again = collect_rgb_signs(find_training_subset(rgb_corpus, filmed=True), reader)
    assert np.array_equal(again.continuous[5].images[:], rgb_signs.continuous[5].images[:])


def test_a_label_at_the_very_end_repeats_the_last_picture(rgb_corpus: Corpus, tmp_path: Path) -> None:
    path = rgb_corpus.videos["test-1"].video
    assert path is not None
    with open_video(path) as video:
        length = sum(1 for _ in video.resampled(12.5))
    cut = ImageStore(tmp_path, 12.5, 32).segments(path, [(length - 2) / 12.5, 99.0], 4)
    near, beyond = cut[0][:], cut[1][:]
    assert np.array_equal(near[1], near[3])
    assert np.array_equal(near[1], beyond[0])
    assert np.array_equal(beyond[0], beyond[3])


def test_images_that_overlap_are_kept_once_and_damaged_ones_are_named(rgb_corpus: Corpus, tmp_path: Path) -> None:
    path = rgb_corpus.videos["test-1"].video
    assert path is not None
    one, two = ImageStore(tmp_path, 12.5, 32).segments(path, [0.0, 2 / 12.5], 4)
    assert np.array_equal(one[2:], two[:2])
    assert np.array_equal(one.byte_ranges[2:], two.byte_ranges[:2])
    assert np.array_equal(one[np.array([3, 1])], one[:][[3, 1]])
    (file,) = tmp_path.glob("*.jpegs")
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match="jpegs"):
        ImageStore(tmp_path, 12.5, 32).segments(path, [0.0, 2 / 12.5], 4)
    file.write_bytes(b"\0" * 200 + content[200:])
    with pytest.raises(FormatError, match="jpegs"):
        one[:1]


def test_batches_made_by_workers_are_the_same_and_can_be_pinned(
    rgb_signs: RgbSigns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(CONFIG, epochs=1)
    task = RgbTask(config, initial_trunk(config, 3), RgbBatches(rgb_signs, config, 6, 32))
    alone = [task.batch(step).clips for step in range(3)]
    by_workers = [batch.clips for _, batch in made_batches(task, range(3), 2, torch.device("cpu"))]
    assert all(torch.equal(a, b) for a, b in zip(alone, by_workers, strict=True))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 1)  # there is no GPU to pin for
    batch = task.batch(0)
    assert torch.equal(batch.pin_memory().clips, batch.clips + 1)
    assert torch.equal(batch.pin_memory().words, batch.words + 1)


def test_the_best_weights_are_chosen_on_validation_videos(rgb_corpus: Corpus, images: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=2, compute=Compute(validate_every=4))
    with pytest.raises(OptionsError, match="validation"):
        train_rgb_on_corpus(config, rgb_corpus, Run(tmp_path / "none", images))
    videos = {name: replace(video, split="validation" if name == "train-1" else video.split)
              for name, video in rgb_corpus.videos.items()}  # fmt: skip
    encoder, tested = train_rgb_on_corpus(config, replace(rgb_corpus, videos=videos), Run(tmp_path / "run", images))
    metrics = encoder.card["metrics"]
    assert tested is not None
    assert metrics["held_out"]["clips"] == 9
    assert metrics["validation"]["clips"] == 9
    assert encoder.card["config"]["corpus"]["clips"] == 18  # of 27: those of the validation video are left out
    assert encoder.card["config"]["compute"] == {"validate_every": 4}


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
    batch_loss(module, RgbBatches(rgb_signs, CONFIG, 6, 32)[0])[0].backward()
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


def test_it_learns_and_says_so_on_held_out_clips(two_words: tuple[Encoder, Any, Path]) -> None:
    encoder, tested, folder = two_words
    losses = encoder.card["metrics"]["loss_by_epoch"]
    assert len(losses) == 8
    assert losses[-1] < 0.6 * losses[0]
    assert (tested.clips, tested.words) == (6, 2)
    assert tested.top_1 > 0.7  # chance is a half
    assert encoder.contract.fps == 12.5
    assert (folder / "curve.png").stat().st_size > 1000
    assert load_encoder(folder / "rgb.safetensors").hash == encoder.hash


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


def pointed(signs: RgbSigns) -> RgbSigns:
    """Every keypoint of a frame where the sign's light shape is; the first frame is not seen."""
    pointed_signs = []
    for sign in signs.continuous:
        images = sign.images[:].astype(float)
        grey = np.abs(images.mean(axis=-1) - images[:, :1, :1].mean())
        rows, columns = np.indices(grey.shape[1:])
        weight = grey.sum(axis=(1, 2)) + 1e-6
        places = np.stack([(grey * axis).sum(axis=(1, 2)) / weight for axis in (columns, rows)], axis=-1)
        keypoints = np.repeat((places / grey.shape[1])[:, None], KEYPOINTS, axis=1).astype(np.float32)
        keypoints[0] = np.nan
        pointed_signs.append(replace(sign, keypoints=keypoints))
    return replace(signs, continuous=tuple(pointed_signs))


def test_keypoints_are_learned_before_words(rgb_signs: RgbSigns, tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=6, pose_fraction=0.5)
    assert (config.words_from, config.dictionary_from) == (3, 3)
    batches = RgbBatches(pointed(rgb_signs), config, 6, 32)
    first, later = batches[0], batches[3 * len(batches)]
    assert first.keypoints is not None
    assert first.keypoints.shape == (8, 6, KEYPOINTS, 2)
    assert not first.dictionary.any()
    assert later.keypoints is None
    assert later.dictionary.any()
    task = RgbTask(config, initial_trunk(config, 3), batches)
    trained = train(task, tmp_path)
    regressed = [loss for loss, _ in trained.curve[:3]]
    assert regressed[-1] < 0.7 * regressed[0]
    assert [accuracy for _, accuracy in trained.curve[:3]] == [0.0, 0.0, 0.0]
    assert all(accuracy > 0 for _, accuracy in trained.curve[3:])
    assert not hasattr(trained.module, "keypoints")


def test_keypoints_move_with_the_crop_and_sides_swap_in_a_mirror() -> None:
    images = np.zeros((1, 40, 40, 3), np.uint8)
    images[0, 12, 28] = 255
    points = np.full((1, KEYPOINTS, 2), np.nan, np.float32)
    points[0, 15] = (28.5 / 40, 12.5 / 40)  # the left wrist
    nothing = RgbAugmentation(0, 0, 0, 0, 0, 0)
    for mirrored, wrist in ((False, 15), (True, 16)):
        crop = Crop(40, 32, 6, 5, mirrored)
        clip = augmented(images, 32, nothing, np.random.default_rng(0), crop)
        row, column = np.unravel_index(clip[0, 0].argmax(), (32, 32))
        moved = crop.moved(points)
        np.testing.assert_allclose(moved[0, wrist], ((column + 0.5) / 32 - 0.5, (row + 0.5) / 32 - 0.5), atol=1e-6)
        assert np.isfinite(moved).all(axis=-1).sum() == 1


def test_keypoints_are_those_of_the_images(rgb_corpus: Corpus, rgb_signs: RgbSigns, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="'train-1'"):
        with_keypoints(rgb_signs, rgb_corpus, 12.5)
    times = np.arange(200) / 25.0
    ramp = np.broadcast_to((times / 8.0)[:, None, None], (200, 33, 4))
    none = np.full((200, 21, 3), np.nan)
    landmarks = Landmarks(ramp, none, none, np.full((200, len(FACE_POINTS), 3), np.nan), times, (64, 48))
    write_landmarks(landmarks, tmp_path / "a.pose")
    videos = {name: replace(video, landmarks=tmp_path / "a.pose") for name, video in rgb_corpus.videos.items()}
    sign = with_keypoints(rgb_signs, replace(rgb_corpus, videos=videos), 12.5).continuous[3]
    assert sign.keypoints is not None
    assert sign.keypoints.shape == (len(sign.images), KEYPOINTS, 2)
    assert sign.keypoints[0, 0, 0] == pytest.approx(round(sign.start * 12.5) / 12.5 / 8, abs=0.01)
    assert np.isnan(sign.keypoints[:, 30]).all()  # hands


def test_kept_features_of_pixels_are_what_the_trunk_sees(rgb_corpus: Corpus, tmp_path: Path) -> None:
    encoder = make_encoder("small", initial_trunk(CONFIG, 3), fps=12.5)
    features = trunk_features(encoder, rgb_corpus, tmp_path)
    assert len(features.exemplars) == 6
    windows = features.videos["test-1"]
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

    def are_sure(step: int) -> list[bool]:
        batch = batches[step]
        return [clip.numpy().tobytes() in windows for clip in batch.clips[~batch.dictionary]]

    assert not all(all(are_sure(step)) for step in range(len(batches)))
    assert all(all(are_sure(step)) for step in range(len(batches), 2 * len(batches)))
    with pytest.raises(OptionsError, match="surer"):
        RgbBatches(replace(rgb_signs, continuous=tuple(replace(s, sure=False) for s in marked)), config, 6, 32)


def test_labels_are_sure_by_their_confidence(rgb_corpus: Corpus, reader: SignReader) -> None:
    labels = rgb_corpus.labels(["train-1"])[:2]
    pair = [replace(labels[0], confidence=0.79), replace(labels[1], confidence=0.8)]
    strict = replace(reader, options=replace(reader.options, surer=0.8))
    number = {word: index for index, word in enumerate(filmed.WORDS)}
    assert [sign.sure for sign in strict.continuous(rgb_corpus, pair, number)] == [False, True]


@pytest.mark.long
def test_a_kinetics_checkpoint_loads_and_is_fine_tuned(rgb_signs: RgbSigns, tmp_path: Path) -> None:
    """A file in the layout of the released ones, of all channels, with random weights and 400 classes."""
    torch.manual_seed(1)
    released = build("i3d", classes=400, mlp=False).trunk.state_dict()
    torch.save({"state_dict": {f"module.{name}": value for name, value in released.items()}}, tmp_path / "k.pth.tar")
    config = replace(CONFIG, model={"frames": 6, "image_size": 32}, optimiser="sgd", lr=1e-3, epochs=1)
    module = initial_trunk(config, len(rgb_signs.words))
    start_from(module, load_encoder(tmp_path / "k.pth.tar"))
    name = "Mixed_5c.b0.conv3d.weight"
    assert torch.equal(module.trunk.state_dict()[name], released[name])
    task = RgbTask(config, module, RgbBatches(rgb_signs, config, 6, 32))
    task.schedule = replace(task.schedule, steps=3, epoch=None)
    result = train(task, tmp_path / "run")
    assert len(result.curve) == 3
    tuned = result.module.trunk.state_dict()
    assert tuned["logits.conv3d.weight"].shape[0] == len(rgb_signs.words)
    assert 0 < float((tuned[name] - released[name]).abs().max()) < 0.1


def test_the_trunk_is_a_recogniser_of_its_words(rgb_corpus: Corpus, two_words: tuple[Encoder, Any, Path]) -> None:
    encoder, _, folder = two_words
    recogniser = load_recogniser(folder / "rgb.safetensors")
    assert isinstance(recogniser, RgbRecogniser)
    assert recogniser.words == filmed.WORDS[1:]
    (scores,) = score_recogniser(recogniser, rgb_corpus)
    assert scores.clips == 6  # of the two words in the test video
    assert scores.instance[0] > 0.5
    video = rgb_corpus.videos["test-1"].video
    assert video is not None
    guesses = recogniser.recognise(video, Segment(0.5, 1.2), top=2)
    assert {guess.word for guess in guesses} == set(recogniser.words)
    assert sum(guess.probability for guess in guesses) == pytest.approx(1, abs=1e-5)
    logits = recogniser.of_segment(video, Segment(0.5, 1.2))
    frames = torch.from_numpy(sign_frames(video, encoder.contract, Segment(0.5, 1.2)))
    windows = torch.stack([frames[first : first + 6] for first in range(len(frames) - 5)]).transpose(1, 2)
    with torch.inference_mode():
        trunk = recogniser.encoder.module.trunk
        expected = trunk.logits(trunk(windows)).mean(dim=0)
    np.testing.assert_allclose(logits, expected.numpy(), atol=1e-4)
    with pytest.raises(OptionsError, match="pixels"):
        recogniser.recognise(folder / "a.pose")
