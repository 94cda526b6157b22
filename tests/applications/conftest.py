"""Signs of a small corpus as files: two words with one variant each, one word with two, by three signers each."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.applications.synthetic_signs import make_words, perform
from signspot.dictionary.dictionary import Dictionary
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.landmarks.pose_file import write_landmarks
from signspot.spotting.spotter import Spotter, load
from signspot_synthetic.language.lexicon import Lexicon

SEED = 3


@pytest.fixture(scope="session")
def words() -> Lexicon:
    return make_words(13, SEED, (0.7, 0.3))


@pytest.fixture(scope="session")
def spotter(tmp_path_factory: pytest.TempPathFactory) -> Spotter:
    """The shipped encoder of free licence; tracks and exemplars are embedded once for all tests."""
    return replace(load("landmark-synthetic", cache=False), cache=tmp_path_factory.mktemp("applications-cache"))


@pytest.fixture(scope="session")
def twofold(words: Lexicon) -> str:
    """A word with two variants."""
    return next(word for word, entry in words.items() if len(entry.variants) == 2)


@pytest.fixture(scope="session")
def signs(words: Lexicon, twofold: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dictionary of 13 words; the word with two variants has three exemplars of each, others have one or two."""
    folder = tmp_path_factory.mktemp("signs")
    for number, (word, entry) in enumerate(words.items()):
        for variant, sign in enumerate(entry.variants if word == twofold else entry.variants[:1]):
            for signer in range(3 if word == twofold else 2 if number < 3 else 1):
                name = f"{'ab'[variant]}{signer}"
                write_landmarks(perform(sign, SEED, word, variant, signer), folder / word / f"{name}.pose")
    return folder


@pytest.fixture(scope="session")
def dictionary(signs: Path) -> Dictionary:
    return open_dictionary(signs)


@pytest.fixture(scope="session")
def gallery(spotter: Spotter, dictionary: Dictionary) -> Gallery:
    return spotter.gallery(dictionary)


@pytest.fixture(scope="session")
def clip(words: Lexicon, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A word with two exemplars, and a clip of it by somebody else."""
    word, entry = next((word, entry) for word, entry in words.items() if len(entry.variants) == 1)
    path = tmp_path_factory.mktemp("clip") / "me.pose"
    write_landmarks(perform(entry.variants[0], SEED, "learner", word), path)
    return word, path
