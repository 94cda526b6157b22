"""OpenVINO, without its reports to its makers, in a precision that is asked for by name, and safe beside signals.

* OpenVINO and its quantiser report every import and conversion to their makers, unless the package that sends the
  reports is missing; so that package is hidden before OpenVINO is first loaded.
* By default OpenVINO computes in bfloat16 where the processor can, so one network would give different numbers on
  different computers.
* The CPU plugin of each `Core` gives its thread another stack for signal handlers, and unmaps it when it is destroyed.
  The previous stack is restored only if cores are destroyed in reverse order and in the same thread; otherwise the
  thread keeps a stack that is unmapped, or mapped again as somebody's memory, and the next signal (a child that ended,
  Ctrl-C) ends the process without a word or overwrites that memory. So there is one core for the process, and the
  thread's own stack is restored at once.
"""

import ctypes
import importlib
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from typing import Any, Literal

from signspot.errors import OptionsError

Precision = Literal["f32", "bf16"]

_REPORTER = "openvino_telemetry"

logger = logging.getLogger(__name__)


def load_openvino() -> Any:
    """The module `openvino`.

    Raises:
        ImportError: it is not installed.
    """
    return _load("openvino")


@cache
def openvino_core() -> Any:
    """The only `openvino.Core` of this process, its CPU plugin loaded."""
    with _same_signal_stack():
        core = load_openvino().Core()
        core.get_property("CPU", "FULL_DEVICE_NAME")
    return core


def compile_model(model: Any, precision: Precision, threads: int, **settings: object) -> Any:
    """Compile an OpenVINO model for the CPU.

    Args:
        model: an `openvino.Model`.
        precision: of everything that is not quantised.
        threads: that run it.
        **settings: further properties of OpenVINO.

    Raises:
        OptionsError: OpenVINO cannot compute in this precision on this processor, as limited by the environment.
    """
    config = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads, **settings}
    if precision == "f32":
        config["EXECUTION_MODE_HINT"] = "ACCURACY"
    try:
        compiled = openvino_core().compile_model(model, "CPU", config)
    except RuntimeError as error:
        raise OptionsError(f"OpenVINO cannot compile this network in {precision} here ({error})") from error
    if inference_precision(compiled) != precision:
        raise OptionsError(f"OpenVINO computes in {inference_precision(compiled)} here, not in {precision} as asked")
    return compiled


def inference_precision(compiled: Any) -> str:
    """The precision that a compiled model computes in, as OpenVINO names it: "f32", "bf16" ..."""
    return str(compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name())


def has_bfloat16() -> bool:
    """Whether this processor computes in bfloat16."""
    return "BF16" in openvino_core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def quantise(model: Any, inputs: Sequence[Any]) -> Any:
    """An OpenVINO model in int8, calibrated on some inputs.

    Raises:
        ImportError: nncf is not installed.
    """
    load_openvino()
    nncf = _load("nncf")
    nncf.set_log_level(logging.ERROR)
    logger.info("int8 is calibrated on %d inputs of %s", len(inputs), tuple(inputs[0].shape))
    with _same_signal_stack(), redirect_stdout(StringIO()):  # it makes cores of its own, and draws bars
        return nncf.quantize(model, nncf.Dataset(inputs), subset_size=len(inputs))


class _SignalStack(ctypes.Structure):
    """`stack_t` of Linux."""

    _fields_ = (("pointer", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


@contextmanager
def _same_signal_stack() -> Iterator[None]:
    """Have this thread's signal handlers run on the same stack after the block as before it; only Linux needs it."""
    before, library = _SignalStack(), ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is not None:
        library.sigaltstack(None, ctypes.byref(before))
    try:
        yield
    finally:
        if library is not None:
            library.sigaltstack(ctypes.byref(before), None)


def _load(name: str) -> Any:
    sys.modules.setdefault(_REPORTER, None)  # type: ignore[arg-type]  # None: an import of it fails
    return importlib.import_module(name)
