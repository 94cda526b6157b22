"""The loop with no label given: kinds of labels, D by look-up, tables over words, and a run that goes on."""

from pathlib import Path

import pytest

from experiments.without_labels import (
    CONFIDENCES,
    DICE,
    NOBODY,
    SPOTTER,
    SUBTITLES,
    TRUTH,
    LabelScore,
    Learned,
    LoopCorpus,
    LoopOptions,
    LoopRow,
    WordScore,
    as_text,
    difference,
    measures,
    run_loop,
    subtitle_middles,
    true_mouthings,
)
from signspot.training.items import read_words
from signspot.types import TimeMeaning

TINY = LoopOptions(words=12, hours=0.02, trunk_steps=2, steps=3, items=8, trainings=1)


def test_truth_is_every_mouthed_sign_that_a_subtitle_mentions(tiny_corpus):
    labels = true_mouthings(tiny_corpus)
    signs = [sign for video in tiny_corpus.videos for sign in tiny_corpus.signs(video)]
    assert 0 < len(labels) < len(signs)
    assert {(label.video, label.word, label.time) for label in labels} == {
        (sign.video, sign.word, sign.end) for sign in signs if sign.mouthed and sign.subtitle is not None
    }


def test_who_looks_at_no_lips_labels_every_mention_in_the_middle(tiny_corpus):
    labels = subtitle_middles(tiny_corpus)
    shown = read_words(tiny_corpus, list(tiny_corpus.dictionary()), list(tiny_corpus.videos))
    assert len(labels) == sum(len(subtitle.words) for each in shown.values() for subtitle in each) > 0
    first = next(subtitle for subtitle in shown[labels[0].video] if subtitle.words)
    assert labels[0].word == first.words[0]
    assert labels[0].time == first.segment.middle
    assert {label.at for label in labels} == {TimeMeaning.MIDDLE}


def test_words_of_all_corpora_are_averaged_and_compared_word_by_word():
    good = Learned(5, {"1 a": WordScore(1.0, 1.0, 4, 3), "1 b": WordScore(0.5, 1.0, 0, 0)})
    poor = Learned(0, {"1 a": WordScore(0.5, 0.0, 1, 0), "1 b": WordScore(0.25, 1.0, 3, 1)})
    assert [each.value for each in measures(good)] == [0.75, 1.0, 0.75]
    assert [each.value for each in measures(poor)] == [0.375, 0.5, 0.25]
    gain = difference(good, poor)
    assert gain.value == pytest.approx(0.375)
    assert (gain.low, gain.high) == (0.25, 0.5)
    score = LabelScore("", 0.5, labels=4, words=2, precision=0.75, recall=0.5, late=0.0)
    rows = [LoopRow("lips", (score, score), good), LoopRow("few", (), None), LoopRow("nobody", (), poor)]
    table = as_text(rows, "labels of", ("nobody",))
    assert "| lips | 8 | 4 | 75 % | 5 | 75.0 [50.0, 100.0] | 100.0 [100.0, 100.0] | 75.0 [75.0, 75.0] |" in table
    assert "| few | 0 | 0 | – | – | – | – | – |" in table
    assert table.endswith("* lips, mAP above nobody: +37.5 [+25.0, +50.0]\n")


@pytest.mark.long
def test_the_whole_loop_runs_and_goes_on(tmp_path: Path):
    rows, table_4 = run_loop(TINY, [40], tmp_path)
    assert [row.labels_of for row in rows] == [SPOTTER, TRUTH, DICE, SUBTITLES, NOBODY]
    assert [row.labels_of for row in table_4] == [f"{least:g}" for least in CONFIDENCES]
    by_name = {row.labels_of: row for row in rows}
    assert by_name[TRUTH].scores[0].precision == 1.0
    assert by_name[NOBODY].learned is not None
    loop = LoopCorpus(TINY, 40, tmp_path)
    mentions = sum(label.video in loop.training for label in subtitle_middles(loop.corpus))
    for row in rows:
        assert row.learned is not None
        assert set(row.learned.words) == {f"40 {query.word}" for query in loop.queries}
    untaught = loop.untaught()
    assert by_name[NOBODY].learned.words == {f"40 {word}": score for word, score in untaught.words.items()}
    assert sum(score.spotted for score in untaught.words.values()) <= mentions // 2
    assert all(score.right <= score.spotted for score in untaught.words.values())
    only, none = run_loop(TINY, [40], tmp_path, (TRUTH,))
    assert (only, none) == ([by_name[TRUTH], by_name[NOBODY]], [])
    labels = [row.scores[0].labels for row in table_4]
    assert labels == sorted(labels)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("results/*.json")}
    assert kept
    assert run_loop(TINY, [40], tmp_path) == (rows, table_4)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("results/*.json")} == kept
