"""Clips of lips, batches, the training and its calibration, and what is measured."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from experiments.mouthing.batches import UNKNOWN, LipBatches, WrongWords, holds
from experiments.mouthing.calibration import calibrate, fit_logistic
from experiments.mouthing.clips import ClipOptions, LipClip, make_clips, read_vocabulary
from experiments.mouthing.config import LipsOptions, MouthingConfig, MouthingOptimiser
from experiments.mouthing.corpora import measure_labels
from experiments.mouthing.distortion import explain_loss, fit_distortions, save_distortions
from experiments.mouthing.evaluation import (
    MAIN,
    MouthingSize,
    bin_reliability,
    homophene_trials,
    measure_mouthing,
    score,
)
from experiments.mouthing.evidence import rank_both
from experiments.mouthing.filmed import (
    BLAMED,
    FilmedClip,
    blame_shapes,
    blame_table,
    film_clips,
    measure_filmed,
    shape_table,
)
from experiments.mouthing.tables import write_report
from experiments.mouthing.training import clips_of_corpus, mouthing_loss, train_network
from experiments.mouthing.trials import WINDOW, Answers, Trial, answer, draw_trials
from experiments.mouthing.weakening import FilmDistortion, measured_distortions, weaken
from signspot.errors import CheckpointError, OptionsError
from signspot.mouthing.lips import CHANNELS, FPS, SHAPES, LipTrack
from signspot.mouthing.model import MouthingModel, load_mouthing
from signspot.mouthing.network import STEP, MouthingNetwork, NetworkOptions, TemplateMatcher
from signspot.mouthing.spotter import MentionWindow, MouthingSpotter
from signspot.mouthing.visemes import VISEMES, of_phonemes, visemes_of
from signspot.types import Segment
from signspot_synthetic.body.mouthing import MouthedWord

PEOPLE = ("a", "b")
SMALL = MouthingConfig(
    lips=LipsOptions(clips=2, seconds=12, signers=2, calibration=2),
    optimiser=MouthingOptimiser(steps=4, windows=3, queries=2, frames=60),
    network=NetworkOptions(width=16, heads=2, maps=4),
)


@pytest.fixture(scope="module")
def vocabulary():
    return read_vocabulary(unseen=False)


@pytest.fixture(scope="module")
def clips(vocabulary) -> list[LipClip]:
    return list(make_clips(2, 1, vocabulary, PEOPLE, ClipOptions(seconds=12.0, mouthing=0.8)))


def test_words_are_seen_or_unseen_and_never_both(vocabulary):
    unseen = read_vocabulary(unseen=True)
    assert not set(vocabulary.words) & set(unseen.words)
    assert 0.15 < len(unseen.words) / len(vocabulary.words + unseen.words) < 0.25


def test_clips_follow_from_the_seed(vocabulary, clips):
    again = next(make_clips(1, 1, vocabulary, PEOPLE, ClipOptions(seconds=12.0, mouthing=0.8)))
    assert np.array_equal(again.lips.values, clips[0].lips.values)
    assert again.words == clips[0].words
    assert len(clips[0].words) > 2
    assert not next(make_clips(1, 1, vocabulary, PEOPLE, ClipOptions(seconds=12.0, mouthing=0.0))).words


def test_wrong_words_are_no_part_of_what_is_mouthed(vocabulary):
    wrong, random = WrongWords(vocabulary), np.random.default_rng(0)
    mouthed = [vocabulary.visemes[vocabulary.words[0]]]
    for _ in range(50):
        drawn = vocabulary.visemes[wrong.draw(mouthed, 1.0, random)]
        assert not holds(mouthed[0], drawn)
        assert drawn[:2] == mouthed[0][:2] or drawn[-2:] == mouthed[0][-2:]
    assert holds(("a", "b", "c"), ("b", "c"))
    assert not holds(("a", "b", "c"), ("a", "c"))


def test_batches_mark_where_words_end(vocabulary, clips):
    batches = LipBatches(clips, vocabulary, vocabulary.visemes, SMALL.optimiser, 0)
    batch, again = batches[1], batches[1]
    assert torch.equal(batch.lips, again.lips)
    assert batch.ends.shape == (6, 30)
    assert torch.equal(batch.ends.sum(dim=1) + batch.nowhere.sum(dim=1), torch.ones(6))
    assert 0 < batch.ends.sum() < 6


def test_the_loss_by_hand(vocabulary, clips):
    """A network that says 0 everywhere takes every step and "not at all", every viseme and none, for equally likely."""
    batch = LipBatches(clips, vocabulary, vocabulary.visemes, SMALL.optimiser, 0)[0]
    network = MouthingNetwork(SMALL.network)
    torch.nn.init.zeros_(network.last.weight)
    torch.nn.init.zeros_(network.last.bias)
    torch.nn.init.zeros_(network.shapes.weight)
    torch.nn.init.zeros_(network.shapes.bias)
    assert mouthing_loss(network, batch, 0.0).item() == pytest.approx(np.log(31), abs=1e-4)
    expected = np.log(31) + 0.5 * np.log(len(VISEMES) + 1)
    assert mouthing_loss(network, batch, 0.5).item() == pytest.approx(expected, abs=1e-4)


def test_visemes_stand_where_words_are_mouthed_and_are_unknown_where_labels_are_sparse(vocabulary, clips):
    word = MouthedWord("mama", ("M", "AA1", "M", "AH0"), Segment(1.0, 2.0), 1.0)
    lips = LipTrack(np.ones((SMALL.optimiser.frames, CHANNELS), np.float32))
    how, visemes = replace(SMALL.optimiser, windows=1), {"mama": visemes_of("mama")}
    known, sparse = (
        LipBatches([LipClip(lips, (word,), "a", complete=complete)], vocabulary, visemes, how, 0)[0]
        for complete in (True, False)
    )
    times = np.arange(known.shapes.shape[1]) * STEP / FPS
    said = [VISEMES.index(shape) for shape in of_phonemes(word.phonemes)]
    inside = (times >= 1.0) & (times < 2.0)
    shown = known.shapes[0].numpy()
    assert list(dict.fromkeys(shown[inside].tolist())) == list(dict.fromkeys(said))
    assert set(shown[~inside].tolist()) == {len(VISEMES)}
    assert set(sparse.shapes[0].numpy()[~inside].tolist()) == {UNKNOWN}
    assert np.array_equal(sparse.shapes[0].numpy()[inside], shown[inside])


def test_a_training_that_was_stopped_comes_to_the_same_weights(vocabulary, clips, tmp_path):
    def stop(done: int, _: int | None) -> None:
        if done == 2:
            import os
            import signal

            os.kill(os.getpid(), signal.SIGINT)

    whole = train_network(SMALL, clips, vocabulary, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train_network(SMALL, clips, vocabulary, tmp_path / "parts", stop)
    parts = train_network(SMALL, clips, vocabulary, tmp_path / "parts")
    for one, two in zip(whole.state_dict().values(), parts.state_dict().values(), strict=True):
        assert torch.equal(one, two)
    other = MouthingConfig(seed=5, lips=SMALL.lips, optimiser=SMALL.optimiser, network=SMALL.network)
    with pytest.raises(CheckpointError, match="was trained with seed 0, not 5"):
        train_network(other, clips, vocabulary, tmp_path / "parts")


def test_calibration_finds_gain_and_offset():
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, 20_000)
    right = (random.random(20_000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))).astype(float)
    gain, offset = fit_logistic(logits, right)
    assert gain == pytest.approx(0.5, abs=0.03)
    assert offset == pytest.approx(-1.0, abs=0.06)
    sure, _ = fit_logistic(np.array([-1.0, 1.0]), np.array([0.0, 1.0]))
    assert 1 < sure < 100  # all right: steep, and finite


def test_scores_by_hand():
    trials = [Trial(0, 0.0, "x", (1.0,), 1.0), Trial(0, 0.0, "x", (1.0,), 1.0), Trial(0, 0.0, "x"), Trial(0, 0.0, "x")]
    late, searched = np.array([0.1, 2.0, np.inf, np.inf]), np.array([10.0, 10.0, 10.0, 4.0])
    answers = Answers(np.array([0.9, 0.85, 0.6, 0.1]), late, searched)
    row = {s.threshold: s for s in score(("spotter", "t"), trials, answers)}
    assert row[0.5].precision == pytest.approx(1 / 3)  # a right label, one at a wrong time, one of no mouthing
    assert row[0.5].recall == 0.5
    assert row[0.5].false_alarms_per_hour == pytest.approx(1 / (14 / 3600))
    assert row[0.8].false_alarms_per_hour == 0
    assert row[0.9].late == pytest.approx(0.1)
    assert (row[0.9].spotter, row[0.9].trials) == ("spotter", "t")
    assert answers.only(np.array([True, False, False, False])).sure.tolist() == [0.9]


def test_reliability_by_hand():
    bins = bin_reliability(np.array([0.05, 0.85, 0.89, 1.0]), np.array([False, True, False, True]))
    assert [(b.low.__round__(1), b.labels, b.right) for b in bins] == [(0.0, 1, 0.0), (0.8, 2, 0.5), (0.9, 1, 1.0)]


@pytest.fixture(scope="module")
def random_spotter() -> MouthingSpotter:
    torch.manual_seed(0)
    return MouthingSpotter(MouthingModel("random", MouthingNetwork(SMALL.network).eval(), {}))


def test_an_answer_is_what_a_search_of_the_same_window_labels(random_spotter, clips):
    """The users' road, and no other: the label of `search` is the answer, in the times of the clip."""
    lips = replace(clips[0].lips, start=2.0)
    trial = Trial(0, 2.6, "elephant", (7.0,), 1.0)
    found = random_spotter.search(lips, [MentionWindow(Segment(2.6, 2.6 + WINDOW), ("elephant",))], "v", least=0.0)
    answers = answer(random_spotter, [replace(clips[0], lips=lips)], [trial])
    assert answers.sure.tolist() == [found.labels[0].confidence]
    assert answers.late.tolist() == [pytest.approx(found.labels[0].time - 7.0)]
    assert answers.searched.tolist() == [pytest.approx(WINDOW)]


def test_lips_that_are_not_seen_and_clips_that_end_are_no_answers(random_spotter, clips):
    hidden = LipClip(LipTrack(np.zeros((300, CHANNELS), np.float32)), (), "")
    short = LipClip(LipTrack(clips[0].lips.values[:100]), (), "")
    none = LipClip(LipTrack(clips[0].lips.values[:5]), (), "")
    answers = answer(random_spotter, [hidden, short, none], [Trial(n, 0.0, "elephant", (1.0,)) for n in range(3)])
    assert (answers.sure[0], answers.late[0], answers.searched[0]) == (0.0, np.inf, WINDOW)
    assert answers.searched[1:].tolist() == [pytest.approx(4.0), 0.0]
    assert not answers.right[[0, 2]].any()


def test_calibration_is_of_the_answers_that_users_get(random_spotter, clips, vocabulary):
    model = replace(random_spotter.model, network=MouthingNetwork(SMALL.network).eval())
    measured = calibrate(model, clips, vocabulary, 0, each=6)
    assert model.network.scale.tolist() == [
        pytest.approx(measured["gain"], abs=1e-3),
        pytest.approx(measured["offset"], abs=1e-3),
    ]
    answers = answer(MouthingSpotter(model), clips, draw_trials(clips, vocabulary, 0, each=6))
    assert answers.sure.mean() == pytest.approx(answers.right.mean(), abs=0.02)  # what a logistic regression gives


def test_homophenes_are_other_words_that_look_the_same():
    plain = [Trial(0, float(n), word, (1.0,), 1.0) for n, word in enumerate(("pop", "bob", "mop", "mob", "bomb"))]
    trials = homophene_trials([*plain, Trial(0, 9.0, "pop")])
    assert len(trials) == 5
    for before, after in zip(plain, trials, strict=True):
        assert visemes_of(before.word) == visemes_of(after.word)
    assert [bool(trial.ends) for trial in trials] == [False, True, False, True, False]
    assert [a.word == b.word for a, b in zip(plain, trials, strict=True)] == [False, True, False, True, False]


def test_weakened_lips_keep_their_opening_and_lose_what_films_lose(clips):
    values, random = clips[0].lips.values, np.random.default_rng(0)
    weak = [weaken(values, random) for _ in range(20)]
    seen = values[:, -2] > 0
    at = {name: SHAPES.index(name) for name in ("opening", "width", "protrusion")}
    alike = {
        name: np.mean([np.corrcoef(values[seen, place], each[seen, place])[0, 1] for each in weak])
        for name, place in at.items()
    }
    assert alike["opening"] > 0.9 > alike["width"] > alike["protrusion"]
    assert all(np.array_equal(each[:, -2:], values[:, -2:]) for each in weak)
    assert not any(each[~seen, :-2].any() for each in weak)


def test_a_distortion_is_found_again_by_what_it_did(clips, tmp_path):
    """Shapes that take over of each other, and errors that last and are shared: fitted, written and read again."""
    random, count = np.random.default_rng(0), len(SHAPES)
    mixing = np.diag(random.uniform(0.5, 1.5, count)) + random.normal(0, 0.2, (count, count))
    shared = random.normal(0, 0.1, (3, count))
    true = FilmDistortion(mixing, shared.T @ shared + 0.001 * np.eye(count), 0.6)
    pairs = []
    for clip in clips:
        values = random.normal(0, 1, (4000, CHANNELS)).astype(np.float32)  # more frames, and no shape follows another
        values[:, -2:] = (1.0, 0.0)
        seen = values.copy()
        seen[:, :-2] = true.apply(values[:, :-2].astype(float), random)
        lost = seen.copy()
        lost[:, -2] = 0.0
        pairs += [(replace(clip, lips=LipTrack(values)), replace(clip, lips=LipTrack(each))) for each in (seen, lost)]
    found = fit_distortions(pairs)
    assert len(found) == len(clips)  # films in which nobody sees lips tell nothing
    save_distortions(found, tmp_path / "d.json", "made by a test")
    again = measured_distortions(tmp_path / "d.json")
    for each in again:
        assert np.allclose(each.mixing, true.mixing, atol=0.05)
        assert np.allclose(each.covariance, true.covariance, atol=0.1 * true.covariance.max())
        assert each.memory == pytest.approx(true.memory, abs=0.03)


def test_errors_on_film_are_shared_by_shapes_between_the_same_points():
    """What one shape says wrongly its neighbour says, too: no average of both mends it."""
    opening, beside = SHAPES.index("opening"), SHAPES.index("opening_beside")
    for film in measured_distortions():
        size = np.sqrt(np.diag(film.covariance))
        assert film.covariance[opening, beside] / size[opening] / size[beside] > 0.95
        assert 0.3 < film.memory < 0.95


def test_a_share_of_the_windows_is_weakened_and_words_stay_as_they_were(vocabulary, clips):
    how = replace(SMALL.optimiser, windows=20)
    plain, all_weak = (
        LipBatches(clips, vocabulary, vocabulary.visemes, replace(how, weakened=share), 0) for share in (0.0, 1.0)
    )
    known = {clip.lips.values[first : first + how.frames].tobytes() for clip in clips for first in range(250)}
    assert all(lips.numpy().tobytes() in known for lips in plain[0].lips)
    assert not any(lips.numpy().tobytes() in known for lips in all_weak[0].lips)
    some = LipBatches(clips, vocabulary, vocabulary.visemes, replace(how, weakened=0.5), 0)[0]
    assert 3 <= sum(lips.numpy().tobytes() in known for lips in some.lips) <= 17
    assert torch.equal(some.ends.sum(dim=1) + some.nowhere.sum(dim=1), torch.ones(40))


def test_windows_of_films_are_learned_from_as_they_are(vocabulary, clips):
    how = replace(SMALL.optimiser, windows=20, weakened=1.0)
    plain, filmed = clips
    known = {filmed.lips.values[first : first + how.frames].tobytes() for first in range(250)}
    counts = []
    for share in (0.0, 0.5, 1.0):
        batches = LipBatches([plain], vocabulary, vocabulary.visemes, replace(how, filmed=share), 0, [filmed])
        counts.append(sum(lips.numpy().tobytes() in known for lips in batches[0].lips))
    assert counts[0] == 0
    assert 3 <= counts[1] <= 17
    assert counts[2] == 20


def test_errors_of_a_film_come_in_their_order(clips):
    count = len(SHAPES)
    errors = np.arange(1.0, 9.0)[:, None] * np.ones(count)
    film = FilmDistortion(np.eye(count), np.eye(count), 0.5, errors)
    shown = film.apply(np.zeros((40, count)), np.random.default_rng(0))[:, 0]
    assert set(shown) == set(errors[:, 0])
    assert np.abs(np.diff(shown)).max() == 1, "there and back, so that nothing jumps"
    random = np.random.default_rng(1)
    values = clips[0].lips.values
    known = [replace(film, errors=None, covariance=np.zeros((count, count))), film]
    assert any(np.abs(weaken(values, random, known) - values).max() > 0.5 for _ in range(20))


def test_a_training_starts_with_the_weights_of_another_spotter(vocabulary, clips, mouthing_file, tmp_path):
    known = load_mouthing(mouthing_file).network
    still = replace(SMALL.optimiser, steps=1, lr=1e-12, weight_decay=0.0)
    config = replace(SMALL, start=str(mouthing_file), network=known.options, optimiser=still)
    learned = train_network(config, clips, vocabulary, tmp_path / "started")
    for name, value in known.state_dict().items():
        assert torch.allclose(learned.state_dict()[name], value, atol=1e-6), name
    other = replace(config, network=replace(known.options, maps=known.options.maps + 1))
    with pytest.raises(OptionsError, match="start with the weights of"):
        train_network(other, clips, vocabulary, tmp_path / "other")


def test_all_questions_stand_in_one_table_and_two_plots(random_spotter, tmp_path):
    models = [random_spotter.model, MouthingModel("templates", TemplateMatcher(), {})]
    report = measure_mouthing(models, MouthingSize(2, 2, 2), seed=3)
    rows = {(row.spotter, row.trials) for row in report.scores}
    asked = {
        *("seen words, seen signers", "seen words, unseen signers", MAIN, "unseen words, only begun"),
        *("unseen words against words alike", "homophenes of mouthed words", "nobody mouths"),
    }
    assert rows == {(model.name, each) for model in models for each in asked}
    write_report(report, tmp_path / "x.md")
    text = (tmp_path / "x.md").read_text()
    assert text.count("| templates | nobody mouths |") == 5
    assert (tmp_path / "x.png").stat().st_size > 10_000


def test_half_of_the_trials_are_of_mouthed_words(vocabulary, clips):
    trials = draw_trials(clips, vocabulary, 0, each=6)
    assert [bool(trial.ends) for trial in trials] == [True, False] * 6


def test_configurations_refuse_nonsense():
    with pytest.raises(OptionsError, match="seconds"):
        LipsOptions(seconds=1)
    with pytest.raises(OptionsError, match="multiple of the heads"):
        NetworkOptions(width=10, heads=4)


def test_labels_of_a_corpus_are_held_against_its_truth(tiny_corpus, mouthing_file, tmp_path):
    rows = measure_labels(tiny_corpus, [str(mouthing_file)], least=0.0)
    given = [label for label in tiny_corpus.labels() if label.confidence >= 0.5]
    assert {row.source for row in rows} == {mouthing_file.stem, "the generator's labels"}
    dice = next(row for row in rows if row.source == "the generator's labels" and row.threshold == 0.5)
    assert dice.labels == len(given) > 0
    assert dice.precision > 0.4


def test_rankings_at_equal_yield_by_hand():
    """Two of five agree with a mouthing, both right; the best by score is wrong."""
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    mouthed, right = np.array([0, 1, 0, 1, 0], bool), np.array([0, 1, 1, 1, 0], bool)
    rows = rank_both(scores, mouthed, right)
    assert [(row.yielded, row.alone, row.agreeing_first) for row in rows] == [
        (2, 0.5, 1.0),
        (4, 0.75, 0.75),
        (5, 0.6, 0.6),
    ]
    assert not rank_both(np.array([]), np.array([], bool), np.array([], bool))


def test_a_clip_lasts_as_long_as_a_question(tmp_path):
    with pytest.raises(OptionsError, match="at least 10 s"):
        film_clips(1, 5.0, 0, tmp_path)


def test_how_films_follow_the_exact_lips_by_hand(clips):
    """Half of the width, none of the protrusion: a shape that does not move is left out."""
    values = clips[0].lips.values.copy()
    values[:, SHAPES.index("width")] *= 0.5
    values[:, SHAPES.index("protrusion")] = 0.0
    filmed = replace(clips[0], lips=LipTrack(values))
    lines = shape_table([(clips[0], filmed)]).splitlines()[2:]
    rows = dict(line.strip("| ").split(" | ", 1) for line in lines)
    assert rows["width"].startswith("1.00 | 0.50")
    assert rows["opening"].startswith("1.00 | 1.00")
    assert "protrusion" not in rows


def test_no_question_is_asked_twice_of_a_film(clips, mouthing_file):
    """A clip as long as a window has one window, and only so many words: more questions would be the same again."""
    short = [replace(clip, lips=clip.lips.between(0.0, WINDOW - 0.04)) for clip in clips]
    looks = [FilmedClip(clip, clip, clip) for clip in short]
    model = load_mouthing(mouthing_file)
    words = [{w.word for w in clip.words if 0.5 <= w.segment.end <= WINDOW - 0.2} for clip in short]
    row = measure_filmed([model], looks, 0, each=200)[0]
    assert 0 < row.mouthed <= sum(map(len, words)) < 100
    assert measure_filmed([model], looks, 0, each=2)[0].asked == 2 * len(clips)


def test_shapes_are_blamed_by_exchanging_them(clips, mouthing_file):
    """With all shapes exact, or none, both columns are the film's and the exact landmarks' own results."""
    model = load_mouthing(mouthing_file)
    blank = [replace(clip, lips=LipTrack(np.where(np.arange(CHANNELS) < 14, 0, clip.lips.values))) for clip in clips]
    pairs = [FilmedClip(clip, clip, still) for clip, still in zip(clips, blank, strict=True)]
    first, *others = blame_shapes(model, pairs, 0, each=4)
    trials = list(dict.fromkeys(draw_trials(clips, read_vocabulary(unseen=True), 0, each=4)))
    for column, seen in ((first.exact_here, blank), (first.filmed_here, clips)):
        assert column[0] == answer(MouthingSpotter(model), seen, trials).right.sum()
    assert [row.shapes for row in others] == list(BLAMED)
    assert blame_table([first, *others]).count("labels") == 2 * (1 + len(BLAMED))


def test_a_film_that_only_mixes_shapes_is_explained_by_its_mixing(clips):
    """Where each shape is half of what it was, film and the fitted mixing lose the same words, and errors none."""
    model = load_mouthing()
    half = np.where(np.arange(CHANNELS) < len(SHAPES), 0.5, 1.0).astype(np.float32)
    pairs = [FilmedClip(clip, clip, replace(clip, lips=LipTrack(clip.lips.values * half))) for clip in clips]
    text = explain_loss(model, pairs, 0, each=10)
    rows = {cells[2].strip(): cells[3:7] for cells in (line.split("|") for line in text.splitlines())}
    assert len(rows) == 8
    assert rows["exact landmarks"] == rows["synthetic landmarks"]
    assert (
        rows["the same, shapes mixed as on their film"]
        == rows["the same, with errors as on their film"]
        == rows["film"]
    )


def test_all_ways_of_looking_are_asked_the_same(clips, mouthing_file):
    looks = [FilmedClip(clip, clip, clip) for clip in clips]
    rows = measure_filmed([load_mouthing(mouthing_file)], looks, 0, each=2)
    names = ["exact landmarks", "landmarks with synthetic estimator errors", "video through MediaPipe"]
    assert list(dict.fromkeys(row.trials for row in rows)) == names
    by_name = [[(row.threshold, row.asked, row.mouthed) for row in rows if row.trials == name] for name in names]
    assert by_name[0] == by_name[1] == by_name[2]
    assert by_name[0][0][1:] == (2 * len(clips), len(clips))
    more = measure_filmed([load_mouthing(mouthing_file)], [FilmedClip(*[clip] * 4) for clip in clips], 0, each=2)
    assert {row.trials for row in more} == {*names, "video through MediaPipe's usual face"}


def test_a_spotter_can_be_taught_by_the_labels_of_a_corpus(tiny_corpus, tmp_path):
    clips = clips_of_corpus(tiny_corpus)
    assert sum(len(clip.words) for clip in clips) == len(tiny_corpus.labels())
    silent = tmp_path / "silent"
    shutil.copytree(tiny_corpus.folder, silent, ignore=shutil.ignore_patterns("labels", "dictionary"))
    with pytest.raises(OptionsError, match="has no labels of source M"):
        clips_of_corpus(replace(tiny_corpus, folder=silent))
