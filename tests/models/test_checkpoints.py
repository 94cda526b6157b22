import json
import os
import tomllib
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from signspot.errors import CheckpointError, OptionsError, UnsafeFileError
from signspot.models import contract
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.contract import shipped
from signspot.models.encoder import make_encoder
from signspot.models.mlp import UnitNorm

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
        torch.testing.assert_close(network(clip), x / x.norm(), atol=1e-5, rtol=0)


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


def test_files_of_old_torch_lack_the_batch_counts(tmp_path, public_i3d):
    torch.save({k: v for k, v in public_i3d.items() if "num_batches" not in k}, tmp_path / "old.pth")
    assert load_encoder(tmp_path / "old.pth").contract.dimension == 1024


def test_what_does_not_fit_is_listed(tmp_path, public_pair):
    state = dict(public_pair)
    for part in ("b0", "b1a", "b1b", "b2a", "b2b"):
        del state[f"i3d.Mixed_4c.{part}.conv3d.weight"]
    state["mlp.extra.bias"] = torch.ones(1)
    state["i3d.Conv3d_2b_1x1.conv3d.weight"] = torch.ones(64, 32, 1, 1, 1)
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(CheckpointError) as caught:
        load_encoder(tmp_path / "w.pth")
    message = str(caught.value)
    assert "5 missing (i3d.Mixed_4c.b0.conv3d.weight" in message
    assert "..." in message
    assert "1 unexpected (mlp.extra.bias)" in message
    shapes = "(64, 32, 1, 1, 1) instead of (64, 64, 1, 1, 1)"
    assert f"1 of another shape (i3d.Conv3d_2b_1x1.conv3d.weight {shapes})" in message
    assert "\n" not in message


def test_i3d_alone_lists_problems_by_the_names_in_the_file(tmp_path, public_i3d):
    torch.save({k: v for k, v in public_i3d.items() if not k.startswith("Mixed_5c.b3b.bn.weight")}, tmp_path / "w.pth")
    with pytest.raises(CheckpointError, match=r"1 missing \(Mixed_5c\.b3b\.bn\.weight\)"):
        load_encoder(tmp_path / "w.pth")


def test_nan_weights_are_refused(tmp_path, public_i3d):
    broken = {**public_i3d, "Mixed_3b.b0.bn.bias": torch.full((64,), float("nan"))}
    torch.save(broken, tmp_path / "w.pth")
    with pytest.raises(CheckpointError, match=r"NaN.*Mixed_3b\.b0\.bn\.bias"):
        load_encoder(tmp_path / "w.pth")


def test_a_malicious_file_is_refused(tmp_path):
    class Bomb:
        def __reduce__(self):
            return Path.touch, (tmp_path / "trap",)

    torch.save({"state_dict": Bomb()}, tmp_path / "i3d_mlp.pth.tar")
    with pytest.raises(UnsafeFileError):
        load_encoder(tmp_path / "i3d_mlp.pth.tar")
    assert not (tmp_path / "trap").exists()


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


def test_saving_in_half_leaves_the_encoder_as_it_was(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "half.safetensors", half=True)
    assert make_encoder("small", encoder.module).hash == encoder.hash


def test_the_card_says_what_people_need(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "small.safetensors")
    card = json.loads((tmp_path / "small.json").read_text())
    assert card["architecture"] == "landmark"
    assert card["options"]["width"] == 16
    assert card["threshold"] == 0.65
    assert card["contract"]["frames"] == 16
    assert card["hash"] == encoder.hash
    assert [card[key] for key in ("licence", "data", "metrics", "command")] == [
        "CC0-1.0",
        "made up",
        {"map": 0.5},
        "none",
    ]
    assert load_encoder(tmp_path / "small.safetensors").card["metrics"] == {"map": 0.5}


def test_weights_without_the_card_beside_them_still_load(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "small.safetensors")
    (tmp_path / "small.json").unlink()
    assert load_encoder(tmp_path / "small.safetensors").hash == encoder.hash


def test_a_threshold_edited_in_the_card_counts(tmp_path, encoder):
    save_encoder(encoder, tmp_path / "small.safetensors")
    card = json.loads((tmp_path / "small.json").read_text())
    (tmp_path / "small.json").write_text(json.dumps({**card, "threshold": 0.8}))
    loaded = load_encoder(tmp_path / "small.safetensors")
    assert loaded.contract.threshold == 0.8
    assert loaded.hash == encoder.hash


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hash": "0" * 16}, "describes other weights"),
        (
            {"input_version": 1},
            "was trained on landmarks input of version 1; .* Train it again",
        ),
        ({"contract": {"fps": 50}}, "describes other weights"),
        ({"architecture": "resnet"}, "no architecture 'resnet'"),
        ({"options": {"wdth": 1}}, "no option 'wdth'"),
        ({"options": {**SMALL, "width": 24}}, "of another shape"),
        ({"options": None}, "cannot be used"),
    ],
)
def test_a_card_of_other_weights_is_refused(tmp_path, encoder, change, said):
    save_encoder(encoder, tmp_path / "small.safetensors")
    card = json.loads((tmp_path / "small.json").read_text())
    (tmp_path / "small.json").write_text(json.dumps({**card, **change}))
    with pytest.raises(CheckpointError, match=said):
        load_encoder(tmp_path / "small.safetensors")


@pytest.mark.parametrize(("text", "said"), [("{", "cannot be read"), ("[1]", "no JSON object"), ("{}", "lacks")])
def test_a_broken_card_is_refused(tmp_path, encoder, text, said):
    save_encoder(encoder, tmp_path / "small.safetensors")
    (tmp_path / "small.json").write_text(text)
    with pytest.raises(CheckpointError, match=said):
        load_encoder(tmp_path / "small.safetensors")


def test_every_architecture_saves_and_loads(tmp_path, seeded):
    for options in ({"gating": True, "domain_norm": True, "domain_specific": True}, {"mlp": False, "classes": 3}):
        encoder = make_encoder("s3d", seeded("s3d", **options))
        save_encoder(encoder, tmp_path / "s3d.safetensors")
        assert load_encoder(tmp_path / "s3d.safetensors").hash == encoder.hash


def test_weights_are_written_only_as_safetensors(tmp_path, encoder):
    with pytest.raises(OptionsError, match=r"\.safetensors; got 'w\.pth'"):
        save_encoder(encoder, tmp_path / "w.pth")
    assert list(tmp_path.iterdir()) == []


def test_weights_too_large_for_half_precision_are_refused(tmp_path, encoder):
    with torch.no_grad():
        encoder.module.mlp.res[0].bias[0] = 1e6
    with pytest.raises(OptionsError, match=r"mlp\.res\.0\.bias.*half=False"):
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
    monkeypatch.setattr(contract, "_SHIPPED", tmp_path)
    save_encoder(encoder, tmp_path / "landmark.safetensors")
    save_encoder(encoder, tmp_path / "another.safetensors")
    assert shipped() == ["another", "landmark"]
    assert load_encoder().hash == load_encoder("landmark").hash == load_encoder("another").hash


def test_a_copy_without_weights_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(contract, "_SHIPPED", tmp_path)
    assert shipped() == []
    with pytest.raises(CheckpointError, match="comes without weights"):
        load_encoder()
    with pytest.raises(CheckpointError, match="No weights are shipped"):
        load_encoder("landmark")


def test_a_missing_file_or_a_folder_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="there is no such file"):
        load_encoder(tmp_path / "none.pth")
    with pytest.raises(CheckpointError, match="it is a folder"):
        load_encoder(tmp_path)


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


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_weights_are_as_readable_as_other_files(tmp_path, encoder):
    before = os.umask(0o022)
    try:
        save_encoder(encoder, tmp_path / "small.safetensors")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def test_a_device_that_is_not_there_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(OptionsError, match="no device 'npu'"):
        load_encoder(tmp_path / "not-there.safetensors", device="npu")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"features": 900_000, "width": 900_000}, "of another shape|missing"),
        ({"frames": 10**8}, "at most 1,000 is taken"),
        ({"features": 10**12}, "at most 1,000,000 is taken"),
        ({"last_width": 0}, "last_width must be at least 1; got 0"),
        ([], "no JSON object"),
    ],
)
def test_a_card_that_asks_for_a_giant_network_gets_no_memory(tmp_path, encoder, options, said):
    """Shapes are compared before anything is built: this network would take terabytes."""
    path = tmp_path / "a.safetensors"
    save_encoder(encoder, path)
    card = json.loads(path.with_suffix(".json").read_text())
    changed = {**card["options"], **options} if isinstance(options, dict) else options
    path.with_suffix(".json").write_text(json.dumps({**card, "options": changed}))
    with pytest.raises(CheckpointError, match=said):
        load_encoder(path)


def test_a_nested_card_is_no_card(tmp_path, encoder):
    path = tmp_path / "a.safetensors"
    save_encoder(encoder, path)
    path.with_suffix(".json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="card"):
        load_encoder(path)
