"""One contract over all backends: the same features as eager PyTorch, to rounding or to the loss that is told."""

import os
from importlib.util import find_spec
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from signspot.errors import OptionsError
from signspot.io import openvino
from signspot.models import backends
from signspot.models.backends import Backend, find_backend
from signspot.models.encoder_network import find_device, make_encoder
from signspot.models.inception import I3D, I3DOptions, WindowEmbedder
from signspot.models.registry import build

SIDE = 32
STARTS = [*range(8), 12, 20]


@pytest.fixture(scope="module")
def frames():
    """Each frame brighter or darker in places of its own, so that windows differ."""
    random = torch.Generator().manual_seed(1)
    coarse = torch.rand(40, 3, 4, 4, generator=random)
    return F.interpolate(coarse, size=(SIDE, SIDE)) - 0.5


@pytest.fixture(scope="module")
def trunk(frames):
    """Random weights, and batch norms that know what passes through them, so that signals live to the last layer."""
    torch.manual_seed(0)
    network = I3D(I3DOptions(image_size=SIDE, width=0.1))
    for unit in network.modules():
        if isinstance(unit, nn.BatchNorm3d):
            unit.momentum = 1.0
    with torch.no_grad():
        network.train()(torch.stack([frames[at : at + 16].transpose(0, 1) for at in (0, 8, 16, 24)]))
    return network.eval()


@pytest.fixture
def compiled_models(monkeypatch):
    """The models that OpenVINO compiles within a test."""
    models = []

    def compile_and_keep(*arguments, **settings):
        models.append(openvino.compile_model(*arguments, **settings))
        return models[-1]

    monkeypatch.setattr(backends, "compile_model", compile_and_keep)
    return models


def precisions(model):
    """The precisions in which a compiled model computes its layers."""
    infos = [operation.get_rt_info() for operation in model.get_runtime_model().get_ops()]
    return {info["runtimePrecision"].astype(str) for info in infos}


def need(*packages: str) -> None:
    """Skip where a package is missing; they are not imported, which would tell their makers."""
    if any(find_spec(package) is None for package in packages):
        pytest.skip(f"{' and '.join(packages)} are not installed")


def plain(trunk, frames):
    with torch.inference_mode():
        return F.normalize(torch.cat([trunk(frames[at : at + 16].transpose(0, 1)[None]) for at in STARTS]))


def embedded(trunk, frames, starts, backend, examples=None):
    trunk.backend = backend
    try:
        return F.normalize(WindowEmbedder(trunk, batch=6, examples=examples)(frames, starts))
    finally:
        trunk.backend = Backend()


@pytest.mark.parametrize(("how", "least"), [("eager", 0.999999), ("half", 0.995), ("openvino", 0.99999)])
def test_a_backend_gives_the_features_of_the_plain_network(trunk, frames, how, least):
    """Whole blocks, a rest that is shorter, and windows that lie apart."""
    if how == "openvino":
        need("openvino")
    starts = STARTS[:6] if how == "openvino" else STARTS  # every shape is compiled, for seconds
    expected = plain(trunk, frames)[: len(starts)]
    features = embedded(trunk, frames, starts, Backend(how=how))
    assert features.dtype == torch.float32
    assert features.shape == expected.shape
    assert float((features * expected).sum(dim=1).min()) > least
    assert float((features[0] - features[-1]).abs().max()) > 0.01  # windows differ: the comparison says something


@pytest.mark.parametrize("how", ["openvino", "openvino-bf16", "openvino-int8"])
def test_openvino_computes_in_the_precision_of_the_device_name(compiled_models, capfd, how):
    """Left to itself OpenVINO takes bfloat16 where the processor has it, between the layers of int8 too."""
    need("openvino", *(["nncf"] if how == "openvino-int8" else []))
    if how == "openvino-bf16" and not openvino.has_bfloat16():
        pytest.skip("this processor has no bfloat16")
    if how == "openvino-bf16" and "ONEDNN_MAX_CPU_ISA" in os.environ:
        pytest.skip("oneDNN may be limited to instructions without bfloat16")
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv3d(3, 16, 3), nn.ReLU(), nn.Conv3d(16, 16, 3), nn.ReLU()).eval()
    clips = torch.rand(2, 3, 8, 16, 16)
    with torch.inference_mode():
        expected = module(clips)
        features = Backend(how=how).prepare(module, [clips])(clips)
    (model,) = compiled_models
    assert openvino.inference_precision(model) == ("bf16" if how == "openvino-bf16" else "f32")
    lossy = {"openvino": set(), "openvino-bf16": {"bf16"}, "openvino-int8": {"u8"}}[how]
    assert precisions(model) & {"bf16", "f16", "u8"} == lossy
    rounding = {"openvino": 1e-5, "openvino-bf16": 2**-8, "openvino-int8": 2**-4}[how]  # some steps of 2**-24, -9, -7
    assert float((features - expected).abs().max()) < rounding * 4 * float(expected.abs().max())
    assert capfd.readouterr().out == ""  # nncf draws no bars


def test_a_precision_that_openvino_does_not_grant_is_an_error(monkeypatch):
    need("openvino")
    runtime = openvino.load_openvino()
    monkeypatch.setattr(openvino, "inference_precision", lambda model: "bf16")
    parameter = runtime.opset13.parameter([1])
    with pytest.raises(OptionsError):
        openvino.compile_model(runtime.Model([parameter], [parameter]), "f32", 1)


def test_finding_a_device_chooses_the_precision_of_pytorch():
    torch.set_float32_matmul_precision("medium")
    torch.backends.cudnn.allow_tf32 = True
    onednn: Any = torch.backends.mkldnn
    onednn.conv.fp32_precision = "bf16"
    find_backend("cpu")
    assert torch.get_float32_matmul_precision() == "highest"
    assert onednn.matmul.fp32_precision == onednn.conv.fp32_precision == "ieee"
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32


def test_int8_is_never_calibrated_on_what_is_embedded(trunk, frames):
    with pytest.raises(OptionsError):
        embedded(trunk, frames, STARTS, Backend(how="openvino-int8"))


def test_a_compiled_network_is_the_same_function(trunk, frames, monkeypatch):
    """Compiling takes a minute and a C++ compiler: here only that the compiled function is what runs."""
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda module: compiled.append(module) or module)
    expected = embedded(trunk, frames, range(4), Backend())
    assert torch.equal(embedded(trunk, frames, range(4), Backend(how="compiled")), expected)
    assert len(compiled) == 1


def test_a_backend_is_prepared_once_for_all_videos(frames, monkeypatch):
    prepared = []
    monkeypatch.setattr(Backend, "prepare", lambda self, module, examples: prepared.append(1) or module)
    encoder = make_encoder("small", build("i3d", image_size=SIDE, width=0.1)).to("cpu-compiled")
    for _ in range(2):
        encoder.module.window_features()(frames, range(6))
    assert len(prepared) == 1


def test_what_loses_precision_has_a_hash_of_its_own(monkeypatch):
    need("openvino", "nncf")
    encoder = make_encoder("small", build("i3d", image_size=SIDE, width=0.1))
    monkeypatch.setattr(backends, "has_bfloat16", lambda: True)
    assert encoder.to("openvino").hash == encoder.hash
    assert encoder.to("openvino-bf16").hash not in (encoder.hash, encoder.to(f"openvino-int8:{__file__}").hash)
    assert encoder.to(f"openvino-int8:{__file__}").hash != encoder.hash
    assert encoder.to(f"openvino-int8:{__file__}").hash == encoder.to(f"openvino-int8:{__file__}").hash
    assert encoder.to("cpu").hash == encoder.hash
    assert encoder.module.trunk.backend == Backend()


def test_backends_have_names(monkeypatch):
    assert find_backend("cpu") == Backend()
    assert find_backend("cpu-compiled") == Backend(how="compiled")
    assert find_device("auto").type in ("cpu", "cuda", "mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_backend("cuda-half") == Backend(torch.device("cuda"), "half")
    assert find_backend("cuda:1-half") == Backend(torch.device("cuda:1"), "half")
    assert find_device("cuda:1-half") == torch.device("cuda:1")
    assert not find_backend("cuda-half").is_exact


@pytest.mark.parametrize(
    "name", ["gpu", "cpu:1", "cpu-half", "cuda-compiled", "openvino-int4", "openvino:0", "mps-half"]
)
def test_other_names_are_refused(name):
    with pytest.raises(OptionsError, match=f"'{name}'"):
        find_backend(name)


def test_what_is_not_installed_or_not_there_is_reported(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(OptionsError, match="'cuda'"):
        find_backend("cuda-half")
    monkeypatch.setattr("signspot.models.backends.find_spec", lambda name: name)
    with pytest.raises(OptionsError):
        find_backend("openvino-int8")
    with pytest.raises(OptionsError, match=r"none\.mp4"):
        find_backend("openvino-int8:none.mp4")
    monkeypatch.setattr(backends, "has_bfloat16", lambda: False)
    with pytest.raises(OptionsError, match="openvino-bf16"):
        find_backend("openvino-bf16")
    monkeypatch.setattr("signspot.models.backends.find_spec", lambda name: None)
    with pytest.raises(OptionsError, match=r"needs openvino. Install it: pip install 'signspot\[openvino\]'"):
        find_backend("openvino")
