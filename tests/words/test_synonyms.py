"""Synonyms out of WordNet's files: a small one written here, and the real one where it is installed."""

from pathlib import Path

import pytest

from signspot.errors import FormatError, MissingExtraError, MissingWordNetError
from signspot.words.synonyms import FOLDER, PARTS_OF_SPEECH, WordNet

LICENCE = "  1 This is the licence of a small WordNet.  \n"
SETS = {
    "noun": [["sofa", "couch", "lounge"], ["ice_cream", "icecream"], ["lounge", "waiting_room"]],
    "verb": [["lounge", "footle"]],
    "adj": [["glad(p)", "happy"], ["asleep(p)"]],
    "adv": [],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in PARTS_OF_SPEECH:
        data, places = LICENCE, {}
        for words in SETS[part]:
            listed = " ".join(f"{word} 0" for word in words)
            for word in words:
                places.setdefault(word.partition("(")[0].lower(), []).append(len(data))
            data += f"{len(data):08d} 06 {part[0]} {len(words):02x} {listed} 001 @ 00000001 n 0000 | a gloss  \n"
        index = LICENCE
        for word in sorted(places):
            offsets = " ".join(f"{place:08d}" for place in places[word])
            index += f"{word} {part[0]} {len(places[word])} 2 @ ~ {len(places[word])} 0 {offsets}  \n"
        (tmp_path / f"data.{part}").write_text(data)
        (tmp_path / f"index.{part}").write_text(index)
    return tmp_path


def test_words_that_share_a_set(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.synonyms("sofa") == {"couch", "lounge"}
    assert wordnet.synonyms("Lounge") == {"sofa", "couch", "waiting room", "footle"}
    assert wordnet.synonyms("happy") == {"glad"}
    assert wordnet.synonyms("asleep") == frozenset()
    assert wordnet.synonyms("unheard-of") == frozenset()


@pytest.mark.parametrize("word", ["ice-cream", "ice cream", "ice_cream"])
def test_phrases_however_they_are_written(folder: Path, word: str) -> None:
    assert WordNet(folder).synonyms(word) == {"icecream"}


def test_synonymy_goes_both_ways_but_not_on(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.are_synonyms("sofa", "lounge")
    assert wordnet.are_synonyms("lounge", "sofa")
    assert wordnet.are_synonyms("waiting-room", "lounge")
    assert not wordnet.are_synonyms("sofa", "waiting room")
    assert not wordnet.are_synonyms("sofa", "nonesuch")


def test_a_missing_wordnet_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingWordNetError) as caught:
        WordNet(tmp_path)
    assert isinstance(caught.value, MissingExtraError)


def test_damaged_files_are_told_with_their_line(folder: Path) -> None:
    data = folder / "data.noun"
    data.write_text(data.read_text().replace("sofa 0", "sofa"))
    data.write_text("x" + data.read_text())
    with pytest.raises(FormatError, match=r"data\.noun"):
        WordNet(folder).synonyms("sofa")
    index = folder / "index.verb"
    index.write_text(LICENCE + "lounge v\n")
    with pytest.raises(FormatError, match="line 2"):
        WordNet(folder).synonyms("sofa")
    index.write_text(LICENCE + "lounge v 2 1 @ 2 0 00000045\n")
    with pytest.raises(FormatError):
        WordNet(folder).synonyms("sofa")


@pytest.mark.data
@pytest.mark.skipif(not (FOLDER / "data.noun").is_file(), reason="wordnet-base is not installed")
def test_the_real_one() -> None:
    wordnet = WordNet()
    assert {"couch", "lounge"} <= wordnet.synonyms("sofa")
    assert "glad" in wordnet.synonyms("happy")
    assert wordnet.are_synonyms("car", "automobile")
