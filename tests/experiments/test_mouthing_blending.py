"""Networks between two networks: halves are halves, what does not fit is refused, and the command writes its card."""

import pytest
import torch

from experiments.mouthing.blending import blend, compare_shares, main
from signspot.errors import OptionsError
from signspot.mouthing.checkpoints import MouthingModel, load_mouthing, save_mouthing
from signspot.mouthing.network import MouthingNetwork, NetworkOptions
from signspot.mouthing.templates import TemplateMatcher


def small(seed: int, width: int = 16) -> MouthingModel:
    torch.manual_seed(seed)
    card = {"licence": "CC0-1.0", "data": f"data {seed}", "command": f"command {seed}", "config": {"seed": seed}}
    return MouthingModel(f"m{seed}", MouthingNetwork(NetworkOptions(width=width, heads=2, maps=4)).eval(), card)


def test_weights_lie_between_and_both_ends_are_the_networks_themselves():
    first, second = small(1), small(2)
    bias = [model.network.state_dict()["first.bias"] for model in (first, second)]
    made = {share: blend(first, second, share, "x").network.state_dict()["first.bias"] for share in (0.0, 0.25, 1.0)}
    torch.testing.assert_close(made[0.0], bias[0])
    torch.testing.assert_close(made[0.25], 0.75 * bias[0] + 0.25 * bias[1])
    torch.testing.assert_close(made[1.0], bias[1])


def test_what_does_not_fit_is_refused():
    with pytest.raises(OptionsError, match=r"between 0 and 1; got 1\.5"):
        blend(small(1), small(2), 1.5, "x")
    with pytest.raises(OptionsError, match="same sizes"):
        blend(small(1), small(2, width=32), 0.5, "x")
    with pytest.raises(OptionsError, match="same sizes"):
        blend(small(1), MouthingModel("t", TemplateMatcher().eval(), {}), 0.5, "x")


def test_the_command_calibrates_and_its_card_names_both(tmp_path, capsys):
    paths = [tmp_path / f"m{seed}.safetensors" for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        save_mouthing(small(seed), path)
    out = tmp_path / "both.safetensors"
    main([*map(str, paths), "--share", "0.5", "--out", str(out), "--clips", "2"])
    assert capsys.readouterr().out == f"wrote {out}\n"
    made = load_mouthing(out)
    known = [load_mouthing(path) for path in paths]
    assert made.name == "both"
    assert [part["hash"] for part in made.card["blended"]] == [model.hash for model in known]
    assert [part["command"] for part in made.card["blended"]] == ["command 1", "command 2"]
    assert made.card["config"] == {"seed": 2}
    assert made.card["command"].endswith("--share 0.5 --clips 2 --seed 11 --distorted 0.5 --out both.safetensors")
    found = made.card["metrics"]["calibration"]
    assert found["trials"] == 16
    assert made.network.scale.tolist() == pytest.approx([found["gain"], found["offset"]], abs=0.01)


def test_shares_are_compared_in_landmarks_and_distorted_with_one_calibration_and_with_two():
    rows = compare_shares(small(1), small(2), (0.0, 1.0), clips=2, seed=5)
    found = [(row.spotter, row.trials) for row in rows if row.threshold == 0.5]
    looks = [f"{look}, one calibration" for look in ("landmarks", "distorted")]
    looks += [f"{look}, its own calibration" for look in ("landmarks", "distorted")]
    assert found == [(f"{share} of m2", look) for share in (0, 1) for look in looks]
    assert {row.asked for row in rows} == {32}


def test_the_command_compares_and_writes_nothing(tmp_path, capsys):
    path = tmp_path / "m.safetensors"
    save_mouthing(small(1), path)
    before = sorted(tmp_path.iterdir())
    main([str(path), str(path), "--share", "0.5", "--compare", "--clips", "1"])
    assert "| 0.5 of m1 | distorted, its own calibration | 0.8 | 16 |" in capsys.readouterr().out
    assert sorted(tmp_path.iterdir()) == before
