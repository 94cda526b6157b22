"""Backends that run a network: PyTorch as it is, compiled, in half precision, or OpenVINO in float32, bfloat16 or int8.

A backend turns a module of one input into a function of the same shapes. Its name is what users give as `device`. That
of int8 also names the video on whose frames it is calibrated: other frames give other numbers.

Precision is chosen here, never inherited from the processor, the environment or a library's default: see `use_float32`
and `signspot.io.openvino`.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn

from signspot.errors import OptionsError
from signspot.io.files import content_digest
from signspot.io.openvino import Precision, compile_model, has_bfloat16, load_openvino, quantise

How = Literal["eager", "compiled", "half", "openvino", "openvino-bf16", "openvino-int8"]
TensorFunction = Callable[[Tensor], Tensor]

DEVICES = (
    "cpu",
    "cpu-compiled",
    "openvino",
    "openvino-bf16",
    "openvino-int8:VIDEO",
    "cuda",
    "cuda-half",
    "mps",
    "auto",
)

_CPU = torch.device("cpu")
_INT8: Final = "openvino-int8"
_BF16: Final = "openvino-bf16"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The video on whose frames int8 is calibrated."""

    video: Path
    digest: str  # of its content


@dataclass(frozen=True, slots=True)
class Backend:
    """Device and runtime of a network."""

    device: torch.device = _CPU  # where tensors go
    how: How = "eager"
    calibration: Calibration | None = None  # of int8

    @property
    def name(self) -> str:
        """Name of all that decides its numbers beside the weights; part of the hash of encoders that it changes."""
        if self.calibration is None:
            return self.how
        versions = " ".join(f"{package} {version(package)}" for package in ("openvino", "nncf"))
        return f"{self.how} {self.calibration.digest} {versions}"

    @property
    def is_exact(self) -> bool:
        """Whether embeddings are those of PyTorch but for the rounding of float32."""
        return self.how not in ("half", _BF16, _INT8)

    @property
    def has_fixed_shapes(self) -> bool:
        """Whether every shape of input is prepared anew, so that few shapes should be given."""
        return self.how not in ("eager", "half")

    def prepare(self, module: nn.Module, examples: Sequence[Tensor]) -> TensorFunction:
        """Make a function of a module.

        Args:
            module: from one tensor to one tensor, on this backend's device, set to evaluation.
            examples: inputs of the shape that will be given, at least one; int8 is calibrated on all of them.
        """
        if self.how == "eager":
            return module
        if self.how == "compiled":
            return torch.compile(module)
        if self.how == "half":
            halved = module.half()
            return lambda x: halved(x.half()).float()
        precision: Precision = "bf16" if self.how == _BF16 else "f32"
        return _openvino(module, list(examples), precision, int8=self.how == _INT8)


def use_float32() -> None:
    """Have PyTorch compute float32 in float32, whatever the environment or another library has set.

    On CUDA, cuDNN's convolutions otherwise run in TF32; on the CPU, oneDNN may be set to use bfloat16. cuDNN must not
    choose its algorithms by timing them, which would choose anew in every process.
    """
    torch.set_float32_matmul_precision("highest")  # CUDA's products and oneDNN's
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.mkldnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False


def find_backend(name: str) -> Backend:
    """The backend of a device's name: "cpu", "cuda" (or "cuda:1"), "mps", or "auto" for the fastest of these.

    "cpu-compiled" is the CPU by `torch.compile`, "openvino" the CPU by OpenVINO in float32, "openvino-bf16" the same in
    bfloat16, "openvino-int8:news.mp4" in integers of 8 bits, calibrated on frames of that video, "cuda-half" (or
    "cuda:1-half") a GPU in half precision. They change how rgb trunks run; landmark trunks are small and run as PyTorch
    runs them. Every encoder that is loaded or trained comes by here, so PyTorch's precision is chosen here, too.

    Raises:
        OptionsError: there is no such device on this computer, or what runs it is not installed.
    """
    use_float32()
    if name.startswith("openvino"):
        return _find_openvino(name)
    device, _, manner = name.partition("-")
    if manner and manner != {"cpu": "compiled", "cuda": "half"}.get(device.partition(":")[0]):
        raise OptionsError(f"no device '{name}'. There are: {', '.join(DEVICES)}")
    how: How = "compiled" if manner == "compiled" else "half" if manner == "half" else "eager"
    return Backend(_find_place(device), how)


def _find_place(name: str) -> torch.device:
    there = ["cpu"]
    there += ["cuda"] if torch.cuda.is_available() else []
    there += ["mps"] if torch.backends.mps.is_available() else []
    if name == "auto":
        return torch.device(there[-1])
    kind, _, number = name.partition(":")
    if kind not in DEVICES:
        raise OptionsError(f"no device '{name}'. There are: {', '.join(DEVICES)}")
    if kind not in there:
        raise OptionsError(f"no device '{name}' on this computer. It has: {', '.join(there)}. Choose one, or auto.")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if number and not (number.isdecimal() and int(number) < count):
        raise OptionsError(f"no device '{name}': this computer has {count} of '{kind}', counted from 0")
    return torch.device(name)


def _find_openvino(name: str) -> Backend:
    runtime, _, video = name.partition(":")
    if runtime not in ("openvino", _BF16, _INT8) or (video and runtime != _INT8):
        raise OptionsError(f"no device '{name}'. There are: {', '.join(DEVICES)}")
    for package in ("openvino", *(("nncf",) if runtime == _INT8 else ())):
        if find_spec(package) is None:
            raise OptionsError(f"the device '{name}' needs {package}. Install it: pip install 'signspot[openvino]'")
    if runtime == _BF16 and not has_bfloat16():
        raise OptionsError(f"this processor has no bfloat16, which the device '{name}' needs. Choose openvino")
    if runtime != _INT8:
        return Backend(how="openvino-bf16" if runtime == _BF16 else "openvino")
    if not video:
        raise OptionsError(
            f"the device '{name}' is calibrated on frames of a video, and another video gives other numbers. Name one, "
            f"and keep it: {name}:news.mp4"
        )
    if not Path(video).is_file():
        raise OptionsError(f"the device '{name}' is calibrated on frames of a video, but there is no file {video}")
    return Backend(how=_INT8, calibration=Calibration(Path(video), content_digest(video)))


def _openvino(module: nn.Module, examples: list[Tensor], precision: Precision, *, int8: bool) -> TensorFunction:
    openvino = load_openvino()
    example = examples[0].contiguous()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tracing: lengths become constants, as they should for one shape
        model: Any = openvino.convert_model(module, example_input=example, input=[tuple(example.shape)])
    if int8:
        model = quantise(model, [example.contiguous().numpy() for example in examples])
    compiled = compile_model(model, precision, torch.get_num_threads())

    def run(x: Tensor) -> Tensor:
        return torch.from_numpy(compiled([x.contiguous().numpy()])[0].copy())

    return run
