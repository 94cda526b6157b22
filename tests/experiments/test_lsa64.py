"""Measuring on LSA64: checked on invented signs whose answer is known."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.isolated.clips import IsolatedClip
from experiments.isolated.lsa64 import read_lsa64
from experiments.lsa64.retrieval import classifier, one_shot
from experiments.lsa64.streams import embed_clips, spot_streams, stream_alarms
from signspot.errors import FormatError, OptionsError
from signspot.evaluation.stream_making import make_streams
from signspot.landmarks.landmarks import Landmarks
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.registry import build
from signspot.spotting.spotter import Spotter


def clip(word: int, signer: int, repetition: int) -> IsolatedClip:
    """A word is a path of both hands and their shapes; signers differ a little; rest before and after."""
    own, noise = np.random.default_rng(word), np.random.default_rng([word, signer, repetition])
    frames, moving = 40, 24
    share = np.clip((np.arange(frames) - 8) / moving, 0, 1)[:, None]
    body = np.zeros((frames, 33, 4), np.float32)
    body[..., 3] = 1
    body[:, 0, :2], body[:, 11, :2], body[:, 12, :2] = (0.5, 0.2), (0.6, 0.4), (0.4, 0.4)
    hands = []
    for wrist, side in ((15, 0.62), (16, 0.38)):
        corners = np.array([[side, 0.8], *own.uniform(0.3, 0.7, (2, 2))]) + noise.normal(0, 0.004, (3, 2))
        path = np.where(
            share < 0.5, corners[0] + (corners[1] - corners[0]) * 2 * share,
            corners[1] + (corners[2] - corners[1]) * (2 * share - 1),
        )  # fmt: skip
        body[:, wrist, :2] = body[:, wrist - 2, :2] = path
        shape = own.normal(0, 0.03, (21, 3)) + noise.normal(0, 0.001, (21, 3))
        shape[0] = 0
        hands.append(np.concatenate([path, np.zeros((frames, 1))], axis=1)[:, None] + shape)
    landmarks = Landmarks(
        body, hands[0], hands[1], np.full((frames, 60, 3), np.nan), np.arange(frames) / 25, (640, 640)
    )
    return IsolatedClip(str(word), str(signer), str(repetition), landmarks)


@pytest.fixture(scope="module")
def clips() -> list[IsolatedClip]:
    return [clip(word, signer, rep) for word in range(1, 57) for signer in (8, 9) for rep in (1, 2)]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    return make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))


def test_easy_signs_are_retrieved_by_everything(encoder: Encoder, clips: list[IsolatedClip]) -> None:
    rows = list(one_shot([encoder], clips, ["9"]))
    assert [(row.method, row.words) for row in rows] == [
        (method, words) for method in ("small", "cosine", "cosine, own time", "warping") for words in ("seen", "unseen")
    ]
    assert [row.queries for row in rows[:2]] == [96, 16]
    for row in rows[2:]:
        assert row.recall_1.value > 0.95
    with pytest.raises(OptionsError, match="at least one other"):
        list(one_shot([encoder], clips, ["7"]))


def test_every_signer_is_asked_in_turn_and_lends_to_the_others(encoder: Encoder, clips: list[IsolatedClip]) -> None:
    few = [clip for clip in clips if int(clip.word) % 4 == 0]
    both = list(one_shot([encoder], few, ["8", "9"]))
    each = [list(one_shot([encoder], few, [signer])) for signer in ("8", "9")]
    for together, one, two in zip(both, *each, strict=True):
        assert together.queries == one.queries + two.queries
        assert together.recall_1.value == pytest.approx((one.recall_1.value + two.recall_1.value) / 2)


def test_streams_hold_every_sign_once_where_the_truth_says(clips: list[IsolatedClip]) -> None:
    own = [each for each in clips if each.signer == "9"]
    streams = make_streams(own)
    assert sum(len(stream.truth) for stream in streams) == len(own)
    by_word = {(each.word, each.clip): each for each in own}
    for stream in streams:
        assert np.isfinite(stream.landmarks.body).all()
        for one, two in pairwise(stream.truth):
            assert one.segment.end <= two.segment.start
        assert stream.truth[-1].segment.end <= len(stream.landmarks) / 25 + 1e-9
        assert all(each.video == stream.name for each in stream.truth)
        for true in stream.truth:  # there the hand goes as in one of the word's clips, faster
            seen = stream.landmarks.between(true.segment).right_hand[:, 0, :2]
            paths = [by_word[true.word, rep].landmarks.right_hand[:, 0, :2] for rep in ("1", "2")]
            assert min(np.abs(seen[:, None] - path).sum(-1).min(1).max() for path in paths) < 0.05


def test_streams_are_searched_as_users_search(encoder: Encoder, clips: list[IsolatedClip]) -> None:
    """The measured spottings are those of `Spotter.search` with a dictionary of the same clips, mirrored ones too."""
    spotter = Spotter(encoder)
    gallery = embed_clips(spotter, [each for each in clips if each.signer == "8" and each.clip == "1"])
    assert len(gallery.embeddings) == 2 * 56
    alone = spotter.embed_exemplar(clips[0].landmarks)
    assert gallery.embeddings[0] == pytest.approx(alone, abs=1e-3)
    mirrored = spotter.embed_exemplar(clips[0].landmarks, mirror=True)
    rows = [row for row in range(112) if gallery.exemplar(row) == (gallery.exemplars[0], True)]
    assert [gallery.embeddings[row] for row in rows] == [pytest.approx(mirrored, abs=1e-3)]


def test_spotting_is_measured_for_encoder_and_warping(encoder: Encoder, clips: list[IsolatedClip]) -> None:
    rows = list(spot_streams([encoder], clips, "9", "8"))
    assert [(row.method, row.words) for row in rows] == [
        ("small", "seen"), ("small", "unseen"), ("warping", "seen"), ("warping", "unseen"),
    ]  # fmt: skip
    assert all(0 <= row.mean_average_precision <= 1 for row in rows)
    assert rows[2].mean_average_precision > 0.8
    assert rows[2].localisation > 0.8
    assert np.isnan(rows[2].precision)
    with pytest.raises(OptionsError, match="signers 9 and 7"):
        list(spot_streams([encoder], clips, "9", "7"))


def test_false_alarms_are_counted_where_a_word_is_not_signed(encoder: Encoder, clips: list[IsolatedClip]) -> None:
    alarms = stream_alarms(encoder, clips, tested="9")
    assert alarms.words == 24
    assert 0 < alarms.hours < 0.1
    assert (np.diff(alarms.scores) <= 0).all()
    assert alarms.threshold(300) > alarms.threshold(900)
    with pytest.raises(OptionsError, match="signer 7 and of at least one other"):
        stream_alarms(encoder, clips, tested="7")


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
