"""The commands of docs/how-to/run-on-a-cluster.md lead from raw videos to a recogniser: in order, tiny, on one core."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from signspot.corpus.corpus import open_corpus
from signspot.models.registry import build
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus

ROOT = Path(__file__).parents[2]
SIZES = {"model.image_size": 32, "epochs": 2, "batch.surer": 0, "batch.least.mouthing": 0}
REPLACED = {  # what only a cluster has, and what is too large for a test
    r"torchrun .* -m signspot": "signspot",
    r" --device cuda| --engine ray": "",
    r"--shard 1/8": "--shard 1/1",
    r"--workers 8": "--workers 1",
    r"(signspot train \S+)": rf"\1 {' '.join(f'--set {key}={value}' for key, value in SIZES.items())}",
    r"(--source mouthing)": r"\1 --threshold 0 --word-threshold 0",
    r"(--dictionary my-signs/)": r"\1 --threshold 0",
}


def page_commands() -> list[list[str]]:
    """The commands of signspot in the steps of the page, as they run here."""
    page = (ROOT / "docs" / "how-to" / "run-on-a-cluster.md").read_text(encoding="utf-8")
    steps = page.partition("## The steps")[2].partition("```sh\n")[2].partition("```")[0].replace("\\\n", " ")
    for pattern, replacement in REPLACED.items():
        steps, count = re.subn(pattern, replacement, steps)
        assert count, f"the page has no {pattern}"
    return [shlex.split(line)[1:] for line in steps.splitlines() if line.startswith("signspot ")]


@pytest.fixture
def footage(tmp_path: Path) -> Path:
    """Videos with subtitles, splits, what a person has verified, example videos, and a checkpoint of Kinetics."""
    options = CorpusOptions(
        words=4, hours=0.006, seed=4, video_seconds=7, render=True, size=(160, 120), variants=1, exemplars=1,
        most_exemplars=1, train_signers=2, test_signers=1,
    )  # fmt: skip
    corpus, folder = make_corpus(options, tmp_path / "made"), tmp_path / "footage"
    shutil.copytree(corpus.folder / "videos", folder / "videos", ignore=shutil.ignore_patterns("*.pose"))
    shutil.copytree(corpus.folder / "dictionary-video", folder / "dictionary")
    shutil.copy(corpus.folder / "splits.json", folder)
    verified = [
        {"word": s.word, "video": s.video, "time": s.start, "start": s.start, "end": s.end, "source": "V"}
        for video in corpus.in_split("test")
        for s in corpus.signs(video.id)
        if s.listed
    ]
    (folder / "labels").mkdir()
    (folder / "labels" / "V.jsonl").write_text("".join(json.dumps(label) + "\n" for label in verified))
    (tmp_path / "my-signs").symlink_to(folder / "dictionary")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    torch.manual_seed(1)
    trunk = build("i3d", classes=400, mlp=False).trunk.state_dict()
    torch.save({"state_dict": {f"module.{name}": value for name, value in trunk.items()}}, tmp_path / "kinetics.pth")
    return folder


@pytest.mark.long
def test_the_page_leads_from_raw_videos_to_a_recogniser(
    signspot: Callable[..., tuple[int, str, str]], footage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    outputs = []
    for command in page_commands():
        code, out, err = signspot(*command)
        print(shlex.join(["signspot", *command]), out, sep="\n")
        assert code == 0, f"{shlex.join(command)}\n{err}"
        outputs.append(out)
    videos = len(open_corpus(footage).videos)
    assert f"{videos} tracks made, 0 there already" in outputs[0]
    assert len(list((tmp_path / "archive").glob("*.safetensors"))) == videos
    assert {label.source.value for label in open_corpus(footage).labels()} == {"M", "D", "V"}
    assert "a step: " in outputs[3]
    assert (tmp_path / "runs" / "rgb" / "rgb.safetensors").is_file()
    assert "%" in outputs[-1]
