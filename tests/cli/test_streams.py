"""Results go out whole or are told not to; files come first; Ctrl-C, strange users and strange words break nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signspot.cli import console
from signspot.types import Spotting
from tests.fixtures.limits import LIMIT

REPOSITORY = Path(__file__).parent.parent.parent
ENTRY = "from signspot.__main__ import run; run()"
STRANGE = Spotting("[/x] \x1b[31mred", "news.mp4", 1.0, 0.5, 1.5, 0.75, "e")


def start(*arguments: object, **more: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", ENTRY, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)  # type: ignore[call-overload]


def test_words_neither_mark_up_tables_nor_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_spottings([STRANGE], as_json=False)
    console.print_line("word \x1b]0;title\x07")
    console.log("left out \x1b[2J")
    out, err = capsys.readouterr()
    assert "[/x] \\u001b[31mred" in out
    assert "\x1b" not in out + err
    assert "\x07" not in out


def test_a_reader_who_has_left_ends_the_printing_alone() -> None:
    code = (
        "import os, sys; from signspot.cli.console import print_line, print_table\n"
        "print_line('before'); print_table(['a'], [['b']]); print_line('after'); print('here', file=sys.stderr)"
    )
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([sys.executable, "-c", code], stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "here\n")


@pytest.mark.parametrize(("stdout", "code"), [("pipe", 0), ("/dev/full", 1)])
def test_files_are_written_though_results_cannot_be_printed(
    inputs: Path, tmp_path: Path, stdout: str, code: int
) -> None:
    ours, theirs = os.pipe() if stdout == "pipe" else (None, os.open(stdout, os.O_WRONLY))
    if ours is not None:
        os.close(ours)
    encoder, out = ("--encoder", inputs / "encoder.safetensors"), ("--out", tmp_path / "out.csv", "--threshold", "0")
    with start("spot", inputs / "footage.pose", inputs / "signs", *encoder, *out, stdout=theirs) as run:
        _, err = run.communicate(timeout=LIMIT)
    os.close(theirs)
    assert run.returncode == code, err
    assert len((tmp_path / "out.csv").read_text().splitlines()) > 1
    assert "Traceback" not in err
    assert ("cannot print the results: No space left" in err) == (code == 1)


@pytest.mark.parametrize(("module", "message"), [("typer", "nothing was begun"), ("torch", "no unfinished files")])
def test_ctrl_c_while_modules_are_loaded_is_no_traceback(module: str, message: str) -> None:
    """Ctrl-C comes when a module is looked for; its importer then fails in its own way, as extension modules do."""
    code = (
        "import signal, sys\n"
        "class Importer:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            try: signal.raise_signal(signal.SIGINT)\n"
        "            except KeyboardInterrupt: raise ImportError('half loaded') from None\n"
        "sys.meta_path.insert(0, Importer())\n"
    )
    command = [sys.executable, "-c", code + ENTRY, "models"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("signspot: stopped; ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_little_is_loaded_before_ctrl_c_is_heeded() -> None:
    """Until then Python answers with a traceback of its own."""
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); import os, signal; before = set(sys.modules)\n"
        "import signspot.__main__; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if name.startswith("signspot")]
    assert loaded == ["signspot", "signspot.__main__", "signspot.version"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_a_user_whom_the_system_does_not_know_has_folders(tmp_path: Path) -> None:
    code = (
        "import os; from signspot.io.files import cache_folder, state_folder; os.setuid(54321)\n"
        "print(cache_folder(), state_folder())"
    )
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    tmp_path.chmod(0o777)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cache, state = map(Path, done.stdout.split())
    assert cache.parts[-3:] == ("signspot-user-54321", ".cache", "signspot")
    assert state.parts[-4:] == ("signspot-user-54321", ".local", "state", "signspot")
