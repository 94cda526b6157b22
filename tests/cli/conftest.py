"""The command line as a user calls it, in this process; a small untrained encoder, and signing as .pose files."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from signspot.cli.app import run
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.checkpoints import save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.random_streams import named_rng

Outcome = tuple[int, str, str]  # exit code, stdout, stderr


@pytest.fixture
def signspot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SIGNSPOT_DEBUG", raising=False)

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["signspot", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            run()
        streams = capsys.readouterr()
        return int(stopped.value.code or 0), streams.out, streams.err

    return call


@pytest.fixture(scope="session")
def corner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `signs/*.pose`, `footage.pose` and `encoder.safetensors`."""
    folder = tmp_path_factory.mktemp("corner")
    lexicon = make_lexicon(LexiconOptions(words=("apple", "friend", "name"), seed=3, variant_shares=(1.0,)))
    signs = [entry.variants[0] for entry in lexicon.values()]
    signer, model = make_signer("one", 1, Role.TEST, left_share=0), make_signer("two", 1, Role.DICTIONARY, left_share=0)
    motion, _ = continuous([*signs, *signs], signer, named_rng(1, "s"))
    write_landmarks(project(motion, signer.camera), folder / "footage.pose")
    for word, sign in zip(lexicon, signs, strict=True):
        performed, _ = isolated(sign, model, named_rng(1, word))
        write_landmarks(project(performed, model.camera), folder / "signs" / f"{word}.pose")
    torch.manual_seed(0)
    small = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    save_encoder(small, folder / "encoder.safetensors")
    return folder
