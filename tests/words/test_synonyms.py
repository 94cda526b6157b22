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
        data = LICENCE
        for words in SETS[part]:
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08d} 06 {part[0]} {len(words):02x} {listed} 001 @ 00000001 n 0000 | a gloss  \n"
        (tmp_path / f"data.{part}").write_text(data)
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


def test_a_missing_wordnet_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingWordNetError) as caught:
        WordNet(tmp_path)
    assert isinstance(caught.value, MissingExtraError)


@pytest.mark.parametrize("line", ["x", "00000045 06 v 02 lounge 0", "00000045 06 v zz lounge 0 footle 0"])
def test_damaged_files_are_refused(folder: Path, line: str) -> None:
    (folder / "data.verb").write_text(LICENCE + line + "\n")
    with pytest.raises(FormatError, match=r"data\.verb, line 2"):
        WordNet(folder).synonyms("sofa")


@pytest.mark.data
@pytest.mark.skipif(not (FOLDER / "data.noun").is_file(), reason="wordnet-base is not installed")
def test_the_real_one() -> None:
    wordnet = WordNet()
    assert {"couch", "lounge"} <= wordnet.synonyms("sofa")
    assert "glad" in wordnet.synonyms("happy")
