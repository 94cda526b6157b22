"""Features that others have made: every published form gives the same track, and what does not fit is named."""

from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.embedding.published_features import as_track, read_published
from signspot.embedding.windows import embed_features
from signspot.errors import EncoderMismatchError, FormatError
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build

FEATURES = np.random.default_rng(0).normal(size=(40, 64)).astype(np.float16)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    sizes = {"hand_width": 8, "part_width": 8, "width": 16, "last_width": 16}
    return make_encoder("small", build("landmark", features=64, hidden=16, dimension=8, **sizes))


def write(path: Path) -> Path:
    if path.suffix == ".npy":
        np.save(path, FEATURES)
    elif path.suffix == ".mat":
        pytest.importorskip("scipy.io").savemat(path, {"preds": FEATURES.astype(np.float32), "clip_ix": np.arange(40)})
    else:
        with pytest.importorskip("lmdb").open(str(path), map_size=1 << 24) as opened, opened.begin(write=True) as rows:
            for name in ("news", "other"):
                for number, row in enumerate(FEATURES, 1):
                    rows.put(f"{name}/{number:07d}.np".encode(), row.tobytes())
                rows.put(f"{name}/done".encode(), b"1")
    return path


@pytest.mark.parametrize("name", ["news.npy", "news.mat", "features.lmdb"])
def test_every_published_form_gives_the_same_track(name: str, encoder: Encoder, tmp_path: Path) -> None:
    read = dict(read_published(write(tmp_path / name)))
    assert list(read) == (["news", "other"] if name.endswith("lmdb") else ["news"])
    track = as_track("news", read["news"], encoder, stride=2)
    assert (track.encoder, track.video, track.grid.frames, track.grid.count) == (encoder.hash, "news", 94, 40)
    np.testing.assert_allclose(
        track.embeddings, embed_features(encoder, FEATURES.astype(np.float32), "continuous"), atol=2**-10
    )


def test_embeddings_are_taken_as_they_are(encoder: Encoder) -> None:
    rows = np.random.default_rng(1).normal(size=(5, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(as_track("v", rows, encoder, 1).embeddings, rows, atol=2**-11)
    with pytest.raises(EncoderMismatchError, match="9 numbers"):
        as_track("v", np.ones((5, 9)), encoder, 1)


@pytest.mark.parametrize("content", [np.zeros((3,)), np.zeros((3, 4), int), np.full((3, 4), np.nan), np.zeros((0, 4))])
def test_what_is_no_matrix_is_refused(content: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", content)
    with pytest.raises(FormatError, match=r"a\.npy"):
        list(read_published(tmp_path / "a.npy"))


@pytest.mark.parametrize("shape", [(1, 4), (1, 1, 4), (1, 4, 1, 1)])
def test_a_video_may_have_one_window(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(shape, np.float32))
    ((_, features),) = read_published(tmp_path / "a.npy")
    assert features.shape == (1, 4)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"nothing")
    (tmp_path / "a.mat").write_bytes(b"nothing")
    pytest.importorskip("scipy.io").savemat(tmp_path / "b.mat", {"x": np.eye(3)})
    for name in ("a.npy", "a.mat", "b.mat"):
        with pytest.raises(FormatError, match=name):
            list(read_published(tmp_path / name))
