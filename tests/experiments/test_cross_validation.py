"""Cross-validation across signers: nobody who is measured has taught, and all folds count."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import cross_validation
from experiments.cross_validation import HEAD, LEARNED, cross_validate, deal_signers, look_up_folds
from signspot.corpus.isolated import IsolatedClip
from signspot.evaluation.one_shot import one_shot
from signspot.models.checkpoints import load_encoder
from signspot.training.landmark_encoder import CoderOptimiser, FrameCodesConfig, SourceOptions, open_sources
from signspot_synthetic.isolated_signs import isolated_clips


@pytest.fixture(scope="module")
def clips() -> list[IsolatedClip]:
    """Six words by eight signers, the first of whom has signed everything twice, and one clip by nobody known."""
    signs = isolated_clips(6, 8, 5)
    first = min(clip.signer for clip in signs)
    twice = [replace(clip, clip=f"{clip.clip} again") for clip in signs if clip.signer == first]
    return [*signs, *twice, replace(signs[0], signer="")]


def test_signers_are_dealt_once_each_into_folds_of_equal_size(clips: list[IsolatedClip]) -> None:
    folds = deal_signers(clips, 3)
    assert sorted(signer for fold in folds for signer in fold) == sorted({clip.signer for clip in clips} - {""})
    counts = Counter(clip.signer for clip in clips)
    assert sorted(sum(counts[signer] for signer in fold) for fold in folds) == [18, 18, 18]
    assert folds == deal_signers(clips[::-1], 3)


def test_signers_that_are_left_out_teach_nothing(
    clips: list[IsolatedClip], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.training.landmark_encoder.read_isolated", lambda folder: clips)
    config = FrameCodesConfig((SourceOptions("lsa64", (str(tmp_path),)),))
    left_out = deal_signers(clips, 2)[0]
    (everybody,), _, _ = open_sources(config)
    (some,), _, _ = open_sources(replace(config, sources=(replace(config.sources[0], held_out=(*left_out, "")),)))
    taught = [clip for clip in clips if clip.signer not in (*left_out, "")]
    assert (len(everybody.store.words), len(some.store.words)) == (len(clips), len(taught))
    assert len(taught) in (24, 30)


def test_every_fold_is_looked_up_by_its_own_encoder(clips: list[IsolatedClip], monkeypatch: pytest.MonkeyPatch) -> None:
    folds = deal_signers(clips, 2)
    calls: list[tuple[str, set[str]]] = []

    def watched(spotter, held_out, **options):
        calls.append((spotter.encoder.name, {clip.signer for clip in held_out}))
        return one_shot(spotter, held_out, **options)

    monkeypatch.setattr(cross_validation, "one_shot", watched)
    scores = look_up_folds([load_encoder("warping"), load_encoder("landmark-synthetic")], clips, folds, 1000)
    assert calls == [("warping", set(folds[0])), ("landmark-synthetic", set(folds[1]))]
    assert scores.queries == len(clips) - 1  # all but the one by nobody known
    assert scores.words == 6
    assert scores.recall_5.value > 0.7


@pytest.mark.slow
def test_a_table_of_what_each_fold_taught(
    clips: list[IsolatedClip], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.training.landmark_encoder.read_isolated", lambda folder: clips)
    how = CoderOptimiser(steps=2, signs=4, warm_up=1)
    config = FrameCodesConfig((SourceOptions("lsa64", (str(tmp_path),)),), optimiser=how)
    rows = list(cross_validate(config, {"lsa64": clips}, ["warping"], 2, tmp_path))
    assert [row[:2] for row in rows] == [("lsa64", LEARNED), ("lsa64", "warping")]
    assert {len(row) for row in rows} == {len(HEAD)}
    cards = [load_encoder(tmp_path / f"fold-{fold}" / "encoder.safetensors").card["config"] for fold in (1, 2)]
    assert [card["sources"][0]["held_out"] for card in cards] == [[*signers, ""] for signers in deal_signers(clips, 2)]
    monkeypatch.setattr(cross_validation, "train_frame_codes", None)  # what was trained is read again
    assert list(cross_validate(config, {"lsa64": clips}, ["warping"], 2, tmp_path)) == rows
