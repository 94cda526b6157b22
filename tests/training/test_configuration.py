"""Numbers in TOML files: those out of range are refused in one line; the paper's schedule, scaled."""

from pathlib import Path

import pytest

from signspot.cli.train import training_kinds
from signspot.errors import OptionsError
from signspot.training.configuration import read_training

KINDS = training_kinds()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "rgb"\nweight_decay = nan', "weight_decay in .* must be a finite number; got nan"),
        ('kind = "rgb"\nweight_decay = -1', "weight_decay must be at least 0; got -1"),
        ('kind = "rgb"\nseed = 1' + "0" * 400, "seed in .* must be less than .*; got a number of about 400 digits"),
        ('kind = "rgb"\nseed = ' + "9" * 5000, "is not a TOML file"),
        ('kind = "rgb"\nlr = inf', "lr in .* must be a finite number; got inf"),
        ('kind = "rgb"\nmomentum = 2', "momentum must be at least 0 and at most 1; got 2"),
        ('kind = "rgb"\ndecays = [0.5, nan]', "decays in .* must be a finite number; got nan"),
        ('kind = "rgb"\n[model]\nwidth = nan', r"model\.width in .* must be a finite number; got nan"),
        ('kind = "rgb"\n[augmentation]\nflip = 1.5', "flip must be at least 0 and at most 1; got 1.5"),
        ('kind = "rgb"\n[batch]\nclips = 1', "clips must be at least 2; got 1"),
        ('kind = "embedding"\ntemperature = 0', "temperature must be above 0; got 0"),
        ('kind = "embedding"\nseed = -3', "seed must be at least 0; got -3"),
        ('kind = "embedding"\n[items]\npadding = -0.5', "padding must be at least 0; got -0.5"),
        ('kind = "embedding"\n[items.least]\nmouthing = 80', "mouthing must be at least 0 and at most 1; got 80"),
        ('kind = "frame_codes"\n[optimiser]\nsteps = 0', "steps must be at least 1; got 0"),
        (
            'kind = "frame_codes"\n[[sources]]\nname = "a"\nfolders = ["a"]\n[sources.change]\nlost_face = 2',
            "lost_face must be at least 0 and at most 1; got 2",
        ),
        (
            'kind = "frame_codes"\n[[sources]]\nname = "a"\nfolders = ["a"]\n[sources.change]\ntilt = -1',
            "tilt must be at least 0; got -1",
        ),
        ('kind = "frame_codes"\n[[sources]]\nname = "a"\nfolders = ["b"]\nrecombined = 2', "recombined .* got 2"),
        ('kind = "frame_codes"\n[[sources]]\nname = "a"', r"\[sources\] does not fit.*folder"),
        ('kind = "frame_codes"\n[optimiser]\nsigns = 1', "signs must be at least 2; got 1"),
        ('kind = "frame_codes"\nsources = []', "nothing to learn from"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(OptionsError, match=message):
        read_training(path, KINDS)


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "configs").glob("*.toml")), ids=lambda p: p.name)
def test_the_configurations_that_ship_are_read(path: Path) -> None:
    assert read_training(path, KINDS).name == path.stem


def test_toml_is_read_with_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('kind = "embedding"\nloss = "info_nce"\n[items]\nsources = ["M"]\n[batch]\nitems = 32\n')
    config = read_training(path, KINDS)
    assert (config.loss, config.items.sources, config.batch.items) == ("info_nce", ("M",), 32)
    path.write_text('kind = "embedding"\n[batch]\nitem = 32\n')
    with pytest.raises(OptionsError, match=r"unknown key 'item' in .*\[batch\]\. Did you mean 'items'\?"):
        read_training(path, KINDS)


def test_overrides_take_the_place_of_values(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('kind = "embedding"\nlr = 0.1\n[batch]\nitems = 6\n')
    config = read_training(path, KINDS, ["lr=3e-4", "batch.items=9", "items.sources=['M']", "name=mine"])
    assert (config.lr, config.batch.items, config.items.sources, config.name) == (3e-4, 9, ("M",), "mine")
    assert config.as_dict()["batch"]["items"] == 9  # as the state and the card hold it


@pytest.mark.parametrize("text", ["lr", "=3", "batch.=3", "lr.high=3", "batch.itms=3", "batch.items=many"])
def test_overrides_that_fit_nothing_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text('kind = "embedding"\nlr = 0.1\n')
    with pytest.raises(OptionsError):
        read_training(path, KINDS, [text])
