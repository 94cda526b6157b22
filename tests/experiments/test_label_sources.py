"""Labels M and D beside each other, on a few labels at known places."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.label_sources import label_rows, learned_words, recogniser_rows
from signspot.corpus.corpus import Corpus
from signspot.types import Label, LabelSource
from tests.fixtures.corpora import TINY


def test_what_agrees_what_clashes_and_what_is_new(tiny_corpus: Corpus) -> None:
    video = tiny_corpus.in_split("train")[0].id
    sign = tiny_corpus.signs(video)[0]

    def label(word: str, time: float, source: LabelSource) -> Label:
        return Label(word, video, time, 0.65, source)

    m = [
        label(sign.word, sign.end, LabelSource.MOUTHING),
        label("wrong", sign.end, LabelSource.MOUTHING),
        label("far", sign.end + 9, LabelSource.MOUTHING),
    ]
    d = [
        label(sign.word, sign.end - 0.25, LabelSource.DICTIONARY),
        label("new", sign.end + 20, LabelSource.DICTIONARY),
    ]
    rows = {name: rest for name, *rest in label_rows(tiny_corpus, m, d)}
    assert rows["M"] == ["3", "3", "0.333"]
    assert rows["M with D of the same word at its place"] == ["1", "1", "1.000"]
    assert rows["M with D of another word at its place, not of the same"] == ["1", "1", "0.000"]
    assert rows["M without D"][0] == "1"
    assert rows["D where M has nothing"] == ["1", "1", "0.000"]
    assert rows["M + D"][0] == "5"
    assert rows["M from 0.6"][0] == "3"
    assert rows["M from 0.7"] == ["0", "0", "–"]
    assert rows["M that D does not contradict"] == ["2", "2", "0.500"]
    assert rows["M + D, without M that D contradicts"][0] == "4"
    assert rows["M + D, each place once"][0] == "3"


@pytest.mark.long
def test_recognisers_are_compared_word_by_word(tiny_corpus: Corpus, tmp_path: Path) -> None:
    labels = tiny_corpus.labels([video.id for video in tiny_corpus.in_split("train")])
    words = sorted({label.word for label in labels})
    sets = {"all": labels, "the same": labels}
    learned = learned_words(tiny_corpus, sets, words, tmp_path, 2, replace(TINY.trunk, steps=2))
    rows = list(recogniser_rows([learned]))
    assert [row[0] for row in rows] == ["all", "the same"]
    assert rows[0][1:3] == rows[1][1:3]
    assert len(rows[0][1].split(", ")) == 2
    assert rows[0][3] == "–"
    assert rows[1][3] == "+0.000 [+0.000, +0.000]"
    one, other = ({"M": [{"a": share}], "D": [{"a": 1.0}]} for share in (0.0, 0.5))
    assert list(recogniser_rows([one, other]))[1][1:] == ("1.000", "1.000", "+0.750 [+0.500, +1.000]")
