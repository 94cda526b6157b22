"""Verbs that measure: `calibrate --footage`, `dictionary info --check`, `evaluate streams`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.models.checkpoints import load_encoder
from signspot_synthetic.corpus_plan import CorpusOptions
from tests.cli.conftest import Cli
from tests.fixtures.corpora import corpus_once


def test_an_encoder_is_calibrated_on_footage_of_the_user(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    for suffix in (".safetensors", ".json"):
        shutil.copy((inputs / "encoder").with_suffix(suffix), tmp_path)
    weights, footage = tmp_path / "encoder.safetensors", ("--footage", inputs / "footage.pose")
    words = ("--dictionary", inputs / "signs")
    out, _ = signspot.ok("calibrate", weights, *footage, *words, "--rate", "2000")
    threshold = float(out.split("default threshold:")[1])
    assert load_encoder(weights).contract.threshold == threshold
    assert 0.5 <= threshold <= 1
    assert "got 0.1" in signspot.refused("calibrate", weights, *footage, *words, "--rate", "0.1")
    (tmp_path / "videos").mkdir()
    shutil.copy(inputs / "footage.pose", tmp_path / "videos")
    again, _ = signspot.ok("calibrate", weights, "--footage", tmp_path / "videos", *words, "--rate", "2000")
    assert again == out


def test_exemplars_of_little_use_are_named(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    shutil.copytree(inputs / "signs", tmp_path / "signs")
    landmarks = open_landmarks(inputs / "signs" / "apple.pose")
    body = landmarks.body.copy()
    below = body[:, [11, 12], 1].mean() + 2.0 * abs(body[0, 11, 0] - body[0, 12, 0])
    body[:, 13:23, 1] = below + 0.01 * np.sin(np.arange(len(landmarks)) / 5)[:, None]
    no_hand = np.full_like(landmarks.left_hand, np.nan)
    hand = np.repeat(body[:, 16:17, :3], no_hand.shape[1], axis=1)
    write_landmarks(replace(landmarks, body=body, left_hand=no_hand, right_hand=hand), tmp_path / "signs" / "lazy.pose")
    out, err = signspot.ok("dictionary", "info", tmp_path / "signs", "--check")
    assert "exemplar 'lazy' of 'lazy' matches rest: it gets a penalty" in err
    assert "'apple' matches" not in err
    assert "lazy" in out


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = CorpusOptions(
        words=4, hours=0.045, seed=3, video_seconds=80.0, dictionary_signers=3, exemplars=3.0, variants=1
    )
    return corpus_once(tmp_path_factory, options).folder


def test_streams_of_a_corpus_are_measured(signspot: Cli, small_corpus: Path, inputs: Path) -> None:
    command = ("evaluate", "streams", small_corpus, "--encoder", "warping")
    out, _ = signspot.ok(*command, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["exemplars"] for row in rows][:1] == [1]
    assert rows[0]["place"] == small_corpus.name
    assert rows[0]["signs"] > 3
    assert 0 <= rows[0]["mean_average_precision"] <= 1
    assert [alarms[0] for alarms in rows[0]["alarms"]] == [1.0, 10.0, 60.0]
    out, _ = signspot.ok(*command, "--words", "2")
    assert "boundary" in out.splitlines()[0]
    assert len(out.splitlines()) >= 2
    err = signspot.refused("evaluate", "streams", small_corpus, "--filmed")
    assert "train-0001" in err
