"""The demo: the whole pipeline, from rendered pixels through MediaPipe to spottings; and the notebook that uses it."""

import json
from pathlib import Path
from typing import Any

import pytest

from signspot.types import Segment, Spotting
from signspot_synthetic.demo import WORDS, Demo

NOTEBOOK = Path(__file__).parent.parent.parent / "docs" / "start" / "notebook.ipynb"


def test_hits_and_false_alarms_are_counted() -> None:
    hit = Spotting("apple", "v", 1.0, 0.9, 1.1, 0.9)
    stray = Spotting("name", "v", 1.0, 0.9, 1.1, 0.9)
    made = Demo(Path(), (("apple", Segment(0.9, 1.2)), ("apple", Segment(5.0, 5.3))), (hit, stray), ())
    assert (made.found, made.false_alarms) == (1, 1)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOK.parent.parent.parent))
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert {row["word"] for row in names["rows"]} == set(WORDS)
    assert names["matches"][0].word == names["clip"].word
    assert (tmp_path / "demo-out" / "signs.eaf").is_file()
    page = names["dictionary"]._repr_html_()
    assert page.count("<img") == len(WORDS)
    assert all(word in page for word in WORDS)
    page = names["result"]._repr_html_()
    assert page.count("<svg") == len(WORDS)
    assert page.count(" s, 0.") == len(names["rows"])
