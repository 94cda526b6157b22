"""Dense timelines and mining measured on synthetic footage, whose truth is known."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from signspot.applications.densify import DensifyOptions, densify
from signspot.applications.mining import MineOptions, mine
from signspot.corpus.corpus import Corpus
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.subtitles.reading import read_subtitles
from signspot.types import Spotting
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.options import CorpusOptions

_NEAR = 0.2  # seconds around a sign that still count as its place


def _corpus(folder: str, seed: int, words: int, hours: float) -> Corpus:
    options = CorpusOptions(words=words, hours=hours, seed=seed, video_seconds=30, dictionary_signers=3, exemplars=3.0)
    return make_corpus(options, Path(folder) / "corpus")


def _is_right(corpus: Corpus, video: str, spotting: Spotting) -> bool:
    return any(
        sign.word == spotting.word and sign.segment.padded(_NEAR).overlap(spotting.segment) > 0
        for sign in corpus.signs(video)
    )


def dense_rows(
    spotter: Spotter, seed: int, words: int, hours: float, rates: tuple[float, ...]
) -> Iterator[tuple[str, ...]]:
    """Rows: seed, allowed rate, subtitle words, that are signed, found, right of the found, found of the signed."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = _corpus(folder, seed, words, hours)
        dictionary = corpus.dictionary()
        for rate in rates:
            asked = signed = found = right = 0
            for name, video in corpus.videos.items():
                assert video.landmarks is not None, "the synthetic corpus writes landmarks"
                assert video.subtitles is not None, "and subtitles"
                lines = read_subtitles(video.subtitles)
                made = densify(spotter, str(video.landmarks), lines, dictionary, DensifyOptions(rate=rate))
                placed = [each.spotting for each in made.mentioned if each.spotting is not None]
                asked += len(made.mentioned)
                signed += sum(bool(each.signs) for each in corpus.mentions(name))
                found += len(placed)
                right += sum(_is_right(corpus, name, each) for each in placed)
            shares = f"{right / max(1, found):.2f}", f"{right / max(1, signed):.2f}"
            yield str(seed), f"{rate:g}", str(asked), str(signed), str(found), *shares


def mine_rows(spotter: Spotter, seed: int, words: int, hours: float, most: int = 5) -> Iterator[tuple[str, ...]]:
    """Rows: seed, diversity, words, mined, precision of the first one, two … of each word, signers and videos per word.

    Beside each, what chance gives: the share of a word's own signs among all signs of the footage.
    """
    with tempfile.TemporaryDirectory() as folder:
        corpus = _corpus(folder, seed, words, hours)
        tracks = {name: replace(spotter.embed(str(v.landmarks)), video=name) for name, v in corpus.videos.items()}
        dictionary = corpus.dictionary()
        every = [sign.word for name in corpus.videos for sign in corpus.signs(name)]
        asked = [word for word, _ in Counter(word for word in every if word in dictionary).most_common(8)]
        chance = np.mean([every.count(word) / len(every) for word in asked])
        for diversity in (0.0, 0.3):
            right: list[list[float]] = [[] for _ in range(most)]
            signers, videos = [], []
            for word in asked:
                gallery = spotter.gallery(dictionary.select([word]))
                options = MineOptions(most, diversity)
                mined = mine(spotter, gallery, list(tracks.values()), options, SpotOptions(threshold=0.6))
                for each in mined:
                    right[each.rank - 1].append(float(_is_right(corpus, each.spotting.video, each.spotting)))
                videos.append(len({each.spotting.video for each in mined}))
                signers.append(len({corpus.videos[each.spotting.video].signer for each in mined}))
            firsts = [[value for own in right[:count] for value in own] for count in (1, 3, most)]
            cells = [f"{np.mean(values):.2f}" if values else "" for values in firsts]
            spread = f"{np.mean(signers):.1f}", f"{np.mean(videos):.1f}"
            yield str(seed), f"{diversity:g}", str(len(asked)), str(len(firsts[-1])), *cells, f"{chance:.2f}", *spread
