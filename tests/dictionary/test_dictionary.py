import pytest
from hypothesis import given
from hypothesis import strategies as st

from signspot.dictionary.dictionary import Contents, Dictionary, normalise_word, numbered, unique_ids
from signspot.errors import DictionaryError, UnknownWordError
from signspot.types import Exemplar, Segment


def dictionary(*words: str) -> Dictionary:
    return Dictionary(Exemplar(word, f"{word}-{n}") for n, word in enumerate(words))


class TestLookingUp:
    def test_words_stay_as_written_and_in_order(self) -> None:
        words = dictionary("ice-cream", "Apple", "ice-cream", "2")
        assert list(words) == ["ice-cream", "Apple", "2"]
        assert len(words) == 3
        assert [e.id for e in words["ice-cream"]] == ["ice-cream-0", "ice-cream-2"]

    @pytest.mark.parametrize("text", ["ice cream", "ICE_CREAM", " Ice-Cream ", "ice  cream?"])
    def test_case_and_separators_do_not_matter_where_the_exact_word_is_missing(self, text: str) -> None:
        assert [e.word for e in dictionary("ice-cream", "ice")[text]] == ["ice-cream"]

    def test_the_exact_word_goes_first(self) -> None:
        words = dictionary("Polish", "polish")
        assert [e.word for e in words["polish"]] == ["polish"]
        assert [e.word for e in words["Polish"]] == ["Polish"]
        assert [e.word for e in words["POLISH"]] == ["Polish", "polish"]

    def test_the_normalised_text_finds_a_word(self) -> None:
        words = Dictionary(Contents((Exemplar("1", "a"),), normalised={"1": "one"}))
        assert [e.id for e in words["One"]] == ["a"]
        assert "one" in words
        assert "two" not in words

    def test_an_unknown_word_suggests_the_nearest(self) -> None:
        with pytest.raises(UnknownWordError, match="'aple'"):
            dictionary("apple", "tree")["aple"]

    def test_get_and_in_need_no_error(self) -> None:
        words = dictionary("apple")
        assert words.get("pear") is None
        assert words.get("pear", []) == []
        assert words.get("Apple") == words["apple"]
        assert 3 not in words

    def test_what_is_returned_is_a_copy(self) -> None:
        words = dictionary("apple")
        words["apple"].clear()
        assert len(words["apple"]) == 1

    @given(st.text(min_size=1).filter(str.strip))
    def test_normalising_twice_changes_nothing(self, word: str) -> None:
        once = normalise_word(word)
        assert once
        assert normalise_word(once) == once


class TestParts:
    def test_select_keeps_only_these_words(self) -> None:
        selected = dictionary("a", "b", "c", "a").select(["A", "c"])
        assert list(selected) == ["a", "c"]
        assert len(selected.exemplars) == 3
        with pytest.raises(UnknownWordError):
            selected.select(["b"])

    def test_synonyms_come_from_the_source(self) -> None:
        exemplars = (Exemplar("happy", "1"), Exemplar("content", "2"), Exemplar("sad", "3"))
        words = Dictionary(Contents(exemplars, synonyms={"happy": ("content", "happy")}))
        assert words.synonyms("Happy") == ("content",)
        assert words.synonyms("sad") == ()
        with pytest.raises(UnknownWordError):
            words.synonyms("glad")

    def test_ids_are_unique(self) -> None:
        with pytest.raises(DictionaryError, match="'x'"):
            Dictionary([Exemplar("a", "x"), Exemplar("b", "x")])


class TestIds:
    def test_the_suffix_goes_and_a_second_file_of_a_name_is_numbered(self) -> None:
        assert unique_ids(["a.mp4", "b.mp4", "b.webm", "c", "a.mp4"]) == ["a", "b", "b#2", "c", "a#2"]

    def test_a_sign_in_footage_is_named_by_where_it_begins(self) -> None:
        segments = [Segment(12.4, 13), None, Segment(12.4, 12.9)]
        assert unique_ids(["news.mp4", "news.mp4", "news.mov"], segments) == ["news@12.40", "news", "news@12.40#2"]
        assert numbered(["news@12.40", "news@12.40", "news"]) == ["news@12.40", "news@12.40#2", "news"]

    @given(st.lists(st.sampled_from(["a", "a.mp4", "a.webm", "a#2", "b/a.mp4", "b/a"])))
    def test_they_are_unique_whatever_the_names(self, names: list[str]) -> None:
        ids = unique_ids(names)
        assert len(set(ids)) == len(names) == len(ids)
