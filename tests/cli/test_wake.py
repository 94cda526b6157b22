"""`signspot wake` as a user calls it: events of a file, its plot, and what is refused before anything is loaded."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (("--threshold", 5), "got 5.0"),
        (("--threshold", -0.1), "got -0.1"),
        (("--false-alarms-per-hour", 0), "got 0.0"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(
    signspot: Cli, inputs: Path, options: tuple[str, float], value: str
) -> None:
    footage, encoder = inputs / "footage.pose", inputs / "encoder.safetensors"
    assert value in signspot.mistake("wake", footage, "--sign", footage, "--encoder", encoder, *options)


def test_a_camera_has_no_plot(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    plot = tmp_path / "w.png"
    assert "camera:0" in signspot.refused("wake", "camera:0", "--sign", inputs / "footage.pose", "--plot", plot)
    assert not plot.exists()


def test_events_of_a_file_are_lines_of_json(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    sign, plot = inputs / "signs" / "apple.pose", tmp_path / "w.png"
    out, err = signspot.ok("wake", inputs / "footage.pose", "--sign", sign, "--threshold", 0.0, "--plot", plot)
    events = [json.loads(line) for line in out.splitlines()]
    assert events
    assert all(event["latency_frames"] <= 14 for event in events)
    assert all(later["end_seconds"] - sooner["end_seconds"] >= 1 for sooner, later in pairwise(events))
    assert all(0 < event["end_seconds"] - event["start_seconds"] < 4 for event in events)
    assert {event["word"] for event in events} == {"apple"}
    assert all(datetime.fromisoformat(event["clock"]).tzinfo is not None for event in events)
    assert "not suitable yet" in err  # one recording
    assert f"{len(events)} event{'' if len(events) == 1 else 's'};" in err
    assert plot.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("options", "code", "expected", "absent"),
    [
        ((), 0, "decoys", "not distinguished from the sign"),
        (("--dictionary", "signs"), 0, "not distinguished from the sign: 'apple'", "nothing"),
        (("--dictionary", "signs", "--word", "apple"), 0, "of the dictionary, about", "'apple'"),
        (("--dictionary", "signs", "--word", "aple"), 1, "'aple'", "events"),
        (("--word", "apple"), 2, "--dictionary", "events"),
        (("--dictionary", "nowhere"), 2, "nowhere", "threshold"),
    ],
)
def test_enrolment_reports_how_distinctive_the_sign_is(
    signspot: Cli,
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    expected: str,
    absent: str,
) -> None:
    monkeypatch.chdir(inputs)
    outcome = signspot("wake", "footage.pose", "--sign", "signs/apple.pose", *options)
    assert outcome[0] == code
    assert expected in outcome[2]
    assert absent not in outcome[2]
