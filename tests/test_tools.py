"""Tools that check the repository find what they are for."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

from tools import dependencies

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.fixture
def unreferenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, on a repository of one module, `signspot/a.py`."""
    spec = importlib.util.spec_from_file_location("unreferenced", TOOLS / "unreferenced.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "unreferenced", module)
    spec.loader.exec_module(module)
    (tmp_path / "signspot").mkdir()
    (tmp_path / "allowed.txt").write_text("")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "ALLOWED", tmp_path / "allowed.txt")
    return module


def test_what_is_only_defined_is_found(
    unreferenced: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "signspot" / "a.py").write_text(
        '"""Mentions idle in a sentence."""\n'
        "import app\n"
        "def busy() -> None: ...\n"
        "def idle(n: int) -> int: return idle(n - 1)\n"
        "@app.command()\ndef verb() -> None: busy()\n"
        "class Thing:\n    def used(self) -> None: ...\n    def unused(self) -> None: ...\n"
        "Thing().used()\n"
    )
    assert unreferenced.main() == 1
    printed = capsys.readouterr().out
    assert [line.split()[1] for line in printed.splitlines()] == ["idle", "unused"]
    assert "signspot/a.py:4 idle is used by no code" in printed


def test_allowances_hold_and_must_be_needed(
    unreferenced: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "signspot" / "a.py").write_text("def forward() -> None: ...\n")
    (tmp_path / "allowed.txt").write_text("# why\nforward  # torch\n")
    assert unreferenced.main() == 0
    (tmp_path / "allowed.txt").write_text("forward\ngone\n")
    assert unreferenced.main() == 1
    assert "names 'gone', which is used or gone" in capsys.readouterr().out


def test_the_dependency_list_names_what_is_installed() -> None:
    """The distributions that the core needs, and theirs, each with its licence."""
    _, *rows = dependencies.table("pytest", ())
    (row,) = [row for row in rows if row.startswith("| pluggy | ")]
    assert row.endswith(" | pytest |")
    assert "MIT" in row


def make_wheel(path: Path, *requirements: str) -> Path:
    stated = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    with ZipFile(path, "w") as file:
        file.writestr("it-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: it\nVersion: 1\n{stated}\nText.\n")
    return path


def test_an_environment_gets_what_a_wheel_names_and_no_more(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "it.whl", "pluggy>=1", 'ruff; extra == "dev"', 'ruff; sys_platform == "nowhere"')
    for requirement in dependencies.needed(dependencies.of_wheel(wheel)):
        dependencies.link(requirement, tmp_path / "site")
    assert (tmp_path / "site" / "pluggy" / "__init__.py").is_file()
    assert {path.name.partition("-")[0] for path in (tmp_path / "site").iterdir()} == {"pluggy"}


@pytest.mark.parametrize("requirement", ["no-such-thing", "pluggy<0.1"])
def test_what_a_wheel_names_must_be_there(tmp_path: Path, requirement: str) -> None:
    (one,) = dependencies.needed(dependencies.of_wheel(make_wheel(tmp_path / "it.whl", requirement)))
    with pytest.raises(SystemExit) as ended:
        dependencies.link(one, tmp_path / "site")
    assert requirement in str(ended.value)


@pytest.mark.parametrize("version", ["3.10.13", "3.12.1", "3.13.0"])
def test_another_python_is_refused_in_one_line(version: str, tmp_path: Path) -> None:
    """A Python that says that it is of another version."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}" && exit 0\nexit 1\n')
    python.chmod(0o755)
    done = subprocess.run([str(TOOLS / "system-packages"), str(python)], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"found: Python {version}" in done.stderr
    assert done.stderr.count("\n") == 1
