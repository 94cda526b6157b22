"""`signspot landmarks`: real MediaPipe on real files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from signspot.landmarks.pose_file import open_landmarks
from signspot.video.writer import write_video
from signspot_world.body.motion import isolated
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.projection import project
from signspot_world.knobs import named_rng
from signspot_world.language.lexicon import LexiconOptions, make_lexicon
from signspot_world.render.appearance import make_appearance
from signspot_world.render.render import render_video

Call = Callable[..., tuple[int, str, str]]


def test_a_filmed_signer_is_seen_and_a_broken_file_named(signspot: Call, tmp_path: Path) -> None:
    lexicon = make_lexicon(LexiconOptions(words=("apple",), seed=3, variant_shares=(1.0,)))
    signer = make_signer("one", 1, Role.DICTIONARY, left_share=0, webcam_share=0)
    motion, _ = isolated(lexicon["apple"].variants[0], signer, named_rng(1, "apple"))
    exact = project(motion, signer.camera, (256, 256))[:30]
    render_video(exact, make_appearance(2), tmp_path / "signer.mp4")
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    videos = (tmp_path / "signer.mp4", tmp_path / "broken.mp4")
    code, out, err = signspot("landmarks", *videos, "--out", tmp_path / "poses")
    assert code == 1
    assert "signer.pose: 30 frames at 25 a second" in out
    assert "broken.mp4" in err
    assert "1 of 2 videos could not be read" in err
    seen = open_landmarks(tmp_path / "poses" / "signer.pose")
    assert np.isfinite(seen.body).all(axis=(1, 2)).mean() > 0.9
    shoulders = seen.body[:, [11, 12], 0].mean(axis=0)
    assert np.abs(shoulders - exact.body[:, [11, 12], 0].mean(axis=0)).max() < 0.06


def test_nobody_in_view_gives_landmarks_of_nobody(signspot: Call, tmp_path: Path) -> None:
    write_video(tmp_path / "grey.mp4", (np.full((64, 64, 3), 90, np.uint8) for _ in range(5)), 25)
    code, _, _ = signspot("landmarks", tmp_path / "grey.mp4", "--out", tmp_path)
    assert code == 0
    assert np.isnan(open_landmarks(tmp_path / "grey.pose").body[..., 0]).all()
