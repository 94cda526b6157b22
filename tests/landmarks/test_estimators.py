import os
import threading
from importlib import metadata

import pytest

from signspot.errors import LandmarksError
from signspot.landmarks.estimators import FOLDER, mediapipe_version, without_noise

NOISE = b"""INFO: Created TensorFlow Lite XNNPACK delegate for CPU.
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
W0000 00:00:1794786420.823923   12374 inference_feedback_manager.cc:114] Feedback manager requires a model
I20240101 10:00:00.000000 1 gl_context.cc:357] GL version: 3.2
"""


def test_mediapipe_is_silenced_and_others_are_passed_on(capfd):
    with without_noise():
        os.write(2, NOISE)
        os.write(2, b"the user's own line\nWARNING: mine, too\n")
    assert capfd.readouterr().err == "the user's own line\nWARNING: mine, too\n"


def test_stderr_is_given_back_after_an_error(capfd):
    try:
        with without_noise():
            os.write(2, b"before\n")
            raise ValueError
    except ValueError:
        os.write(2, b"after\n")
    assert capfd.readouterr().err == "before\nafter\n"


def test_threads_do_not_lose_each_others_lines(capfd):
    def speak(number: int) -> None:
        for _ in range(20):
            with without_noise():
                os.write(2, f"line {number}\n".encode())

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"end\n")
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 81
    assert lines[-1] == "end"


def test_without_mediapipe_one_line_says_what_does_instead(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    mediapipe_version.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", version)
    with pytest.raises(LandmarksError, match=FOLDER):
        mediapipe_version()
