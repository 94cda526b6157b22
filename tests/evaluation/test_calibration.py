"""Thresholds by false alarms per hour."""

from dataclasses import replace

import numpy as np
import pytest

from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.evaluation.calibration import FalseAlarms, false_alarms
from signspot.models.encoder import Encoder
from signspot.spotting.false_alarms import threshold_by_card
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Grid, Track

SCORES = np.linspace(0.99, 0.5, 50, dtype=np.float32)  # 0.99, 0.98, … of 50 false alarms


def test_a_threshold_lets_through_what_was_asked_for() -> None:
    background = FalseAlarms(SCORES, hours=2.0, words=5)
    for rate in (0.1, 0.5, 1.0, 4.0):
        threshold = background.threshold(rate)
        assert (threshold <= SCORES).sum() == round(rate * 2 * 5)
    with pytest.raises(OptionsError, match=r"0\.1"):
        background.threshold(0.05)
    with pytest.raises(OptionsError):
        background.threshold(0)
    assert set(background.table((0.01, 0.1, 1.0))) == {"0.1", "1"}


def test_everything_spotted_in_the_background_is_false(encoder: Encoder) -> None:
    random = np.random.default_rng(0)
    embeddings = random.normal(size=(485, 256)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    track = Track(embeddings, Grid(25.0, 16, 1, 500), encoder.hash)
    gallery = Gallery.of((Exemplar("a", "a"), Exemplar("b", "b")), embeddings[[100, 300]])
    alarms = false_alarms(Spotter(encoder), [track], gallery)
    assert (alarms.words, alarms.hours) == (2, pytest.approx(20 / 3600))
    assert alarms.scores[:2] == pytest.approx([1, 1], abs=1e-5)
    assert (np.diff(alarms.scores) <= 0).all()


def test_a_card_tells_thresholds_between_its_rates(encoder: Encoder) -> None:
    card = {"false_alarms_per_hour": {"0.1": 0.9, "1": 0.8, "10": 0.7}}
    calibrated = replace(encoder, card=card)
    assert threshold_by_card(calibrated, 1.0) == pytest.approx(0.8)
    assert threshold_by_card(calibrated, 10**0.5) == pytest.approx(0.75)
    with pytest.raises(OptionsError, match="20"):
        threshold_by_card(calibrated, 20)
    with pytest.raises(OptionsError):
        threshold_by_card(encoder, 1.0)
