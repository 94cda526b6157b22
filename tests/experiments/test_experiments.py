"""Experiments that are run as modules: each makes its table at a tiny size."""

from pathlib import Path

import numpy as np
import pytest

from experiments import difficulty, encoder_ablation, render_quality, world_calibration
from experiments.isolated.importing import SourceClip, pack
from signspot_synthetic.camera.faults import GLOVED


def test_the_world_is_compared_with_real_clips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips = list(world_calibration.world_clips(3, GLOVED))
    pairs = [(SourceClip(Path("clip"), (number, 1, 1)), clip) for number, clip in enumerate(clips, start=1)]
    np.savez(tmp_path / "signer_01.npz", allow_pickle=False, **pack(pairs))
    world_calibration.main([str(tmp_path), "--every", "1", "--clips", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(world_calibration.ROWS)
    rows = {cells[1].strip(): cells[2:4] for line in lines[2:] if (cells := line.split("|"))}
    real, gloved = rows["face breadth, median"]
    assert float(real) == pytest.approx(float(gloved), rel=0.01)  # the same clips, in half precision


@pytest.mark.slow
def test_rendered_signers_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    render_quality.main(["--sizes", "256", "--appearances", "1", "--signs", "1", "--near"])
    out = capsys.readouterr().out
    assert out.startswith("256 px\n")
    shares = out.splitlines()[-2].split()[1:5]
    assert all(0 <= float(share) <= 1 for share in shares if share != "nan")  # a hand that is never there
    assert float(shares[0]) > 0.5  # the body
    assert "offsets: nose" in out


def test_every_row_of_the_difficulty_table_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three, which stand for all: each makes a world of its own."""
    few = {name: difficulty.SWITCHES[name] for name in ("nothing", "variants", "everything")}
    monkeypatch.setattr(difficulty, "SWITCHES", few)
    difficulty.main(["--words", "6", "--minutes", "0.3", "--queries", "4"])
    captured = capsys.readouterr()
    assert [line.split("|")[1].strip() for line in captured.out.splitlines()[2:]] == list(difficulty.SWITCHES)
    assert captured.err.splitlines()[-1] == f"{len(difficulty.SWITCHES)}/{len(difficulty.SWITCHES)}"


def test_the_ablation_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        encoder_ablation.main([])
    assert "lsa64" in capsys.readouterr().err
