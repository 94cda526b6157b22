"""`--device`: taken by every command, before or after its name, and refused in one line where it is missing."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

Call = Callable[..., tuple[int, str, str]]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this computer has the device")
@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_a_missing_device_is_refused_before_anything_is_done(
    signspot: Call, corner: Path, tmp_path: Path, device: str
) -> None:
    words = ("embed", corner / "footage.pose", "--out", tmp_path / "track.safetensors")
    for arguments in (("--device", device, *words), (*words, "--device", device), (*words, f"--device={device}")):
        code, out, err = signspot(*arguments)
        assert (code, out) == (2, "")
        assert f"'{device}'" in err
        assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
