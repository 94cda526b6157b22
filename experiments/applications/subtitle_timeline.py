"""Share of subtitle words found on a timeline, and the share of those that are right, on a synthetic corpus.

    python -m experiments.applications.subtitle_timeline --seed 53 --words 14

`--choose` prints several allowed rates of false alarms.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from experiments.applications.synthetic_signs import parser_of
from experiments.markdown import print_table
from signspot.applications.subtitle_timeline import TimelineOptions, find_words
from signspot.corpus.corpus import Corpus
from signspot.spotting.decision import WORD_RATE
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.subtitles.reading import read_subtitles
from signspot.types import Spotting
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus

_NEAR = 0.2  # seconds around a sign that still count as its location


def small_corpus(folder: str, seed: int, words: int, hours: float = 0.05) -> Corpus:
    """Footage with subtitles, truth and a dictionary of three exemplars a word."""
    options = CorpusOptions(words=words, hours=hours, seed=seed, video_seconds=30, dictionary_signers=3, exemplars=3.0)
    return make_corpus(options, Path(folder) / "corpus")


def is_right(corpus: Corpus, video: str, spotting: Spotting) -> bool:
    """Whether the word is signed where it was found."""
    return any(
        sign.word == spotting.word and sign.segment.padded(_NEAR).overlap(spotting.segment) > 0
        for sign in corpus.signs(video)
    )


def dense_rows(spotter: Spotter, corpus: Corpus, rates: tuple[float, ...]) -> Iterator[tuple[str, ...]]:
    """Rows: allowed rate, subtitle words, that are signed, found, right of the found, found of the signed."""
    dictionary = corpus.dictionary()
    for rate in rates:
        mentions = signed = spotted = right = 0
        for name, video in corpus.videos.items():
            assert video.landmarks is not None, "a synthetic corpus has landmarks"
            assert video.subtitles is not None, "and subtitles"
            lines = read_subtitles(video.subtitles)
            options = TimelineOptions(search=SpotOptions(false_alarms_per_hour=rate))
            timeline = find_words(spotter, str(video.landmarks), lines, dictionary, options)
            spottings = [word.spotting for word in timeline.mentions if word.spotting is not None]
            mentions += len(timeline.mentions)
            signed += sum(bool(mention.signs) for mention in corpus.mentions(name))
            spotted += len(spottings)
            right += sum(is_right(corpus, name, spotting) for spotting in spottings)
        shares = f"{right / max(1, spotted):.2f}", f"{right / max(1, signed):.2f}"
        yield f"{rate:g}", str(mentions), str(signed), str(spotted), *shares


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, words=40)
    parser.add_argument("--choose", action="store_true", help="print several rates")
    args = parser.parse_args()
    rates = (30.0, 60.0, 120.0, 240.0) if args.choose else (WORD_RATE,)
    heads = ("false alarms per hour", "subtitle words", "of them signed", "found", "right", "found of the signed")
    with tempfile.TemporaryDirectory() as folder:
        corpus = small_corpus(folder, args.seed, args.words)
        print_table(heads, dense_rows(load(args.encoder, cache=False), corpus, rates))


if __name__ == "__main__":
    main()
