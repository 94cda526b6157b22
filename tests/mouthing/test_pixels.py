"""The input contract of a lip reader for pixels, with random weights: crops, rates, pieces, no face, checkpoints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.errors import CheckpointError, LandmarksError, OptionsError
from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.lips import LipTrack
from signspot.mouthing.model import MouthingModel, load_mouthing, save_mouthing
from signspot.mouthing.network import MouthingNetwork, NetworkOptions
from signspot.mouthing.pixels import (
    MEAN,
    SIDE,
    SPREAD,
    FeatureStream,
    RgbFrontEnd,
    RgbMouthingNetwork,
    crop_mouth,
    crop_mouths,
    mouth_places,
)
from signspot.mouthing.spotter import MentionWindow, MouthingSpotter
from signspot.types import Segment
from signspot.video.reader import open_video
from signspot.video.writer import write_video
from signspot_synthetic.body.motion import talking
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera import project
from tests.fixtures.headers import with_card

SIZE = (160, 120)


@pytest.fixture(scope="module")
def network() -> RgbMouthingNetwork:
    torch.manual_seed(0)
    return RgbMouthingNetwork(NetworkOptions(width=16, maps=4), features=8).eval()


@pytest.fixture(scope="module")
def marks() -> Landmarks:
    signer = make_signer("one", 1, Role.TEST)
    return project(talking([], 1.0, signer, np.random.default_rng(0), 0.0), signer.camera, SIZE)


def test_a_crop_is_upright_normalised_and_of_one_size(marks):
    places = mouth_places(marks)
    assert places.shape == (25, 6)
    assert (places[:, 4] == 1).all()
    x, y = np.meshgrid(np.arange(160), np.arange(120))
    picture = np.repeat((x + y).astype(np.uint8)[..., None], 3, axis=2)
    middle, reach = np.array([60.0, 50.0]), np.array([20.0, 0.0])
    crop = crop_mouth(picture, np.array([*middle, *reach], np.float32))
    assert crop.shape == (SIDE, SIDE)
    assert crop.mean() == pytest.approx((110 / 255 - MEAN) / SPREAD, abs=0.01)
    assert crop[0, 0] == pytest.approx((70 / 255 - MEAN) / SPREAD, abs=0.01)  # left and above: 40 + 30
    turned = crop_mouth(np.rot90(picture, -1).copy(), np.array([119 - 50, 60, 0, 20], np.float32))
    assert np.allclose(turned, crop, atol=0.02)  # the head lies on its side: the crop does not
    larger = crop_mouth(np.kron(picture, np.ones((2, 2, 1), np.uint8)), np.array([120.5, 100.5, 40, 0], np.float32))
    assert np.allclose(larger, crop, atol=0.05)
    beyond = crop_mouth(picture, np.array([0, 0, 30, 0], np.float32))
    assert np.isfinite(beyond).all()


@pytest.mark.parametrize("fps", [10.0, 50.0])
def test_crops_come_at_25_frames_per_second_whatever_the_video(fps, marks, tmp_path):
    path = write_video(tmp_path / "v.mp4", [np.full((120, 160, 3), 90, np.uint8)] * round(fps), fps)
    with open_video(path) as video:
        chunks = list(crop_mouths(video.resampled(25.0), [marks[:10], marks[10:]]))
    assert [len(crops) for crops, _ in chunks] == [10, 15]
    assert all((flags[:, 0] == 1).all() for _, flags in chunks)


def test_where_no_face_is_seen_nothing_is_cropped(marks):
    hidden = replace(marks, face=np.full_like(marks.face, np.nan))
    assert not mouth_places(hidden).any()
    ((crops, flags),) = crop_mouths(iter([]), [marks])  # pictures that end too early
    assert not crops.any()
    assert not flags.any()


def test_a_video_in_pieces_gives_the_same_features(network):
    crops = torch.randn(23, SIDE, SIDE)
    whole = FeatureStream(network.front)
    expected = torch.cat([whole.push(crops), whole.finish()])
    assert expected.shape == (23, 8)
    stream = FeatureStream(network.front)
    pieces = [stream.push(crops[first:last]) for first, last in ((0, 1), (1, 3), (3, 14), (14, 23))]
    assert torch.allclose(torch.cat([*pieces, stream.finish()]), expected, atol=1e-5)
    with pytest.raises(OptionsError):
        RgbFrontEnd(0)


def test_words_are_compared_as_with_landmarks(network):
    values = np.random.default_rng(0).normal(0, 1, (200, 10)).astype(np.float32)
    values[:, -2:] = [1, 0]
    spotter = MouthingSpotter(MouthingModel("random", network, {}))
    assert spotter.curves(LipTrack(values), ["apple", "moon"]).shape == (2, 100)
    found = spotter.search(LipTrack(values), [MentionWindow(Segment(0.0, 8.0), ("apple",))], "v", least=0.0)
    assert len(found.labels) == 1


def test_sources_without_pixels_or_face_have_a_reason(network, tmp_path, marks):
    spotter = MouthingSpotter(MouthingModel("random", network, {}))
    with pytest.raises(OptionsError):
        spotter.read(marks)
    with pytest.raises(OptionsError):
        spotter.read(tmp_path / "x.pose")
    path = write_video(tmp_path / "grey.mp4", [np.full((120, 160, 3), 90, np.uint8)] * 5, 25)
    with pytest.raises(LandmarksError):
        spotter.read(path)


def test_weights_come_back_and_other_ones_are_refused(network, tmp_path):
    path = tmp_path / "rgb.safetensors"
    save_mouthing(MouthingModel("random", network, {}), path)
    again = load_mouthing(path)
    assert (again.kind, again.network.front.features) == ("rgb", 8)  # type: ignore[union-attr]
    assert load_mouthing().kind == "landmarks"
    content = path.read_bytes()
    for old, new in (
        (b'\\"rgb\\"', b'\\"RGB\\"'),
        (b'\\"features\\": 8', b'\\"features\\": 9'),
        (b'\\"features\\": 8', b'\\"features\\": 0'),
    ):
        assert old in content
        Path(tmp_path / "bad.safetensors").write_bytes(content.replace(old, new))
        with pytest.raises(CheckpointError):
            load_mouthing(tmp_path / "bad.safetensors")


GIANT = {"width": 1_000_000, "heads": 4, "maps": 12, "dropout": 0.1}  # 12 TB of weights


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"options": GIANT}, "of another shape"),
        ({"options": {**GIANT, "width": 10**30}}, "at most 1,000,000 is taken from a card"),
        ({"options": [1]}, "no JSON object"),
        ({"name": None}, "its card lacks 'name'"),
        ({"name": 7}, "the name must be text"),
        ({"visemes": 7}, "visemes must be a list"),
    ],
)
def test_a_card_that_asks_for_more_than_the_file_holds_is_refused(changes, said, tmp_path):
    path = tmp_path / "x.safetensors"
    save_mouthing(MouthingModel("random", MouthingNetwork(NetworkOptions(8, 2, 2)), {}), path)
    with pytest.raises(CheckpointError, match=said):
        load_mouthing(with_card(path, "signspot_mouthing", **changes))


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    save_mouthing(MouthingModel("random", MouthingNetwork(NetworkOptions(8, 2, 2)), {}), path)
    path.write_bytes(path.read_bytes()[:-2] + b"\x00\x7e")  # the last number is no number
    with pytest.raises(CheckpointError):
        load_mouthing(path)
