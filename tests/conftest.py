"""Shared by all tests: a private cache, as many threads as OMP_NUM_THREADS says, no deadline of hypothesis."""

import gc
import logging
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("signspot", deadline=None, max_examples=15)  # a busy machine is not a reason to fail
settings.register_profile("thorough", deadline=None, max_examples=400)  # pytest --hypothesis-profile=thorough
settings.load_profile("signspot")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that tests start: several test processes share the cores
os.environ.setdefault("SIGNSPOT_SYNC", "0")  # test_files.py tests what is forced to the disk

pytest_plugins = [f"tests.fixtures.{name}" for name in ("limits", "corpora", "annotation", "clips", "lips", "spotting")]

ROOT = Path(__file__).parent.parent


def pytest_collection_finish() -> None:
    """What all test modules have loaded stays: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the user's own cache, nor do servers that serve several tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGNSPOT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(autouse=True)
def quiet_logging() -> Iterator[None]:
    """Commands that run in the test process set levels of loggers: each test begins without any."""
    yield
    for name in ("signspot", "signspot.licence"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Several test processes share the cores: one thread each, unless the environment says otherwise."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@pytest.fixture(scope="session")
def openvino_networks() -> None:
    """Skips where OpenVINO cannot run MediaPipe's networks, such as under ONEDNN_MAX_CPU_ISA=SSE41."""
    if find_spec("openvino") is None:
        pytest.skip("OpenVINO is not installed")
    from signspot.errors import OptionsError
    from signspot.landmarks.mediapipe_networks import NETWORKS, Running

    try:
        for network in NETWORKS:
            Running(network)
    except OptionsError as error:
        pytest.skip(f"OpenVINO cannot run MediaPipe's networks here: {error}")
