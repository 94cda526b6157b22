"""OpenVINO and its quantiser, loaded without their reports: both tell their makers of every import and conversion.

What signspot does with people's videos is told to nobody. OpenVINO goes without reports where the package that sends
them is not installed; so it is hidden before OpenVINO is loaded for the first time.
"""

import importlib
import sys
from typing import Any

_REPORTER = "openvino_telemetry"


def load_openvino() -> Any:
    """The module `openvino`.

    Raises:
        ImportError: it is not installed.
    """
    return _load("openvino")


def load_nncf() -> Any:
    """The module `nncf`, which makes int8 of networks.

    Raises:
        ImportError: it is not installed.
    """
    load_openvino()
    return _load("nncf")


def _load(name: str) -> Any:
    sys.modules.setdefault(_REPORTER, None)  # type: ignore[arg-type]  # None: an import of it fails
    return importlib.import_module(name)
