"""`signspot wake` as a user calls it: events of a file, its picture, and what is refused before anything is loaded."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--threshold", 5), "threshold is a score in [0, 1]; got 5.0"),
        (("--threshold", -0.1), "threshold is a score in [0, 1]; got -0.1"),
        (("--false-alarms-per-hour", 0), "false alarms per hour must be above 0; got 0.0"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(
    signspot: Callable[..., Outcome], corner: Path, options: tuple[str, float], told: str
) -> None:
    footage, encoder = corner / "footage.pose", corner / "encoder.safetensors"
    code, out, err = signspot("wake", footage, "--sign", footage, "--encoder", encoder, *options)
    assert (code, out) == (2, "")
    assert told in err


def test_a_camera_has_no_picture(signspot: Callable[..., Outcome], corner: Path, tmp_path: Path) -> None:
    plot = tmp_path / "w.png"
    code, _, err = signspot("wake", "camera:0", "--sign", corner / "footage.pose", "--plot", plot)
    assert code == 2
    assert "a camera (camera:0) has no end to draw" in err
    assert not plot.exists()


def test_events_of_a_file_are_lines_of_json(signspot: Callable[..., Outcome], corner: Path, tmp_path: Path) -> None:
    sign, plot = corner / "signs" / "apple.pose", tmp_path / "w.png"
    code, out, err = signspot("wake", corner / "footage.pose", "--sign", sign, "--threshold", 0.0, "--plot", plot)
    assert code == 0
    events = [json.loads(line) for line in out.splitlines()]
    assert events
    assert all(event["latency"] <= 14 for event in events)
    assert all(later["time"] - sooner["time"] >= 1 for sooner, later in pairwise(events))
    assert f"{len(events)} event{'' if len(events) == 1 else 's'};" in err
    assert plot.read_bytes()[:4] == b"\x89PNG"


def test_enrolment_says_how_distinctive_the_sign_is(signspot: Callable[..., Outcome], corner: Path) -> None:
    sign, footage = corner / "signs" / "apple.pose", corner / "footage.pose"
    code, _, err = signspot("wake", footage, "--sign", sign)
    assert code == 0
    assert "signing without pause that the background did not show: about " in err
    assert "decoys" in err
    code, _, err = signspot("wake", footage, "--sign", sign, "--dictionary", corner / "signs")
    assert code == 0
    assert "taken for the sign itself: 'apple'" in err
    assert re.search(r"of the dictionary, about [\d.]+ by decoys", err)
    code, _, err = signspot("wake", footage, "--sign", sign, "--dictionary", corner / "signs", "--word", "apple")
    assert code == 0
    assert "taken for the sign itself" not in err
    assert "'apple'" not in err, "a word is no neighbour of itself"
    code, _, err = signspot("wake", footage, "--sign", sign, "--dictionary", corner / "signs", "--word", "aple")
    assert code == 1
    assert "no word 'aple'" in err
    code, _, err = signspot("wake", footage, "--sign", sign, "--word", "apple")
    assert code == 2
    assert "--dictionary" in err
    code, _, err = signspot("wake", footage, "--sign", sign, "--dictionary", corner / "nowhere")
    assert code == 1
    assert "no dictionary at" in err
