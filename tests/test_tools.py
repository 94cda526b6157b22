"""Tools that guard the repository find what they are for."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tools import sbom

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
    told = capsys.readouterr().out
    assert [line.split()[1] for line in told.splitlines()] == ["idle", "unused"]
    assert "signspot/a.py:4 idle is used by no code" in told


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
    found = sbom.dependencies("pytest")
    version, licence, needed_by = found["pluggy"]
    assert version
    assert "MIT" in licence
    assert needed_by == "pytest"
    assert sbom.normal("Foo_Bar.baz") == "foo-bar-baz"
