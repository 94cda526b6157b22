"""The whole loop on a tiny corpus: every stage, what is done again, and a corpus from which nothing can be learnt."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from signspot.annotation.engines import Engine, RayEngine
from signspot.applications.learn import (
    SOURCES,
    LearnOptions,
    Loop,
    LoopResult,
    StageDone,
    gained,
    kept_outcome,
    write_loop_report,
)
from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.labels import contradicted
from signspot.errors import EngineError
from signspot.io.files import text_digest
from signspot.io.processes import WorkerPool
from signspot.recognition.recogniser import RgbRecogniser, load_recogniser
from signspot.training.rgb_clips import RgbBatchOptions, RgbConfig
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.difficulty_knobs import Knobs
from tests.fixtures.annotation import HereEngine
from tests.fixtures.corpora import TINY
from tests.fixtures.filmed import WORDS, filmed_corpus


@pytest.fixture(scope="module")
def encoder(encoder_file: Path) -> str:
    return str(encoder_file)


@pytest.fixture(scope="module")
def options(encoder: str) -> LearnOptions:
    """An encoder that knows nothing: every location is found, and adapting is not for it."""
    return LearnOptions(encoder=encoder, recogniser=TINY.trunk, threshold=0.6)


@pytest.fixture(scope="module")
def run(
    tiny_corpus: Corpus, options: LearnOptions, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, LoopResult]:
    out = tmp_path_factory.mktemp("loop")
    return out, Loop(tiny_corpus.folder, tiny_corpus.layout.dictionary, out, options, HereEngine).run()


def test_every_stage_comes_to_something(run: tuple[Path, LoopResult], tiny_corpus: Corpus, tmp_path: Path) -> None:
    out, learnt = run
    names = [stage.name for stage in learnt.stages]
    assert names == ["labels M", "adaptation", "labels D", "recogniser M", "recogniser D", "recogniser M+D"]
    assert all(stage.redone for stage in learnt.stages)
    assert "not adapted" in learnt.outcome("adaptation")["message"]
    assert learnt.outcome("labels M")["count"] == len(tiny_corpus.labels()) == len(learnt.labels["M"])
    assert learnt.labels["D"]
    assert all((out / f"recogniser-{name}.safetensors").is_file() for name in ("M", "D", "M+D"))
    tested = [learnt.outcome(f"recogniser {name}")["scores"] for name in ("M", "D", "M+D")]
    assert len({tuple((score["tested"], score["clips"]) for score in scores) for scores in tested}) == 1  # alike
    doubted = sum(contradicted(learnt.labels["M"], learnt.labels["D"]))
    assert doubted > 1
    assert (
        f"without {doubted} labels that those found with the dictionary contradict"
        in learnt.outcome("recogniser M+D")["message"]
    )
    page = write_loop_report(learnt, tiny_corpus, tmp_path / "report.html").read_text()
    assert all(title in page for title, _, _ in learnt.lines())
    assert "labels given" in page
    assert "labels M" not in page
    assert page.count("<img") == 2


def test_footage_without_splits_is_split_once(tiny_corpus: Corpus, options: LearnOptions, tmp_path: Path) -> None:
    shutil.copytree(tiny_corpus.folder / "videos", tmp_path / "footage")

    def loop() -> Loop:
        return Loop(tmp_path / "footage", tiny_corpus.layout.dictionary, tmp_path / "out", options, HereEngine)

    first, saved = loop(), tmp_path / "out" / "splits.json"
    test = {video.id for video in first.corpus.in_split("test")}
    assert test
    assert first.training == first.corpus.videos.keys() - test != set()
    splits = json.loads(saved.read_text())
    saved.write_text(json.dumps({"train": splits["test"], "test": splits["train"]}))  # a person may change it
    assert loop().training == test


def test_the_gain_in_one_sentence() -> None:
    def sentence(**recognisers: tuple[str, float | None]) -> str:
        stages = []
        for name, (line, share) in recognisers.items():
            scores = [] if share is None else [{"tested": "all signs", "instance": [share]}]
            stages.append(
                StageDone(f"recogniser {name.replace('_', '+')}", {"message": line, "scores": scores}, redone=True)
            )
        return gained(LoopResult(tuple(stages), {}))

    assert re.findall(r"\d+%", sentence(M=("", 0.5), D=("", 0.25), M_D=("", 0.75))) == ["75%", "50%", "25%"]
    assert re.findall(r"\d+%", sentence(M=("", 0.5))) == ["50%"]
    assert "nobody knows" in sentence(D=("learnt; not tested: nobody knows", None))
    assert "%" not in sentence()


def test_only_what_changed_is_done_again(
    run: tuple[Path, LoopResult], tiny_corpus: Corpus, options: LearnOptions
) -> None:
    out, _ = run
    again = Loop(tiny_corpus.folder, tiny_corpus.layout.dictionary, out, options, HereEngine).run()
    assert not any(stage.redone for stage in again.stages)
    (out / "recogniser-D.safetensors").unlink()
    mended = Loop(tiny_corpus.folder, tiny_corpus.layout.dictionary, out, options, HereEngine).run()
    assert [stage.name for stage in mended.stages if stage.redone] == ["recogniser D"]


def test_a_record_that_a_person_changed_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    outcome = {"message": "x", "files": ["a.jsonl"]}
    record = tmp_path / "stages" / "labels-M.json"
    record.parent.mkdir()

    def outcome_with(**changes: object) -> object:
        checksum = text_digest(json.dumps(changes.get("outcome", outcome), sort_keys=True))
        record.write_text(json.dumps({"key": "k", "outcome": outcome, "checksum": checksum, **changes}))
        return kept_outcome(tmp_path, "labels M", "k")

    assert outcome_with() == outcome
    assert outcome_with(checksum="0") is None
    assert outcome_with(key="other") is None
    for other in (
        "x",
        [1],
        {"files": 7},
        {"files": ["gone"]},
        {"files": ["../a"]},
        {"files": [str(tmp_path / "a.jsonl")]},
    ):
        assert outcome_with(outcome=other) is None
    record.write_text("[" * 100_000)
    assert kept_outcome(tmp_path, "labels M", "k") is None
    record.unlink()
    assert kept_outcome(tmp_path, "labels M", "k") is None


@pytest.mark.long
def test_on_ray_as_on_one_laptop(tiny_corpus: Corpus, options: LearnOptions, tmp_path: Path) -> None:
    """To its end: the same labels by lips and by dictionary, the same recognisers, the same report."""
    if find_spec("ray") is None:
        pytest.skip("the extra 'ray' is not installed")
    engines: dict[str, Callable[[], Engine]] = {"ray": lambda: RayEngine(2), "laptop": lambda: WorkerPool(2)}
    chosen = replace(options, labels="lips", threshold=0.3)
    contents: dict[str, dict[str, bytes]] = {}
    for name, engine in engines.items():
        out = tmp_path / name
        try:
            learnt = Loop(tiny_corpus.folder, tiny_corpus.layout.dictionary, out, chosen, engine).run()
        except EngineError as error:
            if "timed out" in str(error):
                pytest.skip(f"this machine is too busy: {error}")
            raise
        assert all(stage.redone for stage in learnt.stages)
        assert "found on the lips" in learnt.outcome("labels M")["message"]
        assert all(learnt.labels.values())
        write_loop_report(learnt, tiny_corpus, out / "report.html")
        files = ["labels-M.jsonl", "labels-D.jsonl", *(f"recogniser-{source}.safetensors" for source in SOURCES)]
        contents[name] = {file: (out / file).read_bytes() for file in files}
        page = (out / "report.html").read_text()
        assert "<video" in page
        contents[name]["report"] = re.sub(r"data:video[^\"]*", "", page).encode()  # the encoder of clips is not exact
    for name, written in contents["laptop"].items():
        assert contents["ray"][name] == written, name


def test_a_recogniser_that_sees_pixels(options: LearnOptions, tmp_path: Path) -> None:
    """An I3D learns from given labels; nobody is seen in these videos, so there are no others."""
    corpus, out = filmed_corpus(tmp_path / "footage"), tmp_path / "out"
    model = {"frames": 6, "image_size": 32, "width": 0.06}
    config = RgbConfig(model=model, fps=12.5, epochs=1, batch=RgbBatchOptions(clips=8, before=9, after=3))
    chosen = replace(options, labels="given", recogniser=config)
    first, again = (Loop(corpus.folder, corpus.layout.dictionary, out, chosen, HereEngine).run() for _ in range(2))
    (scores,) = first.outcome("recogniser M")["scores"]
    assert scores["clips"] == 9  # of the test video
    assert not next(stage for stage in again.stages if stage.name == "recogniser M").redone
    recogniser = load_recogniser(out / "recogniser-M.safetensors")
    assert isinstance(recogniser, RgbRecogniser)
    assert recogniser.words == WORDS


@pytest.mark.long
def test_on_videos_alone(tmp_path: Path) -> None:
    """People's own footage is video: lips, hands and exemplars are seen by MediaPipe, and the loop comes to its end."""
    people = {"train_signers": 1, "test_signers": 1, "exemplars": 1.0, "variants": 1}
    size = CorpusOptions(words=4, hours=0.008, seed=5, video_seconds=15, render=True, knobs=Knobs(lips=1.0), **people)
    corpus = make_corpus(size, tmp_path / "corpus")
    signs = corpus.layout.dictionary_video
    footage = tmp_path / "footage"
    footage.mkdir()
    for video in corpus.videos.values():
        assert video.video is not None
        assert video.subtitles is not None
        shutil.copy(video.video, footage)
        shutil.copy(video.subtitles, footage)
    shutil.copy(corpus.layout.splits, footage / "splits.json")
    out = tmp_path / "out"
    chosen = LearnOptions(labels="lips", recogniser=replace(TINY.trunk, steps=20), threshold=0.7)
    learnt = Loop(footage, signs, out, chosen, HereEngine).run()
    assert "found on the lips" in learnt.outcome("labels M")["message"]
    assert "could not be seen" not in learnt.outcome("labels D")["message"]
    assert len({label.word for label in learnt.labels["D"]}) > 1
    assert (out / "recogniser-D.safetensors").is_file()
    assert "<video" in write_loop_report(learnt, open_corpus(footage), out / "report.html").read_text()
    again = Loop(footage, signs, out, chosen, HereEngine).run()
    assert not any(stage.redone for stage in again.stages)
