"""`python -m experiments.paper`: from options to a table on stdout and its files."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import reproduce
from experiments.paper.__main__ import main
from experiments.paper.setup import Setup
from signspot.errors import OptionsError


def test_a_table_is_shown_and_written(
    tiny: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduce, "SMALL", replace(reproduce.SMALL, retrieval=tiny.size))
    assert tiny.corpus is not None
    main(["table3"], quick=True, corpus=tiny.corpus.folder, out=tmp_path)
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == reproduce.TABLES["table3"].title
    assert "(14.86 ± 1.29)" in shown
    assert (tmp_path / "table3.md").read_text() in shown
    assert (tmp_path / "table3.png").is_file()


def test_an_unknown_table_is_named_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="'table9'"):
        reproduce.reproduce(["table2", "table9"], tmp_path, reproduce.SMALL)
    assert not list(tmp_path.iterdir())
