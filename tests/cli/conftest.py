"""The command line as a user calls it, in this process; a small untrained encoder, and signing as .pose files."""

import sys
from pathlib import Path

import pytest

from signspot.cli.app import run
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.checkpoints import save_encoder
from tests.fixtures.signing import exemplar_of, footage_of, lexicon_of, small_encoder

Outcome = tuple[int, str, str]  # exit code, stdout, stderr


class Cli:
    """The commands as a user calls them, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["signspot", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            run()
        streams = self._capsys.readouterr()
        return int(stopped.value.code or 0), streams.out, streams.err

    def ok(self, *arguments: object) -> tuple[str, str]:
        """What a command that succeeds prints on stdout and stderr."""
        code, out, err = self(*arguments)
        assert code == 0, err
        return out, err

    def refused(self, *arguments: object, ends: int = 2) -> str:
        """What a command that fails with an exit code prints on stderr."""
        code, _, err = self(*arguments)
        assert (code, "Traceback" in err) == (ends, False), err
        return err

    def mistake(self, *arguments: object, ends: int = 2) -> str:
        """The one line that a user's mistake gets on stderr; stdout stays empty."""
        code, out, err = self(*arguments)
        assert (code, out, err.count("\n"), "Traceback" in err) == (ends, "", 1, False), err
        return err


@pytest.fixture
def signspot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SIGNSPOT_DEBUG", raising=False)
    return Cli(monkeypatch, capsys)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `signs/*.pose`, `footage.pose` and `encoder.safetensors`."""
    folder = tmp_path_factory.mktemp("inputs")
    lexicon = lexicon_of("apple", "friend", "name")
    write_landmarks(footage_of(lexicon, [*lexicon, *lexicon])[0], folder / "footage.pose")
    for word in lexicon:
        write_landmarks(exemplar_of(lexicon, word), folder / "signs" / f"{word}.pose")
    save_encoder(small_encoder(), folder / "encoder.safetensors")
    return folder
