"""Decoys: what comes with weights, exemplars that are near to everything or to rest, the cache of all that."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.embedding.exemplars import Gallery
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.encoder import Encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.spotting.decoys import DecoySet, alignment_scale, decoys_of, score_calibration
from signspot.spotting.matching import warping_costs
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar
from tests.fixtures.spotting import Signing


@pytest.fixture(scope="module")
def spotter() -> Spotter:
    from signspot.spotting.spotter import load

    return load("warping", cache=False)


@pytest.fixture(scope="module")
def encoder(spotter: Spotter) -> Encoder:
    return spotter.encoder


@pytest.fixture(scope="module")
def decoys(encoder: Encoder) -> DecoySet:
    decoys = decoys_of(encoder)
    assert decoys is not None
    return decoys


def gallery_of(codes: np.ndarray) -> Gallery:
    exemplars = [Exemplar(f"word {number}", str(number)) for number in range(len(codes))]
    return Gallery.of(exemplars, np.zeros((len(codes), 1, 1), np.float32), codes[:, None])


def test_decoys_have_as_many_exemplars_as_asked_for(decoys: DecoySet) -> None:
    assert decoys.exemplars == 3
    one, three = decoys.gallery(1, mirror=False), decoys.gallery(3, mirror=True)
    assert len(three.embeddings) == 6 * len(one.embeddings)
    assert one.words.keys() == three.words.keys()


def test_an_encoder_without_decoys() -> None:
    bare = make_encoder("bare", build("frame_codes", codes=8, width=0, embedding=4, mlp=False))
    assert bare.contract.codes == 8
    assert decoys_of(bare) is None


def test_an_exemplar_near_to_everything_costs_more(decoys: DecoySet) -> None:
    everything = decoys.codes[:, 0].mean(axis=0, keepdims=True)
    assert decoys.corrections_of(everything)[0] > decoys.corrections_of(decoys.codes[:20, 0]).mean()


def test_words_of_a_gallery_are_decoys_for_each_other_when_a_sign_is_identified(decoys: DecoySet) -> None:
    """An exemplar amid the others of its gallery costs more against one far from them than without them."""
    far, near = decoys.codes[:1, 0] * 3.0, decoys.codes[1:2, 0]
    alike = near + np.linspace(0.01, 0.2, 20, dtype=np.float32)[:, None, None]
    codes = np.concatenate([far, near, alike])
    corrections, plain = decoys.corrections_in(gallery_of(codes)), decoys.corrections_of(codes)
    assert corrections[1] - corrections[0] > plain[1] - plain[0] + 0.1
    assert np.isclose(corrections.mean(), plain.mean(), rtol=1e-3)
    assert np.allclose(decoys.corrections_in(gallery_of(codes[:1])), plain[:1], rtol=1e-4)


def test_all_words_of_a_gallery_of_some_hundreds_are_decoys_for_each_other(decoys: DecoySet) -> None:
    random, shape = np.random.default_rng(4), decoys.codes.shape[2:]
    codes = (20 * random.normal(size=(150, *shape))).astype(np.float32)
    between = sorted(set(range(150)) - set(np.linspace(0, 149, 100).astype(int).tolist()))[:20]
    codes[between] = codes[between[0]] + 0.01 * random.normal(size=(20, *shape)).astype(np.float32)
    corrections = decoys.corrections_in(gallery_of(codes))
    assert corrections[between].min() > np.delete(corrections, between).max()  # each is near to the other nineteen


def test_a_cached_calibration_is_that_of_the_weights(
    encoder: Encoder, decoys: DecoySet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = score_calibration(encoder, tmp_path)
    (entry,) = (tmp_path / "decoys").glob("*.safetensors")
    content = entry.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("signspot.spotting.decoys.decoys_of", None)  # from now on the network is not asked
        patch.setattr("signspot.spotting.decoys.warping_costs", None)  # nor are costs among decoys computed again
        again = score_calibration(encoder, tmp_path)
        assert again.scale == first.scale == alignment_scale(encoder)
        assert again.decoys is not None
        corrections = again.decoys.corrections_of(decoys.gallery(2, mirror=True).codes)
    assert corrections == pytest.approx(decoys.corrections_of(decoys.gallery(2, mirror=True).codes), abs=1e-5)
    assert np.array_equal(again.decoys.embeddings, decoys.embeddings)
    entry.write_bytes(content[: len(content) // 2])  # damaged: made again
    assert score_calibration(encoder, tmp_path).scale == first.scale
    assert entry.read_bytes() == content


def exemplars(folder: Path, **landmarks: Landmarks) -> list[Exemplar]:
    return [Exemplar(word, word, write_landmarks(sign, folder / f"{word}.pose")) for word, sign in landmarks.items()]


def at_rest(sign: Landmarks, seconds: float = 2.0) -> Landmarks:
    """The same person, arms down, swaying a little."""
    frames = round(seconds * sign.fps)
    still = replace(sign.at(np.linspace(0, 1e-6, frames)), times=np.arange(frames) / sign.fps)
    body = still.body.copy()
    down = body[0, [11, 12], 1].mean() + 2.0 * abs(body[0, 11, 0] - body[0, 12, 0])
    body[:, 13:23, 1] = down + 0.01 * np.sin(np.arange(frames) / 5)[:, None]
    hands = [hand.copy() for hand in (still.left_hand, still.right_hand)]
    for hand in hands:
        hand[..., 1] = down
    return replace(still, body=body, left_hand=hands[0], right_hand=hands[1])


def test_an_exemplar_of_hands_at_rest_is_named_and_counts_less(
    spotter: Spotter, signing: Signing, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    apple = signing.exemplars["apple"]
    with caplog.at_level(logging.WARNING):
        gallery = spotter.gallery(exemplars(tmp_path, apple=apple, lazy=at_rest(apple)))
    assert [(poor.exemplar.word, poor.matches) for poor in spotter.poor_exemplars(gallery)] == [("lazy", "rest")]
    assert "'lazy'" in caplog.text
    best = spotter.search(at_rest(apple, 8.0), gallery).best
    assert best["lazy"].score < 0.7  # it is that very posture, and would score 1


def test_an_exemplar_near_to_everything_is_named(
    spotter: Spotter, decoys: DecoySet, signing: Signing, tmp_path: Path
) -> None:
    gallery = spotter.gallery(exemplars(tmp_path, **signing.exemplars))
    resting = [(poor.exemplar.word, poor.matches) for poor in spotter.poor_exemplars(gallery)]
    assert resting == [("river", "rest")]  # which is signed below the waist: to this encoder it is nothing else
    assert gallery.codes is not None
    codes = decoys.codes[:, 0]
    costs = warping_costs(codes, codes)
    amid = int(np.sort(costs, axis=1)[:, :16].mean(axis=1).argmin())
    blurred = codes[costs[amid].argsort()[:15]].mean(axis=0, keepdims=True)  # a little of many signs
    everything = replace(gallery, codes=np.concatenate([blurred, gallery.codes[1:]]).astype(np.float32))
    named = [(poor.exemplar.word, poor.matches) for poor in spotter.poor_exemplars(everything)]
    assert (gallery.exemplars[0].word, "everything") in named


def test_an_exemplar_of_one_frame_is_a_posture(spotter: Spotter, signing: Signing, tmp_path: Path) -> None:
    apple = signing.exemplars["apple"]
    gallery = spotter.gallery(exemplars(tmp_path, apple=apple.at(np.array([len(apple) / 2 / apple.fps]))))
    assert gallery.codes is not None
    assert np.ptp(gallery.codes, axis=1).max() == pytest.approx(0, abs=1e-5)  # it does not move
    assert 0 <= spotter.search(signing.footage, gallery).best["apple"].score <= 1


def test_an_exemplar_of_a_minute_is_searched(spotter: Spotter, signing: Signing, tmp_path: Path) -> None:
    apple = signing.exemplars["apple"]
    slow = apple.at(np.linspace(0, (len(apple) - 1) / apple.fps, 1500))
    gallery = spotter.gallery(exemplars(tmp_path, apple=replace(slow, times=np.arange(1500) / 25)))
    best = spotter.search(signing.footage, gallery).best["apple"]
    assert 0 <= best.score <= 1
    assert best.end - best.start < 3


@pytest.mark.parametrize("missing", ["left_hand", "right_hand", "face"])
def test_an_exemplar_with_a_part_never_seen_is_searched(
    spotter: Spotter, signing: Signing, tmp_path: Path, missing: str
) -> None:
    apple = signing.exemplars["apple"]
    unseen = {missing: np.full_like(getattr(apple, missing), np.nan)}
    gallery = spotter.gallery(exemplars(tmp_path, apple=replace(apple, **unseen)))
    assert gallery.codes is not None
    assert np.isfinite(gallery.codes).all()
    assert np.isfinite(spotter.search(signing.footage, gallery).best["apple"].score)
