"""Exemplars of resting hands are named; exemplars of signs are not."""

import logging
from pathlib import Path

import pytest

from signspot.landmarks.pose_file import write_landmarks
from signspot.records import Exemplar
from signspot.spotting.spotter import load
from signspot.timeline import Segment
from signspot_world.body.motion import isolated
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.projection import project
from signspot_world.knobs import named_rng
from signspot_world.language.lexicon import LexiconOptions, make_lexicon


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
