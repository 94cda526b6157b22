"""What comes with weights: rest, by which exemplars of resting hands are named, and decoys, kept without PyTorch."""

import logging
from pathlib import Path

import numpy as np
import pytest

from signspot.embedding.exemplars import Gallery
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.checkpoints import load_encoder
from signspot.spotting.decoys import cohort_of, yardsticks_of
from signspot.spotting.identification import alignment_scale
from signspot.spotting.spotter import load
from signspot.types import Exemplar, Segment
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon


def test_an_exemplar_of_resting_hands_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lexicon = make_lexicon(LexiconOptions(words=("apple", "name"), seed=3, variant_shares=(1.0,)))
    signer = make_signer("one", 1, Role.DICTIONARY, left_share=0)
    exemplars = []
    for word, entry in lexicon.items():
        motion, segment = isolated(entry.variants[0], signer, named_rng(1, word))
        write_landmarks(project(motion, signer.camera), tmp_path / f"{word}.pose")
        exemplars.append(Exemplar(word, word, tmp_path / f"{word}.pose", segment=segment))
    rest = Segment(0.0, 0.3)  # before the first sign begins
    spotter = load("warping", cache=False)
    with caplog.at_level(logging.WARNING, logger="signspot"):
        spotter.gallery(exemplars)
        assert "matches rest" not in caplog.text
        spotter.gallery([*exemplars, Exemplar("still", "arms-down", exemplars[0].path, segment=rest)])
    assert (
        "exemplar 'arms-down' of 'still' matches rest: it counts less. Leave it out, or give the segment" in caplog.text
    )


def test_kept_yardsticks_are_those_of_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder("warping")
    first = yardsticks_of(encoder, tmp_path)
    monkeypatch.setattr("signspot.spotting.weight_facts.decoy_arrays", None)  # from now on the network is not asked
    again = yardsticks_of(encoder, tmp_path)
    assert again.scale == first.scale == alignment_scale(encoder)
    assert first.cohort is not None
    assert again.cohort is not None
    assert again.cohort.typical == first.cohort.typical
    shown = again.cohort.gallery(2, mirror=True)
    assert isinstance(shown, Gallery)
    assert shown.codes is not None
    monkeypatch.setattr("signspot.spotting.decoys.warping_costs", None)  # nor is any cost among decoys worked out again
    corrections = again.cohort.corrections_of(shown.codes)
    monkeypatch.undo()
    fresh = cohort_of(encoder)
    assert fresh is not None
    assert corrections == pytest.approx(fresh.corrections_of(shown.codes), abs=1e-5)
    assert np.array_equal(shown.embeddings, fresh.gallery(2, mirror=True).embeddings)


def test_damaged_yardsticks_are_made_again(tmp_path: Path) -> None:
    encoder = load_encoder("warping")
    first = yardsticks_of(encoder, tmp_path)
    (entry,) = (tmp_path / "decoys").glob("*.safetensors")
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    assert yardsticks_of(encoder, tmp_path).scale == first.scale
    assert entry.read_bytes() == whole
