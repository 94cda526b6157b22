"""Items: a label, the subtitle around it that has its word, and that subtitle's other words."""

from pathlib import Path

import pytest

from signspot.corpus.corpus import open_corpus
from signspot.corpus.labels import LeastConfidence
from signspot.errors import OptionsError
from signspot.training.corpus_subset import ItemOptions, SubtitleWords, collect_items, read_words
from signspot.types import Label, LabelSource, Segment

SUBTITLES = {
    "v": [
        SubtitleWords(Segment(0.0, 3.0), ("apple", "tree", "tree", "rare")),
        SubtitleWords(Segment(4.0, 7.0), ("apple", "house")),
        SubtitleWords(Segment(8.0, 9.0), ("dog", "house")),
    ]
}
WORDS = ("apple", "tree", "house", "dog")


def label(word: str, time: float, confidence: float = 0.9, source: str = "M") -> Label:
    return Label(word, "v", time, confidence, LabelSource(source))


def test_a_label_goes_with_the_nearest_subtitle_that_has_its_word() -> None:
    one, two, three = collect_items(
        [label("apple", 2.0), label("apple", 5.0), label("tree", 4.9)], SUBTITLES, WORDS, WORDS
    )
    assert (one.background, one.span) == (("tree",), Segment(0.0, 5.0))
    assert (two.background, two.span) == (("house",), Segment(2.0, 9.0))
    assert (three.word, three.background, three.time) == ("tree", ("apple",), 4.9)


@pytest.mark.parametrize(
    "left_out",
    [
        label("apple", 2.0, confidence=0.6),
        label("apple", 2.0, source="D"),
        label("tree", 5.1),  # more than 2 s after its subtitle
        label("house", 1.0),  # not in the subtitle there
        label("dog", 8.5),  # its subtitle is shown for 1 s only
        label("rare", 2.0),  # not in the vocabulary
    ],
    ids=lambda left_out: f"{left_out.word}-{left_out.time}-{left_out.confidence}-{left_out.source}",
)
def test_what_is_left_out(left_out: Label) -> None:
    options = ItemOptions(least=LeastConfidence(0.8, 0.8), sources=("M", "V"))
    usable = [label("apple", 2.0), label("house", 6.0, source="V")]
    items = collect_items([*usable, left_out], SUBTITLES, WORDS, WORDS, options)
    assert [item.time for item in items] == [2.0, 6.0]
    assert [item.label.source for item in items] == ["M", "V"]


def test_the_dictionary_may_list_more_words_than_are_labelled() -> None:
    labels = [label("apple", 2.0), label("house", 6.0), label("tree", 1.0)]
    items = collect_items(labels, SUBTITLES, ("apple", "house"), (*WORDS, "rare"))
    assert [(item.word, item.background) for item in items] == [("apple", ("tree", "rare")), ("house", ("apple",))]


def test_nothing_to_learn_from_is_said() -> None:
    with pytest.raises(OptionsError):
        collect_items([], SUBTITLES, WORDS, WORDS)
    with pytest.raises(OptionsError, match=r"1 labels .*0\.95"):
        collect_items([label("apple", 2.0)], SUBTITLES, WORDS, WORDS, ItemOptions(least=LeastConfidence(0.95)))
    with pytest.raises(OptionsError, match="'apple'"):
        collect_items([label("apple", 2.0)], SUBTITLES, WORDS, WORDS)
    with pytest.raises(OptionsError, match="none of 2 labels"):
        collect_items([label("apple", 2.0), label("tree", 2.0)], {}, WORDS, WORDS)
    with pytest.raises(OptionsError, match=r"'X'.*M, D, V"):
        ItemOptions(sources=("X",))


def test_words_are_found_in_the_language_of_the_corpus(tmp_path: Path) -> None:
    """English knows no German word forms: 'Häuser' is a form of 'Haus' in German only."""
    (tmp_path / "a.mp4").touch()
    (tmp_path / "a.vtt").write_text("WEBVTT\n\n00:01.000 --> 00:02.000\nDie Häuser brennen.\n", encoding="utf-8")
    words = {
        language: read_words(open_corpus(tmp_path, language), ["Haus", "brennen"], ["a"])["a"][0].words
        for language in ("de", "en")
    }
    assert set(words["de"]) == {"Haus", "brennen"}
    assert set(words["en"]) == {"brennen"}
