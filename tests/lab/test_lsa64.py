"""Measuring on LSA64: checked on invented signs whose answer is known."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from signspot.errors import FormatError, OptionsError
from signspot.landmarks.features import CHANNELS, JOINTS
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.registry import build
from signspot_lab.isolated.lsa64 import read_lsa64
from signspot_lab.lsa64.retrieval import Sign, classifier, one_shot
from signspot_lab.lsa64.streams import make_streams, spot_streams, stream_alarms


def sign(word: int, signer: int, repetition: int) -> Sign:
    """A word is a path of both hands; signers differ a little."""
    own, noise = np.random.default_rng(word), np.random.default_rng([word, signer, repetition])
    frames = 24
    made = np.zeros((frames, JOINTS, CHANNELS), np.float32)
    made[..., 3] = 1
    points = own.normal(0, 0.5, (3, 49, 3)) + noise.normal(0, 0.01, (3, 49, 3))
    share = np.linspace(0, 2, frames)
    for frame, place in enumerate(share):
        low = min(int(place), 1)
        made[frame, :49, :3] = points[low] + (points[low + 1] - points[low]) * (place - low)
    return Sign(word, signer, repetition, made)


@pytest.fixture(scope="module")
def signs() -> list[Sign]:
    return [sign(word, signer, rep) for word in range(1, 57) for signer in (8, 9) for rep in (1, 2)]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    return make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))


def test_easy_signs_are_retrieved_by_everything(encoder: Encoder, signs: list[Sign]) -> None:
    rows = list(one_shot([encoder], signs, [9]))
    assert [(row.method, row.words) for row in rows] == [
        (method, words) for method in ("small", "cosine", "cosine, own time", "warping") for words in ("seen", "unseen")
    ]
    assert [row.queries for row in rows[:2]] == [96, 16]
    for row in rows[2:]:
        assert row.recall_1.value > 0.95
    with pytest.raises(OptionsError, match="at least one other"):
        list(one_shot([encoder], signs, [7]))


def test_every_signer_is_asked_in_turn_and_lends_to_the_others(encoder: Encoder, signs: list[Sign]) -> None:
    both = list(one_shot([encoder], signs, [8, 9]))
    each = [list(one_shot([encoder], signs, [signer])) for signer in (8, 9)]
    for together, one, two in zip(both, *each, strict=True):
        assert together.queries == one.queries + two.queries
        assert together.recall_1.value == pytest.approx((one.recall_1.value + two.recall_1.value) / 2)


def test_streams_hold_every_sign_once_where_the_truth_says(signs: list[Sign]) -> None:
    own = [each for each in signs if each.signer == 9]
    streams = make_streams(own)
    assert sum(len(truth) for _, _, truth in streams) == len(own)
    for name, stream, truth in streams:
        assert np.isfinite(stream).all()
        for one, two in pairwise(truth):
            assert one.segment.end <= two.segment.start
        assert truth[-1].segment.end <= len(stream) / 25 + 1e-9
        assert all(each.video == name for each in truth)


def test_spotting_is_measured_for_encoder_and_warping(encoder: Encoder, signs: list[Sign]) -> None:
    rows = list(spot_streams([encoder], signs, 9, 8))
    assert [(row.method, row.words) for row in rows] == [
        ("small", "seen"), ("small", "unseen"), ("warping", "seen"), ("warping", "unseen"),
    ]  # fmt: skip
    assert all(0 <= row.mean_average_precision <= 1 for row in rows)
    assert rows[2].mean_average_precision > 0.8
    assert rows[2].localisation > 0.8
    assert np.isnan(rows[2].precision)
    with pytest.raises(OptionsError, match="signers 9 and 7"):
        list(spot_streams([encoder], signs, 9, 7))


def test_false_alarms_are_counted_where_a_word_is_not_signed(encoder: Encoder, signs: list[Sign]) -> None:
    alarms = stream_alarms(encoder, signs, tested=9)
    assert alarms.words == 24
    assert 0 < alarms.hours < 0.1
    assert (np.diff(alarms.scores) <= 0).all()
    assert alarms.threshold(300) > alarms.threshold(900)
    with pytest.raises(OptionsError, match="signer 7 and of at least one other"):
        stream_alarms(encoder, signs, tested=7)


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no signer_NN\.npz files"):
        read_lsa64(tmp_path)


def write_signer(path: Path, words: int, frames: int = 30) -> None:
    """A file as LSA64's landmarks come: a right wrist that moves its own way for each word, twice."""
    label = np.array([(word, 1, rep) for word in range(1, words + 1) for rep in (1, 2)], np.int16)
    count = len(label)
    pose = np.zeros((count * frames, 33, 4), np.float16)
    pose[..., 3] = 1
    pose[:, 0, :2], pose[:, 11, :2], pose[:, 12, :2] = (0.5, 0.2), (0.6, 0.4), (0.4, 0.4)
    share = np.linspace(0, 1, frames)
    for clip, (word, _, _) in enumerate(label):
        rows = slice(clip * frames, (clip + 1) * frames)
        pose[rows, 15, :2] = (0.65, 0.9)
        pose[rows, 16, 0], pose[rows, 16, 1] = 0.4 + 0.1 * word * share, 0.8 - 0.3 * share / word
    np.savez(
        path,
        label=label,
        start=np.arange(count + 1, dtype=np.int32) * frames,
        aspect=np.ones(count, np.float32),
        time=np.tile(np.arange(frames) / 20, count).astype(np.float32),
        pose=pose,
        pose_world=pose[..., :3],
        left_hand=np.full((len(pose), 21, 3), np.nan, np.float16),
        right_hand=np.full((len(pose), 21, 3), np.nan, np.float16),
        face=np.full((len(pose), 60, 3), np.nan, np.float16),
    )


def test_a_classifier_is_trained_once(tmp_path: Path) -> None:
    write_signer(tmp_path / "signer_01.npz", words=3)
    made = classifier(tmp_path, tmp_path / "run", steps=2)
    assert made.name == "classifier"
    assert made.contract.dimension == 1024
    assert "6 exemplars of 48 words" in made.card["data"]
    assert classifier(tmp_path, tmp_path / "run", steps=2).hash == made.hash
