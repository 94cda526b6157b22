"""`--device`: taken by every command, before or after its name, and refused in one line where it is missing."""

from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Cli


@pytest.mark.skipif(torch.cuda.is_available(), reason="this computer has the device")
@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_a_missing_device_is_refused_before_anything_is_done(
    signspot: Cli, inputs: Path, tmp_path: Path, device: str
) -> None:
    words = ("embed", inputs / "footage.pose", "--out", tmp_path / "track.safetensors")
    for arguments in (("--device", device, *words), (*words, "--device", device), (*words, f"--device={device}")):
        assert f"'{device}'" in signspot.mistake(*arguments)
    assert not list(tmp_path.iterdir())
