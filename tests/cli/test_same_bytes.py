"""The same command twice gives the same bytes, whatever it writes, and files that the umask allows others to read."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., tuple[int, str, str]]
SUFFIXES = (".csv", ".jsonl", ".parquet", ".vtt", ".eaf", ".via.json", ".bobsl.json")


@pytest.mark.parametrize("verb", ["spot", "embed"])
def test_the_same_command_twice_gives_the_same_bytes(signspot: Call, corner: Path, tmp_path: Path, verb: str) -> None:
    before = os.umask(0o027)
    try:
        for turn in ("one", "two"):
            out = tmp_path / turn
            out.mkdir()
            results = [part for suffix in SUFFIXES for part in ("--out", out / f"x{suffix}")]
            more = {
                "spot": (corner / "signs", "--threshold", "0", *results, "--plot", out / "x.svg"),
                "embed": ("--out", out / "x.safetensors"),
            }
            encoder = ("--encoder", corner / "encoder.safetensors")
            code, _, err = signspot(verb, corner / "footage.pose", *more[verb], *encoder)
            assert code == 0, err
    finally:
        os.umask(before)
    one, two = ({path.name: path for path in (tmp_path / turn).iterdir()} for turn in ("one", "two"))
    assert sorted(one) == sorted(two) != []
    for name, path in one.items():
        assert path.read_bytes() == two[name].read_bytes(), name
        assert stat.S_IMODE(path.stat().st_mode) == 0o640, name
