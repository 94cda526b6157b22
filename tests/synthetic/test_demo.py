"""The demo: the whole pipeline, from rendered pixels through MediaPipe to spottings; and the notebook that uses it."""

import json
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from signspot.io.progress import silent
from signspot.types import Segment, Spotting
from signspot_synthetic import demo
from signspot_synthetic.demo import WORDS, Demo

NOTEBOOK = Path(__file__).parent.parent.parent / "docs" / "start" / "notebook.ipynb"


def test_hits_and_false_alarms_are_counted() -> None:
    hit = Spotting("apple", "v", 1.0, 0.9, 1.1, 0.9)
    stray = Spotting("name", "v", 1.0, 0.9, 1.1, 0.9)
    demo = Demo(Path(), (("apple", Segment(0.9, 1.2)), ("apple", Segment(5.0, 5.3))), (hit, stray), ())
    assert (demo.found, demo.false_alarms) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "signed", [("coffee", *WORDS), pytest.param(demo.SIGNED, marks=pytest.mark.long)], ids=["fewer signs", "all"]
)
def test_the_notebook_runs(signed: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if signed != demo.SIGNED:
        monkeypatch.setattr(demo, "SIGNED", signed)
        monkeypatch.setattr(demo, "EXEMPLARS", 1)
        monkeypatch.setattr(
            subprocess, "run", lambda *_, **__: demo.run_demo(Path("demo-out"), lambda title: nullcontext(silent))
        )
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
