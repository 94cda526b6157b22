"""A signal to stop is noted, and obeyed when the loop asks; a later second one stops at once."""

import signal
from typing import Any

import pytest

from signspot.training.run_folder import StopSign


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSign() as stop:
        assert not stop.heard
        signal.raise_signal(number)
        signal.raise_signal(number)  # a group of processes hears it twice at once
        assert stop.heard
    assert signal.getsignal(number) is before


def test_a_second_signal_a_while_later_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[Any] = [0.0]
    monkeypatch.setattr("signspot.training.run_folder.time.monotonic", lambda: now[0])
    with StopSign(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        now[0] = 2.0
        signal.raise_signal(signal.SIGINT)
