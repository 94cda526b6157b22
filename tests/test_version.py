"""The version stands in one place; what must repeat it agrees."""

import tomllib
from pathlib import Path

import signspot

ROOT = Path(signspot.__file__).parent.parent


def test_packaging_takes_the_version_from_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "signspot.version.VERSION"}


def test_the_citation_names_this_version() -> None:
    assert f"version: {signspot.__version__}\n" in (ROOT / "CITATION.cff").read_text()
