"""`signspot embed` of a folder, in shards, again after it was stopped; of published features."""

from pathlib import Path

import numpy as np
import pytest

from signspot.applications.archive_search import Shard, open_archive
from signspot.embedding.tracks import read_track
from signspot.errors import OptionsError
from signspot.models.checkpoints import load_encoder
from tests.cli.conftest import Cli


def test_a_folder_is_embedded_in_shards_and_only_once(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    command = ("embed", inputs, "--out", tmp_path / "archive", "--encoder", inputs / "encoder.safetensors")
    for number in (1, 2):
        out, _ = signspot.ok(*command, "--shard", f"{number}/2")
        assert "2 tracks made, 0 there already" in out
        assert "times as fast as it plays" in out
    assert len(open_archive(tmp_path / "archive").tracks) == 4
    assert read_track(tmp_path / "archive" / "footage.safetensors").embeddings.dtype == np.float16
    spoilt = tmp_path / "archive" / "signs" / "apple.safetensors"
    spoilt.write_bytes(spoilt.read_bytes()[:100])
    assert "1 track made, 3 there already" in signspot.ok(*command)[0]
    out, _ = signspot.ok(*command, "--stride", 2)  # another track
    assert "4 tracks made" in out


def test_a_video_that_cannot_be_read_is_named_and_the_others_are_embedded(
    signspot: Cli, inputs: Path, tmp_path: Path
) -> None:
    footage = tmp_path / "footage"
    footage.mkdir()
    (footage / "a.pose").write_bytes(b"nothing")
    (footage / "b.pose").write_bytes((inputs / "footage.pose").read_bytes())
    code, out, err = signspot("embed", footage, "--out", tmp_path / "out", "--encoder", inputs / "encoder.safetensors")
    assert (code, "1 track made" in out, "failed: a:" in err) == (3, True, True)


def test_a_video_is_embedded_into_a_folder_of_tracks(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    command = ("embed", inputs / "footage.pose", "--out", tmp_path, "--encoder", inputs / "encoder.safetensors")
    signspot.ok(*command)
    assert len(read_track(tmp_path / "footage.safetensors")) > 0


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2"])
def test_shards_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(OptionsError) as refused:
        Shard.parse(text)
    assert repr(text) in str(refused.value)


def test_shards_share_out_all_videos() -> None:
    names = [f"v{number}" for number in range(11)]
    parts = [Shard.parse(f"{number}/4").of(names) for number in range(1, 5)]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert {len(part) for part in parts} == {2, 3}


def test_published_features_become_tracks_of_the_checkpoint_that_made_them(
    signspot: Cli, inputs: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(inputs / "encoder.safetensors")
    rows = np.random.default_rng(0).normal(size=(40, encoder.module.trunk.dimension)).astype(np.float32)
    np.save(tmp_path / "news.npy", rows)
    command = ("embed", tmp_path / "news.npy", "--out", tmp_path / "tracks", "--stride", 2)
    assert "--encoder" in signspot.refused(*command)
    out, _ = signspot.ok(*command, "--encoder", inputs / "encoder.safetensors")
    assert f"40 windows of {encoder.contract.frames} frames, stride 2" in out
    track = read_track(tmp_path / "tracks" / "news.safetensors")
    assert (track.encoder, track.grid.stride, len(track)) == (encoder.hash, 2, 40)
