"""Encoders from and to files: the public checkpoints, our own, and files that are neither."""

import argparse
import collections
import json
import pathlib
import pickle
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from signspot.errors import CheckpointError, OptionsError, UnsafeFileError
from signspot.models import encoder as encoders
from signspot.models.checkpoints import (
    load_encoder,
    read_weights,
    recognise,
    save_encoder,
    to_ours,
    to_public,
    without_wrappers,
)
from signspot.models.encoder import shipped
from signspot.models.encoder_network import make_encoder
from signspot.models.mlp import UnitNorm
from tests.fixtures.pickles import Touch, bombs, torch_zip

SMALL = {"features": 32, "hand_width": 8, "part_width": 8, "width": 16, "last_width": 16, "hidden": 16, "dimension": 8}


@pytest.fixture
def encoder(seeded):
    card = {"licence": "CC0-1.0", "data": "made up", "metrics": {"map": 0.5}, "command": "none", "other": 1}
    return make_encoder("small", seeded("landmark", **SMALL), fps=25, threshold=0.65, card=card)


@pytest.fixture(scope="module")
def clip():
    return torch.rand(1, 3, 16, 64, 64, generator=torch.Generator().manual_seed(5)) - 0.5


def write_run(weights, path):
    torch.save({"epoch": 3, "state_dict": weights, "optimizer": {"lr": 0.1}}, path)


def write_old_run(weights, path):
    torch.save({"state_dict": weights}, path, _use_new_zipfile_serialization=False)


def hub_header(readme):
    """The header that model hubs read: YAML, of which each line holds JSON."""
    lines = readme.split("---\n")[1].splitlines()
    return {name: json.loads(value) for name, value in (line.split(": ", 1) for line in lines)}


def test_a_published_folder_is_an_encoder_and_has_a_card_for_model_hubs(tmp_path, encoder):
    written = save_encoder(encoder, tmp_path / "published")
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    loaded = load_encoder(tmp_path / "published")
    assert (loaded.name, loaded.hash) == (encoder.name, encoder.hash) == (written.name, written.hash)
    config = json.loads((tmp_path / "published" / "config.json").read_text())
    assert (config["architecture"], config["contract"]["fps"], config["threshold"]) == ("landmark", 25.0, 0.65)
    readme = (tmp_path / "published" / "README.md").read_text()
    header = hub_header(readme)
    assert (header["license"], header["library_name"]) == ("cc0-1.0", "signspot")
    assert "made up" in readme
    assert encoder.hash in readme
    config["threshold"] = 0.6  # the card beside is the one that counts, as with a single file
    (tmp_path / "published" / "config.json").write_text(json.dumps(config))
    assert load_encoder(tmp_path / "published").contract.threshold == 0.6
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        load_encoder(tmp_path)


def test_licences_are_spelled_as_model_hubs_do(tmp_path, encoder):
    for licence, hub in (("CC BY-NC-SA 4.0", "cc-by-nc-sa-4.0"), ("ask me", "other"), ("", "other")):
        save_encoder(replace(encoder, card={**encoder.card, "licence": licence}), tmp_path / hub)
        assert hub_header((tmp_path / hub / "README.md").read_text())["license"] == hub
        assert load_encoder(tmp_path / hub).card["licence"] == licence


# --- the public checkpoints -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "prefix", "write"),
    [
        ("i3d_mlp.pth.tar", "", torch.save),
        ("a.b.pth", "module.", write_run),
        ("old.pt", "", write_old_run),
        ("converted.safetensors", "", save_file),
    ],
)
def test_the_combined_file_loads_whatever_its_format(tmp_path, public_pair, clip, name, prefix, write):
    write({prefix + key: value for key, value in public_pair.items()}, tmp_path / name)
    encoder = load_encoder(str(tmp_path / name))
    assert encoder.contract.dimension == 256
    assert encoder.contract.kind == "rgb"
    assert encoder.name == name.split(".")[0]
    loaded = encoder.module.state_dict()
    assert len(loaded) == len(public_pair)
    for key, value in public_pair.items():
        assert torch.equal(loaded[key.replace("i3d.", "trunk.", 1)], value)
    assert not encoder.module.training


def test_the_combined_file_embeds_as_the_public_network(tmp_path, public_pair, public_mlp, clip):
    torch.save(public_pair, tmp_path / "w.pth.tar")
    network = load_encoder(tmp_path / "w.pth.tar").module
    with torch.inference_mode():
        x = network.trunk(clip)
        for name in ("res.0", "adaptor.0", "adaptor.2"):
            y = F.leaky_relu(F.linear(x, public_mlp[f"{name}.weight"], public_mlp[f"{name}.bias"]), 0.2)
            x = x + y if name == "res.0" else y
        torch.testing.assert_close(network(clip), x / x.norm(), atol=1e-4, rtol=0)


def test_i3d_alone_embeds_by_its_own_features_at_unit_norm(tmp_path, public_i3d, clip):
    run = {f"module.{key}": value for key, value in public_i3d.items()}
    run["module.logits.conv3d.weight"] = torch.zeros(2281, 1024, 1, 1, 1)
    run["module.logits.conv3d.bias"] = torch.zeros(2281)
    write_run(run, tmp_path / "bsl.pth.tar")
    encoder = load_encoder(tmp_path / "bsl.pth.tar")
    assert isinstance(encoder.module.mlp, UnitNorm)
    assert encoder.contract.dimension == 1024
    assert encoder.module.options["classes"] == 2281
    with torch.inference_mode():
        features = encoder.module.trunk(clip)
        torch.testing.assert_close(encoder.module(clip), features / features.norm())


def test_what_does_not_fit_is_listed_by_the_names_in_the_file(tmp_path, public_i3d):
    state = {name: value for name, value in public_i3d.items() if "num_batches" not in name}  # old torch has none
    save_file(state, tmp_path / "w.safetensors")
    assert load_encoder(tmp_path / "w.safetensors").contract.dimension == 1024
    del state["Mixed_5c.b3b.bn.weight"]
    state |= {"extra.bias": torch.ones(1), "Conv3d_2b_1x1.conv3d.weight": torch.ones(64, 32, 1, 1, 1)}
    save_file(state, tmp_path / "w.safetensors")
    with pytest.raises(CheckpointError) as caught:
        load_encoder(tmp_path / "w.safetensors")
    for problem in ("1 missing (Mixed_5c.b3b.bn.weight)", "1 unexpected (extra.bias)", "(64, 32, 1, 1, 1) instead of"):
        assert problem in str(caught.value)


def test_nan_weights_are_refused(tmp_path, public_i3d):
    save_file({**public_i3d, "Mixed_3b.b0.bn.bias": torch.full((64,), torch.nan)}, tmp_path / "w.safetensors")
    with pytest.raises(CheckpointError, match=r"Mixed_3b\.b0\.bn\.bias"):
        load_encoder(tmp_path / "w.safetensors")


# --- our own files ----------------------------------------------------------------------------------------------


def test_what_is_saved_loads_equal(tmp_path, encoder, landmark_features):
    saved = save_encoder(encoder, tmp_path / "small.safetensors")
    loaded = load_encoder(tmp_path / "small.safetensors")
    assert encoder.hash == saved.hash == loaded.hash
    assert encoder.contract == loaded.contract
    assert loaded.name == "small"
    assert not loaded.module.training
    x = landmark_features(1, 20)
    with torch.inference_mode():
        assert torch.equal(encoder.module.trunk.dense(x), loaded.module.trunk.dense(x))


def test_half_precision_halves_the_file_and_names_its_own_weights(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "full.safetensors")
    saved = save_encoder(encoder, tmp_path / "half.safetensors", half=True)
    loaded = load_encoder(tmp_path / "half.safetensors")
    assert saved.hash == loaded.hash != encoder.hash
    assert {value.dtype for value in load_file(tmp_path / "half.safetensors").values()} == {torch.float16}
    assert {value.dtype for value in loaded.module.state_dict().values()} == {torch.float32}
    weights = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("half", "full")]
    assert weights[0] < 0.65 * weights[1]


def test_the_card_stands_beside_the_weights_and_in_them(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "small.safetensors")
    card = json.loads((tmp_path / "small.json").read_text())
    assert (card["architecture"], card["options"]["width"], card["threshold"]) == ("landmark", 16, 0.65)
    assert (card["contract"]["frames"], card["hash"]) == (16, encoder.hash)
    assert [card[key] for key in ("licence", "data", "command")] == ["CC0-1.0", "made up", "none"]
    assert load_encoder(tmp_path / "small.safetensors").card["metrics"] == {"map": 0.5}
    (tmp_path / "small.json").write_text(json.dumps({**card, "threshold": 0.8}))
    loaded = load_encoder(tmp_path / "small.safetensors")
    assert (loaded.contract.threshold, loaded.hash) == (0.8, encoder.hash)
    (tmp_path / "small.json").unlink()
    assert load_encoder(tmp_path / "small.safetensors").hash == encoder.hash


@pytest.mark.parametrize(
    "change",
    [
        {"hash": "0" * 16},
        {"input_version": 1},
        {"contract": {"fps": 50}},
        {"architecture": "resnet"},
        {"options": {"wdth": 1}},
        {"options": {**SMALL, "width": 24}},
        {"options": None},
        {"options": []},
        {"options": {**SMALL, "features": 900_000, "width": 900_000}},  # terabytes: shapes are compared before
        {"options": {**SMALL, "frames": 10**8}},
        {"options": {**SMALL, "features": 10**12}},
        {"options": {**SMALL, "last_width": 0}},
        "{",
        "[1]",
        "{}",
        "[" * 100_000,
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_card_of_other_weights_or_a_broken_one_is_refused(tmp_path, encoder, change):
    save_encoder(encoder, tmp_path / "small.safetensors")
    card = tmp_path / "small.json"
    original = json.loads(card.read_text())
    card.write_text(change if isinstance(change, str) else json.dumps({**original, **change}))
    with pytest.raises(CheckpointError, match=r"small\.safetensors"):
        load_encoder(tmp_path / "small.safetensors")


def test_every_architecture_saves_and_loads(tmp_path, seeded):
    small = {"width": 0.1, "hidden": 16, "dimension": 8}
    for options in (
        {**small, "gating": True, "domain_norm": True, "domain_specific": True},
        {"width": 0.1, "mlp": False},
    ):
        encoder = make_encoder("s3d", seeded("s3d", **options))
        save_encoder(encoder, tmp_path / "s3d.safetensors")
        assert load_encoder(tmp_path / "s3d.safetensors").hash == encoder.hash


def test_weights_are_written_only_as_safetensors(tmp_path, encoder):
    with pytest.raises(OptionsError, match=r"'w\.pth'"):
        save_encoder(encoder, tmp_path / "w.pth")
    assert list(tmp_path.iterdir()) == []


def test_weights_too_large_for_half_precision_are_refused(tmp_path, encoder):
    with torch.no_grad():
        encoder.module.mlp.res[0].bias[0] = 1e6
    with pytest.raises(OptionsError, match=r"mlp\.res\.0\.bias"):
        save_encoder(encoder, tmp_path / "w.safetensors", half=True)
    assert list(tmp_path.iterdir()) == []


def test_loading_leaves_random_numbers_alone(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "small.safetensors")
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    load_encoder(tmp_path / "small.safetensors")
    assert torch.equal(torch.rand(1), expected)


# --- names ------------------------------------------------------------------------------------------------------


def test_shipped_weights_load_by_name_and_none_is_the_default(tmp_path, encoder, monkeypatch):
    monkeypatch.setattr(encoders, "_SHIPPED", tmp_path)
    save_encoder(encoder, tmp_path / "landmark.safetensors")
    save_encoder(encoder, tmp_path / "another.safetensors")
    assert shipped() == ["another", "landmark"]
    assert load_encoder().hash == load_encoder("landmark").hash == load_encoder("another").hash


def test_a_copy_without_weights_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(encoders, "_SHIPPED", tmp_path)
    assert shipped() == []
    with pytest.raises(CheckpointError):
        load_encoder()
    with pytest.raises(CheckpointError):
        load_encoder("landmark")


# --- licences and modes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped())
def test_the_licence_of_shipped_weights_is_beside_them_and_in_the_metadata(name):
    root = Path(__file__).parents[2]
    licence = load_encoder(name).card["licence"].replace(" ", "-")  # CC BY-NC-SA 4.0 → its SPDX name
    beside = (root / "signspot/models/weights/LICENSES.md").read_text(encoding="utf-8")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(f"`{name}.safetensors`" in line and licence in line for line in beside.splitlines())
    assert licence in project["license"].split(" AND ")
    assert "signspot/models/weights/LICENSES.md" in project["license-files"]


def test_a_device_that_is_not_there_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(OptionsError, match="'npu'"):
        load_encoder(tmp_path / "not-there.safetensors", device="npu")


def test_module_is_dropped_wherever_it_stands():
    one = torch.ones(1)
    state = {"module.i3d.a.weight": one, "i3d.module.b": one, "module.module.c": one, "modules.d": one}
    assert list(without_wrappers(state)) == ["i3d.a.weight", "i3d.b", "c", "modules.d"]


def test_widths_are_read_from_the_weights(public_i3d):
    state = {f"i3d.{k}": v for k, v in public_i3d.items() if not k.startswith("logits")}
    state |= {"mlp.res.0.weight": torch.ones(1024, 1024), "mlp.adaptor.0.weight": torch.ones(300, 1024)}
    state |= {"mlp.adaptor.2.weight": torch.ones(100, 300)}
    options, _ = recognise(state, "w.pth")
    assert options == {"classes": None, "hidden": 300, "dimension": 100, "mlp_classes": None}


@pytest.mark.parametrize(
    ("prefix", "options"), [("i3d.", {"hidden": 512, "dimension": 256, "mlp_classes": 1064}), ("", {"mlp": False})]
)
def test_public_networks_are_known_by_their_keys(public_pair, public_i3d, prefix, options):
    state = public_pair if prefix else public_i3d
    assert recognise(state, "w.pth") == ({"classes": 1064, **options}, prefix)
    assert to_ours(f"{prefix}Conv3d_1a_7x7.bn.bias", prefix) == "trunk.Conv3d_1a_7x7.bn.bias"
    assert [to_public(to_ours(name, prefix), prefix) for name in state] == list(state)


def test_other_networks_are_refused(public_mlp):
    for state in (public_mlp, {f"mlp.{name}": value for name, value in public_mlp.items()}, {"layer1": torch.ones(1)}):
        with pytest.raises(CheckpointError, match=r"w\.pth"):
            recognise(state, "w.pth")


# --- files that are not plain weights -----------------------------------------------------------------------------


def write_legacy(content, path):
    torch.save(content, path, _use_new_zipfile_serialization=False)


def write_plain_2(content, path):
    path.write_bytes(pickle.dumps(content, protocol=2))


def write_plain_5(content, path):
    path.write_bytes(pickle.dumps(content, protocol=5))


@pytest.mark.parametrize(
    ("write", "wrap"),
    [
        (torch.save, "alone"),
        (torch.save, "beside weights"),
        (write_legacy, "among weights"),
        (write_plain_2, "alone"),
        (write_plain_5, "among weights"),
    ],
)
def test_a_malicious_pickle_is_refused_and_never_runs(tmp_path, write, wrap):
    trap, path = Touch(tmp_path / "trap"), tmp_path / "i3d_mlp.pth.tar"
    weights = {"a": torch.ones(2)} if write in (torch.save, write_legacy) else {}
    content = {
        "alone": trap,
        "beside weights": {"state_dict": weights, "epoch": trap},
        "among weights": {"state_dict": {**weights, "b": trap}},
    }[wrap]
    write(content, path)
    with pytest.raises(UnsafeFileError):
        load_encoder(path)
    assert not trap.canary.exists()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "w.pth.tar"),
        (b"hello", "w.safetensors"),
        (b"\x80\x02}", "w.pt"),
        (b"PK\x03\x04 no archive", "w.pth.tar"),
        (b"\x00" * 1000, "w.pt"),
        (pickle.dumps({"words": ["a"]}), "w.pt"),
        (bombs()["nested key"], "w.pt"),
        (torch_zip(bombs()["text length"], zipfile.ZIP_STORED), "w.pt"),
        (torch_zip(bombs()["text length"], zipfile.ZIP_DEFLATED), "w.pt"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_checkpoint_is_refused(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name) as caught:
        read_weights(tmp_path / name)
    assert not isinstance(caught.value, UnsafeFileError)


@pytest.mark.parametrize(
    ("write", "share"), [(torch.save, 0.3), (write_legacy, 0.9), (save_file, 0.02), (save_file, 0.9)]
)
def test_a_truncated_file_is_refused(tmp_path, write, share):
    path = tmp_path / ("w.safetensors" if write is save_file else "w.pth")
    write({"a": torch.randn(1000)}, path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(CheckpointError, match=path.name):
        read_weights(path)


@pytest.mark.parametrize("wrapper", ["state_dict", "model_state_dict", "model"])
def test_weights_are_found_in_their_wrapper(tmp_path, wrapper):
    torch.save({wrapper: {"a": torch.ones(2)}}, tmp_path / "w.pth")
    assert torch.equal(read_weights(tmp_path / "w.pth")["a"], torch.ones(2))


@pytest.mark.parametrize("name", ["", "none.pth", "none.safetensors"])
def test_a_folder_or_a_missing_file_is_refused(tmp_path, name):
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        load_encoder(tmp_path / name)


@pytest.mark.parametrize("write", [torch.save, write_legacy])
def test_a_pickled_network_is_refused(tmp_path, write):
    write(torch.nn.Linear(2, 2), tmp_path / "model.pt")
    with pytest.raises(UnsafeFileError, match=r"torch\.nn\.modules\.linear\.Linear"):
        read_weights(tmp_path / "model.pt")


@pytest.mark.parametrize("write", [torch.save, write_legacy])
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


def test_a_torchscript_archive_is_refused_without_running(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "script.pt", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("script/constants.pkl", pickle.dumps((), protocol=2))
        archive.writestr("script/data.pkl", pickle.dumps({}, protocol=2))
        archive.writestr("script/version", "3\n")
    with pytest.raises(CheckpointError):
        read_weights(tmp_path / "script.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"state_dict": {}}, "no state dict"),
        ([torch.ones(1)], "list"),
        (torch.ones(1), "Tensor"),
        ({"a": torch.ones(1), "b": "text"}, "such as 'b'"),
        ({"a": torch.ones(2, 2).to_sparse()}, "such as 'a'"),
        ({"epoch": 3}, "such as 'epoch'"),
        ({"a": torch.zeros(1).expand(10**9)}, "4,000,000,000"),
    ],
)
def test_a_file_without_plain_tensors_says_what_it_holds(tmp_path, content, message):
    torch.save(content, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match=message):
        read_weights(tmp_path / "w.pt")


def test_a_small_archive_of_a_large_pickle_is_not_unpacked(tmp_path):
    path = tmp_path / "w.pt"
    path.write_bytes(torch_zip(b"\x80\x02}" + b"K\x010" * 1_000_000 + b".", zipfile.ZIP_DEFLATED))
    with pytest.raises(CheckpointError):
        read_weights(path)


def test_pickles_are_never_read_in_this_process(tmp_path, monkeypatch):
    torch.save({"a": torch.zeros(3)}, tmp_path / "w.pt")
    monkeypatch.setattr(torch, "load", None)
    assert read_weights(tmp_path / "w.pt")["a"].tolist() == [0, 0, 0]
