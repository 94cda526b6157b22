"""One-shot identification, on a few synthetic signs."""

from dataclasses import replace

import pytest

from signspot.corpus.isolated import IsolatedClip
from signspot.errors import OptionsError
from signspot.evaluation.one_shot import DRAWS, one_shot
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot_synthetic.isolated_signs import isolated_clips


def clip(word: str, signer: str, landmarks: Landmarks) -> IsolatedClip:
    return IsolatedClip(word, signer, "1", landmarks)


@pytest.fixture(scope="module")
def signs() -> list[Landmarks]:
    return [clip.landmarks for clip in isolated_clips(5, 1, seed=3)]


@pytest.fixture(scope="module")
def spotter() -> Spotter:
    return load("warping", cache=False)


def test_equal_performances_are_found_first(spotter: Spotter, signs: list[Landmarks]) -> None:
    clips = [clip(f"word {number}", signer, sign) for number, sign in enumerate(signs) for signer in "abc"]
    reports: list[tuple[int, int | None]] = []
    ranks = one_shot(spotter, clips, queries=10, progress=lambda done, total: reports.append((done, total)))
    scores = ranks.scores(spotter, SpotOptions())
    assert (scores.words, scores.queries, scores.median_rank) == (5, 10, 1.0)
    assert scores.recall_1.value == scores.mean_reciprocal_rank.value == 1.0
    assert (scores.encoder, scores.hash) == ("warping", spotter.encoder.hash)
    assert reports[0][0] == 0
    assert max(done for done, _ in reports) <= 25  # 15 are embedded, 10 looked up
    assert one_shot(spotter, clips, queries=10) == ranks


def test_exemplars_are_never_by_the_signer_of_the_query(spotter: Spotter, signs: list[Landmarks]) -> None:
    """Each of two signers performs the words in another order: with own clips all would be found, without none is."""
    clips = [
        clip(f"word {(number + shift) % len(signs)}", signer, sign)
        for number, sign in enumerate(signs)
        for shift, signer in enumerate("ab")
    ]
    scores = one_shot(spotter, clips).scores(spotter, SpotOptions())
    assert scores.recall_1.value == 0.0
    assert scores.recall_5.value == 1.0  # all five words are ranked
    assert DRAWS > 1


def test_clips_without_signer_or_sign_are_left_out(spotter: Spotter, signs: list[Landmarks]) -> None:
    empty = replace(signs[0], body=signs[0].body * float("nan"))
    clips = [clip(f"word {number}", signer, sign) for number, sign in enumerate(signs[:3]) for signer in "ab"]
    more = [*clips, clip("word 9", "a", empty), clip("word 8", "", signs[4])]
    assert one_shot(spotter, more).words == 3
    with pytest.raises(OptionsError):
        one_shot(spotter, [clip for clip in clips if clip.signer == "a"])
