"""OpenVINO, without its reports to its makers and in a precision that is always asked for by name.

OpenVINO and its quantiser report every import and conversion to their makers, unless the package that sends the reports
is missing; so that package is hidden before OpenVINO is first loaded. By default OpenVINO computes in bfloat16 where
the processor can, so one network would give different numbers on different computers.
"""

import importlib
import sys
from typing import Any, Literal

from signspot.errors import OptionsError

Precision = Literal["f32", "bf16"]

_REPORTER = "openvino_telemetry"


def load_openvino() -> Any:
    """The module `openvino`.

    Raises:
        ImportError: it is not installed.
    """
    return _load("openvino")


def load_nncf() -> Any:
    """The module `nncf`, which quantises networks to int8.

    Raises:
        ImportError: it is not installed.
    """
    load_openvino()
    return _load("nncf")


def compile_model(model: Any, precision: Precision, threads: int, **settings: object) -> Any:
    """Compile an OpenVINO model for the CPU.

    Args:
        model: an `openvino.Model`.
        precision: of everything that is not quantised.
        threads: that run it.
        **settings: further properties of OpenVINO.

    Raises:
        OptionsError: OpenVINO computes in another precision on this processor.
    """
    openvino = load_openvino()
    asked = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads, **settings}
    if precision == "f32":
        asked["EXECUTION_MODE_HINT"] = "ACCURACY"
    compiled = openvino.Core().compile_model(model, "CPU", asked)
    if inference_precision(compiled) != precision:
        raise OptionsError(f"OpenVINO computes in {inference_precision(compiled)} here, not in {precision} as asked")
    return compiled


def inference_precision(compiled: Any) -> str:
    """The precision that a compiled model computes in, as OpenVINO names it: "f32", "bf16" ..."""
    return str(compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name())


def has_bfloat16() -> bool:
    """Whether this processor computes in bfloat16."""
    return "BF16" in load_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def _load(name: str) -> Any:
    sys.modules.setdefault(_REPORTER, None)  # type: ignore[arg-type]  # None: an import of it fails
    return importlib.import_module(name)
