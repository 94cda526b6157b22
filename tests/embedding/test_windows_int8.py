"""int8: the same hash means the same numbers, in whatever order, and by whichever process, videos are embedded."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.embedding.tracks import read_track
from signspot.embedding.windows import embed, read_examples, refine
from signspot.errors import OptionsError
from signspot.models.backends import find_backend
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.video.writer import write_video

SIDE = 32
IN_ANOTHER_PROCESS = """
import sys
import numpy as np
from signspot.embedding.windows import refine
from signspot.embedding.tracks import write_track
from signspot.embedding.windows import embed
from signspot.models.checkpoints import load_encoder
weights, device, video, out = sys.argv[1:]
encoder = load_encoder(weights, device=device)
track = embed(encoder, video, stride=8)
write_track(track, out)
np.save(out, refine(encoder, video, track, [1]).embeddings)
"""


@pytest.fixture(autouse=True)
def _installed() -> None:
    """They are looked for, not imported: that would tell their makers."""
    if any(find_spec(package) is None for package in ("openvino", "nncf")):
        pytest.skip("openvino and nncf are not installed")


def write_noise(path: Path, seed: int, contrast: float, frames: int = 40) -> Path:
    """Pictures of coarse squares, each picture with shades of its own."""
    coarse = np.random.default_rng(seed).uniform(-0.5, 0.5, (frames, 8, 8, 3)) * contrast + 0.5
    pictures = (np.kron(255 * squares, np.ones((8, 8, 1))).astype(np.uint8) for squares in coarse)
    return write_video(path, pictures, 25)


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for name, seed, contrast in (("pale", 0, 0.2), ("bright", 1, 1.0), ("calibration", 2, 0.7)):
        write_noise(folder / f"{name}.mp4", seed, contrast)
    return folder


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small I3D of random weights whose batch norms have seen clips, so that signals live to the last layer."""
    torch.manual_seed(0)
    module = build("i3d", image_size=SIDE, width=0.05, frames=8)
    for unit in module.modules():
        if isinstance(unit, torch.nn.BatchNorm3d):
            unit.momentum = 1.0
    with torch.no_grad():
        module.trunk.train()(torch.rand(4, 3, 8, SIDE, SIDE) - 0.5)
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_encoder(make_encoder("small", module), path)
    return str(path)


@pytest.mark.long
def test_one_hash_means_the_same_numbers_in_any_order_and_process(videos: Path, weights: str, tmp_path: Path) -> None:
    """Once calibrated on the first video that is embedded, both orders gave one hash, but other numbers."""
    device, video = f"openvino-int8:{videos / 'calibration.mp4'}", videos / "bright.mp4"
    encoder = load_encoder(weights, device=device)
    pale, bright = (embed(encoder, videos / f"{name}.mp4", stride=8) for name in ("pale", "bright"))
    out = tmp_path / "bright.safetensors"
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, weights, device, str(video), str(out)]
    subprocess.run(command, check=True)
    again = read_track(out)
    assert bright.encoder == again.encoder == pale.encoder == encoder.hash
    assert np.array_equal(bright.embeddings, again.embeddings)
    assert np.array_equal(refine(encoder, video, bright, [1]).embeddings, np.load(f"{out}.npy"))
    exact = embed(load_encoder(weights), video, stride=8)
    assert exact.encoder != bright.encoder
    assert not np.array_equal(exact.embeddings, bright.embeddings)  # it is int8 that was compared


def test_the_hash_is_of_the_content_of_the_calibrating_video(videos: Path, weights: str, tmp_path: Path) -> None:
    encoder = load_encoder(weights)
    named = {name: encoder.to(f"openvino-int8:{videos / name}.mp4").hash for name in ("pale", "bright")}
    copied = shutil.copy(videos / "pale.mp4", tmp_path / "other-name.mp4")
    assert encoder.to(f"openvino-int8:{copied}").hash == named["pale"]
    assert len({*named.values(), encoder.hash}) == 3


def test_examples_are_spread_over_the_video(videos: Path, weights: str) -> None:
    contract = load_encoder(weights).contract
    calibration = find_backend(f"openvino-int8:{videos / 'bright.mp4'}").calibration
    assert calibration is not None
    examples = read_examples(calibration, contract, 8)
    assert examples.shape == (5, 8, 3, SIDE, SIDE)
    assert float(examples.abs().max()) <= 0.5
    assert all(not torch.equal(examples[0], example) for example in examples[1:])


def test_a_short_video_repeats_its_last_frame(weights: str, tmp_path: Path) -> None:
    short = write_noise(tmp_path / "short.mp4", 3, 1.0, frames=3)
    calibration = find_backend(f"openvino-int8:{short}").calibration
    assert calibration is not None
    examples = read_examples(calibration, load_encoder(weights).contract, 20)
    assert examples.shape == (5, 20, 3, SIDE, SIDE)
    assert not torch.equal(examples[0, 0], examples[0, 2])
    assert torch.equal(examples[0, 2], examples[0, 19])


def test_a_video_that_is_replaced_meanwhile_is_refused(videos: Path, weights: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(videos / "pale.mp4", tmp_path / "calibration.mp4"))
    encoder = load_encoder(weights, device=f"openvino-int8:{path}")
    shutil.copy(videos / "bright.mp4", path)
    with pytest.raises(OptionsError, match=r"calibration\.mp4"):
        embed(encoder, videos / "pale.mp4")
