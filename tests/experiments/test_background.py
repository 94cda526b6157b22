"""Background signing for calibration."""

import torch

from experiments.background import measure_false_alarms
from signspot.models.encoder import make_encoder
from signspot.models.registry import build


def test_background_is_measured_and_seeded() -> None:
    torch.manual_seed(0)
    encoder = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    one, two = (measure_false_alarms(encoder, words=3, hours=0.005, seed=5) for _ in range(2))
    assert one.words == 3
    assert one.hours >= 0.005
    assert (one.scores == two.scores).all()
    assert len(one.scores) > 5
