"""The version stands in one place for the code and in one for packaging; they agree."""

import tomllib
from pathlib import Path

import signspot


def test_versions_agree() -> None:
    root = Path(signspot.__file__).parent.parent
    said = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert signspot.__version__ == said
    assert f"version: {said}\n" in (root / "CITATION.cff").read_text()
