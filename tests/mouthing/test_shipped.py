"""The spotter that ships: small, honest about its data, and better than chance on lips that it has not seen."""

import json
from pathlib import Path

import numpy as np
import pytest

import signspot.mouthing.network as checkpoints
from signspot.corpus.truth import MouthingTruth
from signspot.mouthing.lips import follow_lips
from signspot.mouthing.mouthing_spotter import MouthingSpotter
from signspot.mouthing.trials import LipClip, answer, draw_trials, read_vocabulary
from signspot.training.mouthing import distort_some
from signspot_synthetic.lips_corpus import LipsOptions, make_clip

FOLDER = Path(checkpoints.__file__).parent / "weights"


def test_weights_are_small_and_their_card_says_where_they_come_from():
    remarks = {
        "mouthing-video": "no real face",
        "mouthing-templates": "Nothing was learned",
        "mouthing-synthetic": "no real face",
    }
    assert checkpoints.shipped() == sorted(remarks)
    for name, data in remarks.items():
        path = FOLDER / f"{name}.safetensors"
        assert path.stat().st_size < 3e6
        card = json.loads(path.with_suffix(".json").read_text())
        assert card["licence"] == "CC0-1.0"
        assert data in card["data"]
        assert card["command"].startswith("signspot train ")
        assert name in (FOLDER / "LICENSES.md").read_text()
    assert checkpoints.load_mouthing().name == "mouthing-synthetic"


def test_only_landmarks_that_nobody_filmed_have_another_spotter_than_videos(tmp_path):
    """A `.pose` file of people was estimated from video; the synthetic corpora say that theirs are the synthetic."""
    synthetic, people = tmp_path / "synthetic", tmp_path / "people"
    made_by = {
        synthetic: {"made_by": {"signspot": "0.1.0", "generator": 3}},
        people: {"made_by": {"signspot": "0.1.0"}},
    }
    for folder, data in made_by.items():
        folder.mkdir()
        (folder / "corpus.json").write_text(json.dumps(data))
    clean, filmed = [synthetic / "videos" / name for name in ("a.pose", "b.POSE")], people / "videos" / "c.pose"
    chosen = checkpoints.default_for
    assert chosen(clean) == "mouthing-synthetic"
    assert {chosen([filmed]), chosen([*clean, filmed]), chosen([synthetic / "videos" / "a.mp4"])} == {"mouthing-video"}
    assert {chosen(["alone.pose"]), chosen([])} == {"mouthing-video"}
    for damaged in ("", "{", "[]", '{"made_by": "synthetic"}'):
        (synthetic / "corpus.json").write_text(damaged)
        assert chosen(clean) == "mouthing-video"


@pytest.fixture(scope="module")
def clips():
    """Unseen words of four unseen signers."""
    options = LipsOptions(test=4, seconds=20.0, seed=4321)
    recorded = [make_clip(options, "test", number) for number in range(4)]
    return [
        LipClip(
            follow_lips([clip.landmarks]),
            tuple(MouthingTruth("", word.word, word.segment.start, word.segment.end) for word in clip.words),
        )
        for clip in recorded
    ]


def test_lips_as_in_video_are_read_better_by_the_spotter_for_video(clips):
    """Synthetic lips, distorted as MediaPipe distorts them."""
    distorted = distort_some(clips, 1.0, 0)
    trials = draw_trials(distorted, read_vocabulary(unseen=True), 0, per_clip=16)
    mouthed = np.array([bool(trial.ends) for trial in trials])
    right = {
        name: answer(MouthingSpotter(checkpoints.load_mouthing(name)), distorted, trials).right[mouthed].mean()
        for name in ("mouthing-video", "mouthing-synthetic")
    }
    assert right["mouthing-video"] > right["mouthing-synthetic"]


@pytest.fixture(scope="module")
def answered(clips):
    """Whether each word is mouthed, probabilities and answers."""
    trials = draw_trials(clips, read_vocabulary(unseen=True), 0, per_clip=30)
    answers = answer(MouthingSpotter(checkpoints.load_mouthing()), clips, trials)
    return np.array([bool(trial.ends) for trial in trials]), answers.sure, answers


def test_mouthed_words_are_more_probable(answered):
    mouthed, sure, answers = answered
    better = (sure[mouthed][:, None] > sure[~mouthed]).mean()  # the area under the curve of detection
    assert better > 0.7
    assert answers.right[mouthed].mean() > 0.4


def test_probabilities_mean_what_they_say(answered):
    _, sure, answers = answered
    assert abs(sure.mean() - answers.right.mean()) < 0.15
