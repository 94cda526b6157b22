"""Recognisers beside the nearest exemplar: the same signs, ranks by word, what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signspot.corpus.corpus import Corpus
from signspot.corpus.labels import SignWindow
from signspot.errors import OptionsError
from signspot.evaluation.recognition import NearestExemplar, evaluate_recognisers
from signspot.recognition.recogniser import Recogniser
from signspot.recognition.scoring import ALL, score_classifier, signs_to_test
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import load
from signspot.training.recogniser import train_recogniser_on_corpus
from tests.fixtures.corpora import TINY


@pytest.fixture(scope="module")
def recogniser(tiny_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Recogniser:
    return train_recogniser_on_corpus(TINY.trunk, tiny_corpus, tmp_path_factory.mktemp("recogniser"))[0]


def test_all_are_asked_for_the_same_signs(recogniser: Recogniser, tiny_corpus: Corpus) -> None:
    spotter = load("warping", cache=False)
    results = evaluate_recognisers([("tiny", recogniser)], tiny_corpus, [spotter])
    assert [result.classifier for result in results if result.scores.tested == ALL] == [
        "tiny",
        "nearest exemplar, warping",
    ]
    learned, nearest = (result.scores for result in results if result.scores.tested == ALL)
    assert {word: len(of_word) for word, of_word in learned.ranks.items()} == {
        w: len(of_word) for w, of_word in nearest.ranks.items()
    }
    ranks = [rank for of_word in nearest.ranks.values() for rank in of_word]
    assert nearest.instance == (np.mean(np.array(ranks) == 1), np.mean(np.array(ranks) <= 5))
    assert nearest.instance[0] > 2 / nearest.words  # well above chance, and the recogniser of two steps
    with pytest.raises(OptionsError):
        alone = replace(tiny_corpus, videos={video.id: video for video in tiny_corpus.in_split("train")})
        evaluate_recognisers([("tiny", recogniser)], alone, [spotter])


def test_the_nearest_exemplar_scores_as_the_spotter_does(tiny_corpus: Corpus) -> None:
    spotter = load("warping", cache=False)
    video = tiny_corpus.in_split("test")[0]
    words = sorted({sign.word for sign in tiny_corpus.signs(video.id) if sign.listed})[:4]
    nearest = NearestExemplar.among(spotter, tiny_corpus, words)
    tested = signs_to_test(tiny_corpus, set(words))[ALL]
    window = SignWindow().of(tested[0])
    (row,) = nearest.of_video(tiny_corpus.videos[tested[0].video], [window])
    options = SpotOptions()
    track = spotter.track(tiny_corpus.videos[tested[0].video].landmarks, options)  # type: ignore[arg-type]
    highest = spotter.word_scores(track, nearest.gallery, options).highest(window)
    assert dict(zip(nearest.words, row.tolist(), strict=True)) == pytest.approx(highest, abs=0.02)
    with pytest.raises(OptionsError):
        NearestExemplar.among(spotter, tiny_corpus, ["no-such-word"])


def test_a_video_passes_once_and_gives_what_each_segment_gives(recogniser: Recogniser, tmp_path: Path) -> None:
    frames = np.random.default_rng(0).normal(size=(60, 69, 4)).astype(np.float32)
    stretches = [range(5, 27), range(-4, 18), range(50, 72), range(20, 25)]
    rows = recogniser.of_stretches(frames, stretches)
    for stretch, row in zip(stretches, rows, strict=True):
        if len(stretch) >= recogniser.module.trunk.frames:
            alone = recogniser.of_frames(frames[np.clip(np.array(stretch), 0, len(frames) - 1)])
            assert np.allclose(row, alone, atol=1e-4)
    short = recogniser.of_frames(frames[15:31])  # five frames, and as many around them as a clip has
    assert np.allclose(rows[3], short, atol=1e-4)


def test_nothing_tested_gives_no_scores(tiny_corpus: Corpus) -> None:
    nearest = NearestExemplar.among(load("warping", cache=False), tiny_corpus, list(tiny_corpus.dictionary())[:2])
    assert score_classifier(nearest, tiny_corpus, {ALL: []}) == []
