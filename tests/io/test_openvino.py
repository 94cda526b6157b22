"""What OpenVINO must not do to the process that loads it, in a process of its own."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

if find_spec("openvino") is None:  # an import would tell its makers
    pytest.skip("OpenVINO is not installed", allow_module_level=True)

_SIGNALS = """
import os, signal, threading
from signspot.io import openvino

signal.signal(signal.SIGCHLD, lambda *_: print("handled", flush=True))
parameter = openvino.load_openvino().opset13.parameter([1])
model = openvino.load_openvino().Model([parameter], [parameter])
openvino.compile_model(model, "f32", 1)
dropping = threading.Thread(target=openvino.openvino_core.cache_clear)
dropping.start()
dropping.join()
os.kill(os.getpid(), signal.SIGCHLD)
"""

_REPORTS = """
import sys
from signspot.io.openvino import load_openvino

load_openvino()
from openvino.tools.ovc import telemetry_utils
print(telemetry_utils.tm.__name__, sys.modules["openvino_telemetry"])
"""


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_it_is_loaded_without_its_reports() -> None:
    assert run(_REPORTS) == ["openvino.tools.ovc.telemetry_stub", "None"]


def test_signals_are_handled_after_its_core_is_gone() -> None:
    """A core of OpenVINO replaces the stack of signal handlers; a stack that is left unmapped ends the process."""
    assert run(_SIGNALS) == ["handled"]
