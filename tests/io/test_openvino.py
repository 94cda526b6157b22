"""Nothing is told to the makers of OpenVINO."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

if find_spec("openvino") is None:  # an import would tell its makers
    pytest.skip("OpenVINO is not installed", allow_module_level=True)


def test_openvino_is_loaded_without_its_reports() -> None:
    """In a process of its own, since what pytest loads is seen by OpenVINO, too."""
    code = (
        "import sys; from signspot.io.openvino import load_openvino; load_openvino();"
        "from openvino.tools.ovc import telemetry_utils;"
        "print(telemetry_utils.tm.__name__, sys.modules['openvino_telemetry'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["openvino.tools.ovc.telemetry_stub", "None"]
