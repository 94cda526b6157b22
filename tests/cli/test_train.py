"""`signspot train` of an embedding: from a corpus to an encoder that spots; every mistake is one line."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.frame_coder import FrameCoder
from signspot.models.registry import build
from signspot.training import embedding_mlp
from tests.cli.conftest import Cli
from tests.fixtures.corpora import corpus_once
from tests.fixtures.filmed import filmed_corpus

Call = Callable[..., tuple[int, str, str]]

CONFIG = """
kind = "embedding"
name = "mine"
epochs = 3
dimension = 32
[batch]
items = 6
background = 3
clips = 2
"""


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of eight words, as landmarks."""
    return corpus_once(tmp_path_factory, words=8, hours=0.02, seed=3, video_seconds=30.0, dictionary_signers=3).folder


@pytest.fixture
def corpus(small_corpus: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(small_corpus, tmp_path / "corpus"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def train(signspot: Cli, config: Path, inputs: Path, tmp_path: Path) -> Call:
    def call(corpus: Path, *more: object, out: str = "run") -> tuple[int, str, str]:
        encoder = () if "--encoder" in more else ("--encoder", inputs / "encoder.safetensors")
        return signspot("train", config, "--corpus", corpus, "--out", tmp_path / out, *encoder, *more)

    return call


def test_the_result_is_an_encoder_that_spots(
    train: Call, signspot: Cli, small_corpus: Path, inputs: Path, tmp_path: Path
) -> None:
    code, out, err = train(small_corpus)
    assert code == 0, err
    path = tmp_path / "run" / "mine.safetensors"
    assert out.startswith(f"{path}: mine (")
    encoder, trunk = load_encoder(path), load_encoder(inputs / "encoder.safetensors")
    for key, value in trunk.module.trunk.state_dict().items():
        assert torch.equal(value, encoder.module.trunk.state_dict()[key])
    card = encoder.card
    assert card["config"]["trunk"] == trunk.hash
    assert card["config"]["batch"]["items"] == 6
    assert len(card["config"]["corpus"]["digest"]) == 16
    assert card["config"]["corpus"]["items"] > 0
    assert card["command"].startswith("signspot train ")
    assert len(card["metrics"]["loss_by_epoch"]) == 3
    assert (tmp_path / "run" / "curve.png").stat().st_size > 1000
    arguments = (inputs / "footage.pose", inputs / "signs", "--encoder", path, "--threshold", 0, "--json")
    out, _ = signspot.ok("spot", *arguments)
    assert json.loads(out.splitlines()[0])["word"] in ("apple", "friend", "name")


def test_a_dry_run_prints_configuration_sizes_and_time_and_trains_nothing(
    train: Call, small_corpus: Path, tmp_path: Path
) -> None:
    code, out, err = train(small_corpus, "--dry-run", "--set", "compute.precision=bfloat16")
    assert code == 0, err
    printed, _, sizes = out.partition("\n}\n")
    config = json.loads(printed + "}")
    assert (config["batch"]["items"], config["compute"]["precision"], config["momentum"]) == (6, "bfloat16", 0.9)
    assert [line.split(":")[0] for line in sizes.splitlines()] == [
        "weights that are trained",
        "a batch",
        "the state",
        "a step",
    ]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["features"]  # they are used when it is trained
    code, _, err = train(small_corpus, "--set", "compute.accumulate=2")
    assert code == 0, err
    assert load_encoder(tmp_path / "run" / "mine.safetensors").card["config"]["compute"] == {"accumulate": 2}
    assert train(small_corpus)[0] == 2  # the folder holds a run that accumulates


def test_stopped_with_ctrl_c_it_says_how_to_go_on_and_goes_on(
    train: Call, small_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, steps = embedding_mlp.batch_loss, []

    def interrupted(*arguments: Any) -> Any:
        steps.append(1)
        if len(steps) == 4:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(embedding_mlp, "batch_loss", interrupted)
    code, _, err = train(small_corpus)
    assert code == 130
    assert str(tmp_path / "run") in err
    assert f"signspot train {tmp_path}" in err
    assert len(steps) == 4
    assert train(small_corpus)[0] == 0
    assert len(load_encoder(tmp_path / "run" / "mine.safetensors").card["metrics"]["loss_by_epoch"]) == 3


def relabel(corpus: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Rewrite all labels."""
    for path in (corpus / "labels").glob("*.jsonl"):
        changed = [change(json.loads(line)) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(label) + "\n" for label in changed if label is not None))


def no_labels(corpus: Path) -> None:
    shutil.rmtree(corpus / "labels")


def one_word(corpus: Path) -> None:
    words = [
        json.loads(line)["word"]
        for path in (corpus / "labels").glob("train*")
        for line in path.read_text().splitlines()
    ]
    word = max(set(words), key=words.count)
    relabel(corpus, lambda label: label if label["word"] == word else None)


def no_exemplars(corpus: Path) -> None:
    splits = corpus / "splits.json"
    splits.unlink()
    relabel(corpus, lambda label: {**label, "word": "zyzzyva"})


def empty_subtitles(corpus: Path) -> None:
    for path in (corpus / "videos").glob("*.vtt"):
        path.write_text("WEBVTT\n")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_labels, "has no labels in its training videos (1). Spot mouthings or signs in it first"),
        (one_word, "usable labels are of one word, '"),
        (no_exemplars, "no labelled word has an exemplar in the dictionary: 'zyzzyva'. Add exemplars"),
        (empty_subtitles, "have no subtitles, or empty ones. Put ID.vtt beside"),
    ],
)
def test_a_corpus_that_teaches_nothing_is_one_line(
    train: Call, corpus: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(corpus)
    code, _, err = train(corpus)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_word_without_an_exemplar_is_left_out_and_named(train: Call, corpus: Path) -> None:
    (corpus / "splits.json").unlink()
    words: list[str] = []

    def first_gone(label: dict[str, Any]) -> dict[str, Any]:
        words.append(label["word"])
        return {**label, "word": "zyzzyva"} if label["word"] == words[0] else label

    relabel(corpus, first_gone)
    code, _, err = train(corpus)
    assert code == 0
    assert "of words without an exemplar (1): 'zyzzyva'" in err


def test_features_that_are_no_numbers_are_one_line(train: Call, small_corpus: Path, tmp_path: Path) -> None:
    assert train(small_corpus, "--features", tmp_path / "kept", out="first")[0] == 0
    for path in (tmp_path / "kept").rglob("train*.npy"):
        np.save(path, np.full_like(np.load(path), np.nan))
    code, _, err = train(small_corpus, "--features", tmp_path / "kept", out="third")
    assert code == 1
    assert "the kept features of video 'train-0001' are NaN or infinite" in err


def test_a_wrong_configuration_is_one_line(train: Call, small_corpus: Path, config: Path) -> None:
    config.write_text('kind = "embedding"\nloss = "softmax"\n')
    code, _, err = train(small_corpus)
    assert code == 2
    assert "no loss 'softmax'. There are: classification, info_nce" in err
    assert err.count("\n") == 1


def test_a_corpus_must_be_named(signspot: Cli, config: Path) -> None:
    assert "Name its folder with --corpus" in signspot.refused("train", config)


def test_a_checkpoint_of_another_architecture_is_one_line(
    train: Call, small_corpus: Path, tmp_path: Path, inputs: Path
) -> None:
    torch.manual_seed(0)
    other = make_encoder("pixels", build("s3d", frames=8, image_size=32, width=0.1))
    save_encoder(other, tmp_path / "pixels.safetensors")
    code, _, err = train(small_corpus, "--encoder", tmp_path / "pixels.safetensors")
    assert code == 2
    assert "the encoder 'pixels' sees pixels; the video 'train-0001' has only landmarks" in err
    assert train(small_corpus, out="again")[0] == 0
    small = make_encoder("small", build("landmark", width=16, hand_width=8, part_width=8, last_width=16, features=32))
    save_encoder(small, tmp_path / "small.safetensors")
    code, _, err = train(small_corpus, "--encoder", tmp_path / "small.safetensors", out="again")
    assert code == 2
    assert "holds a training with another trunk. Name another folder with --out" in err
    (tmp_path / "again" / "run.json").unlink()
    code, _, err = train(small_corpus, "--encoder", tmp_path / "small.safetensors", out="again")
    assert code == 1
    assert "state.pt" in err
    assert err.count("\n") == 1


RGB = """
kind = "rgb"
name = "small"
epochs = 1
fps = 12.5
model = {frames = 6, image_size = 32, width = 0.06}
batch = {clips = 8, before = 9, after = 3}
"""


def test_an_rgb_trunk_is_trained_and_an_embedding_on_it(
    signspot: Cli, small_corpus: Path, config: Path, inputs: Path, tmp_path: Path
) -> None:
    corpus, rgb = filmed_corpus(tmp_path / "filmed").folder, tmp_path / "rgb.toml"
    rgb.write_text(RGB)
    run = ("--corpus", corpus, "--out", tmp_path / "rgb")
    out, _ = signspot.ok("train", rgb, *run)
    assert out.splitlines()[0].startswith("loss: 1.")
    assert "held-out clips (9): " in out
    assert "chance is 33.3%" in out
    config.write_text(CONFIG.replace("items = 6", "items = 3"))
    trunk = ("--encoder", tmp_path / "rgb" / "small.safetensors")
    signspot.ok("train", config, "--corpus", corpus, "--out", tmp_path / "mlp", *trunk)
    made_of = load_encoder(tmp_path / "mlp" / "mine.safetensors")
    assert (made_of.contract.kind, made_of.contract.fps, made_of.contract.dimension) == ("rgb", 12.5, 32)
    err = signspot.refused("train", rgb, *run, "--encoder", inputs / "encoder.safetensors")
    assert "holds a training with another start" in err
    err = signspot.mistake(
        "train", rgb, *run[:3], tmp_path / "other", "--encoder", inputs / "encoder.safetensors", ends=1
    )
    assert "the encoder 'small' is of another architecture: 'landmark' instead of 'i3d'" in err
    err = signspot.mistake("train", rgb, "--corpus", small_corpus, "--out", tmp_path / "third", ends=1)
    assert "no exemplar of" in err


def test_an_encoder_that_learns_nothing_is_made_from_a_configuration(signspot: Cli, tmp_path: Path) -> None:
    signs = "--set", "signs=4", "--set", "isolated=3", "--set", "continuous=0"
    signspot.ok("synthetic", "make", tmp_path / "signs", "--kind", "signs", *signs)
    (tmp_path / "warping.toml").write_text(
        'kind = "warping"\nname = "plain"\n[[sources]]\nname = "few"\nfolders = ["x"]\n'
    )
    source = f"few={tmp_path / 'signs'}"
    out, _ = signspot.ok("train", tmp_path / "warping.toml", "--source", source, "--out", tmp_path / "run")
    encoder = load_encoder(tmp_path / "run" / "plain.safetensors")
    assert out.startswith(f"{tmp_path / 'run' / 'plain.safetensors'}: plain ({encoder.hash})")
    assert isinstance(encoder.module.trunk, FrameCoder)
    assert len(encoder.module.trunk.decoys) == 4 * 3  # words by signers


def test_frame_codes_without_the_folder_of_a_source_are_one_line(signspot: Cli, tmp_path: Path) -> None:
    (tmp_path / "codes.toml").write_text('kind = "frame_codes"\n[[sources]]\nname = "few"\nfolders = ["nowhere"]\n')
    for source, message in ((), "--source few=FOLDER"), (("--source", "few"), "'few'"), (("--source", "a=b"), "'a'"):
        assert message in signspot.mistake("train", tmp_path / "codes.toml", "--out", tmp_path / "run", *source)
    assert not (tmp_path / "run" / "state.pt").exists()
