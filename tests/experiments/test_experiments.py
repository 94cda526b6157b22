"""Experiments that are run as modules: each makes its table at a tiny size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import synthetic_realism
from signspot.corpus.isolated import pack
from signspot_synthetic.observation import GLOVED


def test_synthetic_signing_is_compared_with_real_clips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips = list(synthetic_realism.synthetic_clips(3, GLOVED))
    arrays: Any = pack([(number, 1, 1) for number in range(1, 4)], clips)
    np.savez(tmp_path / "signer_01.npz", allow_pickle=False, **arrays)
    synthetic_realism.main([str(tmp_path), "--every", "1", "--clips", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(synthetic_realism.ROWS)
    rows = {cells[1].strip(): cells[2:4] for line in lines[2:] if (cells := line.split("|"))}
    real, gloved = rows["face breadth, median"]
    assert float(real) == pytest.approx(float(gloved), rel=0.01)  # the same clips, in half precision
