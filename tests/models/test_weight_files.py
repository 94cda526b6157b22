import argparse
import collections
import pathlib
import pickle
import tarfile
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from signspot.errors import CheckpointError, UnsafeFileError
from signspot.models.checkpoints import read_header, read_weights
from tools.attack.pickles import bombs, torch_zip


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


class ShellBomb(Bomb):
    def __reduce__(self):
        import os

        return os.system, (f"touch {self.path}",)


class EvalBomb(Bomb):
    def __reduce__(self):
        return eval, (f"open({str(self.path)!r}, 'w').close()",)


def write_zip(content, path):
    torch.save(content, path)


def write_legacy(content, path):
    torch.save(content, path, _use_new_zipfile_serialization=False)


def write_plain_2(content, path):
    path.write_bytes(pickle.dumps(content, protocol=2))


def write_plain_5(content, path):
    path.write_bytes(pickle.dumps(content, protocol=5))


@pytest.mark.parametrize("bomb", [Bomb, ShellBomb, EvalBomb])
@pytest.mark.parametrize("write", [write_zip, write_legacy, write_plain_2, write_plain_5])
@pytest.mark.parametrize("wrap", ["alone", "beside weights", "among weights"])
def test_a_malicious_pickle_is_refused_and_never_runs(tmp_path, bomb, write, wrap):
    trap, path = tmp_path / "trap", tmp_path / "i3d_mlp.pth.tar"
    weights = {"a": torch.ones(2)} if write in (write_zip, write_legacy) else {}
    content = {
        "alone": bomb(trap),
        "beside weights": {"state_dict": weights, "epoch": bomb(trap)},
        "among weights": {"state_dict": {**weights, "b": bomb(trap)}},
    }[wrap]
    write(content, path)
    with pytest.raises(UnsafeFileError, match="nothing was run") as caught:
        read_weights(path)
    assert not trap.exists()
    assert "\n" not in str(caught.value)
    pickle.loads(pickle.dumps(bomb(trap)))  # the trap is real
    assert trap.exists()


@pytest.mark.parametrize("write", [write_zip, write_legacy])
def test_a_pickled_network_is_refused(tmp_path, write):
    write(torch.nn.Linear(2, 2), tmp_path / "model.pt")
    with pytest.raises(UnsafeFileError, match=r"torch\.nn\.modules\.linear\.Linear"):
        read_weights(tmp_path / "model.pt")


@pytest.mark.parametrize("write", [write_zip, write_legacy])
def test_what_training_runs_store_beside_weights_does_no_harm(tmp_path, write):
    weights = collections.OrderedDict(a=torch.arange(3.0), b=torch.tensor(2))
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=np.float64(0.1))
    content = {
        "epoch": 3,
        "arch": "InceptionI3d",
        "pred": np.float64(0.5),
        "acc": [np.float32(1.0), np.int64(3), np.arange(4.0)],
        "args": argparse.Namespace(lr=0.1, path=pathlib.PosixPath("runs")),
        "optimizer": optimiser.state_dict(),
        "state_dict": weights,
    }
    write(content, tmp_path / "run.pth.tar")
    read = read_weights(tmp_path / "run.pth.tar")
    assert list(read) == ["a", "b"]
    assert all(torch.equal(read[name], weights[name]) for name in weights)


@pytest.mark.parametrize("wrapper", ["state_dict", "model_state_dict", "model", None])
def test_weights_are_found_in_their_wrapper(tmp_path, wrapper):
    weights = {"a": torch.ones(2)}
    write_zip({wrapper: weights} if wrapper else weights, tmp_path / "w.pth")
    assert torch.equal(read_weights(tmp_path / "w.pth")["a"], weights["a"])


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\x80", b"\x80\x02}", b"PK\x03\x04 no archive", b"\x00" * 1000, pickle.dumps({"words": ["a"]})],
)
@pytest.mark.parametrize("name", ["w.pth.tar", "w.pt", "w.safetensors"])
def test_what_is_no_checkpoint_is_said_in_one_line(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name) as caught:
        read_weights(tmp_path / name)
    assert not isinstance(caught.value, UnsafeFileError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("write", [write_zip, write_legacy, lambda content, path: save_file(content, path)])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_a_truncated_file_is_damaged(tmp_path, write, share):
    whole = tmp_path / "whole.safetensors"
    write({"a": torch.randn(1000)}, whole)
    cut = tmp_path / ("cut.safetensors" if write not in (write_zip, write_legacy) else "cut.pth")
    data = whole.read_bytes()
    cut.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(CheckpointError, match="damaged"):
        read_weights(cut)


def test_a_torchscript_archive_is_refused_without_running(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "script.pt", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("script/constants.pkl", pickle.dumps((), protocol=2))
        archive.writestr("script/data.pkl", pickle.dumps({}, protocol=2))
        archive.writestr("script/version", "3\n")
    with pytest.raises(CheckpointError):
        read_weights(tmp_path / "script.pt")


def test_a_tar_archive_is_no_weights_file(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with tarfile.open(tmp_path / "w.pth.tar", "w") as archive:
        archive.add(tmp_path / "a.txt", "a.txt")
    with pytest.raises(CheckpointError):
        read_weights(tmp_path / "w.pth.tar")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"state_dict": {}}, "no state dict"),
        ([torch.ones(1)], "list"),
        (torch.ones(1), "Tensor"),
        ({"a": torch.ones(1), "b": "text"}, "such as 'b'"),
        ({"a": torch.ones(2, 2).to_sparse()}, "such as 'a'"),
        ({"epoch": 3}, "such as 'epoch'"),
    ],
)
def test_a_file_without_a_state_dict_says_what_it_holds(tmp_path, content, said):
    write_zip(content, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match=said):
        read_weights(tmp_path / "w.pt")


def test_a_folder_or_a_missing_file_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "none.pth", tmp_path / "none.safetensors"):
        with pytest.raises(CheckpointError, match="cannot read"):
            read_weights(path)


def test_header_of_a_safetensors_file(tmp_path):
    save_file({"a": torch.ones(1)}, tmp_path / "w.safetensors", metadata={"x": "y"})
    assert read_header(tmp_path / "w.safetensors") == {"x": "y"}
    save_file({"a": torch.ones(1)}, tmp_path / "w.safetensors")
    assert read_header(tmp_path / "w.safetensors") == {}


@pytest.mark.parametrize("name", ["nested key", "text length", "sets"])
@pytest.mark.parametrize("compression", [None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_bombs_end_in_an_error(tmp_path, name, compression):
    path = tmp_path / "w.pt"
    data = bombs()[name]
    path.write_bytes(data if compression is None else torch_zip(data, compression))
    with pytest.raises(CheckpointError):
        read_weights(path)


def test_a_small_archive_of_a_large_pickle_is_not_unpacked(tmp_path):
    path = tmp_path / "w.pt"
    path.write_bytes(torch_zip(b"\x80\x02}" + b"K\x010" * 1_000_000 + b".", zipfile.ZIP_DEFLATED))
    with pytest.raises(CheckpointError, match="more than the file has"):
        read_weights(path)


def test_one_number_is_no_large_tensor(tmp_path):
    torch.save({"a": torch.zeros(1).expand(10**9)}, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match="holds tensors of 4,000,000,000 bytes"):
        read_weights(tmp_path / "w.pt")


def test_pickles_are_never_read_in_this_process(tmp_path, monkeypatch):
    torch.save({"a": torch.zeros(3)}, tmp_path / "w.pt")
    monkeypatch.setattr(torch, "load", None)
    assert read_weights(tmp_path / "w.pt")["a"].tolist() == [0, 0, 0]
