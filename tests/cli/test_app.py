"""The command line as a whole: help, misuse, exit codes, progress in logs."""

import subprocess
import sys
from pathlib import Path

import pytest

from signspot.cli import console
from signspot.cli.options import default_workers
from tests.cli.conftest import Cli


@pytest.mark.parametrize("verb", [(), ("spot",), ("dictionary",), ("dictionary", "build")])
def test_h_is_help(signspot: Cli, verb: tuple[str, ...]) -> None:
    out, _ = signspot.ok(*verb, "-h")
    assert out == signspot(*verb, "--help")[1]
    assert f"Usage: {' '.join(('signspot', *verb))}" in out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("spot", "--no-such-option"), "See: signspot spot --help"),
        (("dictionary", "build"), "See: signspot dictionary build --help"),
        (("synthetic", "make", "w", "--words", "many"), "See: signspot synthetic make --help"),
        (("no-such-verb",), "See: signspot --help"),
    ],
)
def test_misuse_names_the_help_of_its_command(signspot: Cli, arguments: tuple[str, ...], hint: str) -> None:
    err = signspot.refused(*arguments)
    assert err.rstrip().endswith(hint)


def test_bad_values_end_with_2_and_failures_with_1(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    assert signspot("synthetic", "make", tmp_path / "w", "--size", "large")[0] == 2
    assert signspot("convert", inputs / "footage.pose", tmp_path / "a.docx")[0] == 2
    (tmp_path / "damaged.jsonl").write_text("no json")
    assert signspot("convert", tmp_path / "damaged.jsonl", tmp_path / "a.csv")[0] == 1


@pytest.mark.parametrize("position", ["before", "after"])
def test_debug_may_follow_the_command(inputs: Path, position: str) -> None:
    verb = ["convert", str(inputs / "nowhere.jsonl"), "a.csv"]
    words = ["--debug", *verb] if position == "before" else [*verb, "--debug"]
    code = f"import sys; sys.argv = {['signspot', *words]!r}; from signspot.cli.app import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (2, 1), (8, 7)])
def test_all_usable_cores_but_one_work_by_default_and_at_least_one(
    monkeypatch: pytest.MonkeyPatch, cores: int, workers: int
) -> None:
    """A container, or `taskset`, leaves a process fewer cores than the computer has."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)), raising=False)
    assert default_workers(None) == workers
    assert default_workers(5) == 5


@pytest.mark.parametrize(("cores", "workers"), [(None, 1), (1, 1), (8, 7)])
def test_where_nobody_says_which_cores_are_usable_all_are(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, workers: int
) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert default_workers(None) == workers


def test_in_a_log_progress_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line after 5 s, a further one after 30 s each; the time left follows from the pace since work began."""
    now = [100.0]
    monkeypatch.setattr("signspot.cli.console.time.monotonic", lambda: now[0])
    with console.bar("news.mp4", "frames") as progress:
        for second in range(101):
            now[0] = 700.0 + second  # after ten minutes of preparation
            progress(300 + 25 * second, 2800)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" of")[0] for line in lines[:-1]] == [f"news.mp4: {n:,}" for n in (300, 1050, 1800, 2550)]
    assert lines[1].endswith("1,050 of 2,800 frames, 1 min 10 s left")
    assert lines[-1] == "news.mp4: done in 11 min 40 s"


def test_short_work_is_silent_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with console.bar("exemplars") as progress:
        progress(1, 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_a_bar() -> None:
    code = (
        "from signspot.cli.console import bar\n"
        "with bar('news.mp4', 'frames') as progress: progress(20, 200); progress(50, 200)"
    )
    command = f'{sys.executable} -c "{code}"'
    done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True)
    assert "news.mp4" in done.stdout
    assert "50 of 200" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        "adapt nowhere --out out",
        "calibrate encoder.safetensors --footage footage.pose --footage nowhere --dictionary signs",
        "convert nowhere out.csv",
        "spot footage.pose signs --subtitles nowhere",
        "dictionary build nowhere out",
        "evaluate one-shot signs nowhere",
        "evaluate streams signs nowhere",
        "faux-amis signs nowhere",
        "feedback nowhere apple signs",
        "identify nowhere signs",
        "learn nowhere --dictionary signs --out out",
        "mine apple nowhere --dictionary signs",
        "mouth nowhere",
        "search nowhere apple --dictionary signs",
        "dictionary variants apple nowhere",
        "wake nowhere --sign signs/apple.pose",
        "wake footage.pose --sign signs/apple.pose --background nowhere",
    ],
)
def test_inputs_are_checked_before_any_work(
    signspot: Cli, inputs: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(inputs)
    monkeypatch.setattr("signspot.spotting.spotter.load", None)  # no encoder is loaded
    assert "nowhere" in signspot.mistake(*arguments.split())
    assert not (inputs / "out").exists()


def test_an_encoder_is_exported_as_model_hubs_want_it_and_taken_from_there(
    signspot: Cli, inputs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    out, _ = signspot.ok("models", inputs / "encoder.safetensors", "--export", folder)
    assert out.startswith(f"{folder}: ")
    assert signspot("models", inputs / "encoder.safetensors", "--export", folder)[0] == 1  # nothing is overwritten
    words = ("spot", inputs / "footage.pose", inputs / "signs", "--threshold", "0.5", "--json", "--no-cache")
    plain, published = (signspot(*words, "--encoder", name) for name in (inputs / "encoder.safetensors", folder))
    assert plain[0] == 0
    assert published == plain
