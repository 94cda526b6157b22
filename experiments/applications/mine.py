"""Share of mined exemplars that are right, and the number of signers and videos they come from.

    python -m experiments.applications.mine --seed 53 --words 14

Beside it stands what chance gives: the share of a word's own signs among all signs of the footage.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from experiments.applications.subtitle_timeline import is_right, small_corpus
from experiments.applications.synthetic_signs import parser_of
from experiments.markdown import print_table
from signspot.applications.mine import MineOptions, find_exemplars
from signspot.corpus.corpus import Corpus
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load


def mine_rows(spotter: Spotter, corpus: Corpus, most: int = 5) -> Iterator[tuple[str, ...]]:
    """Rows: diversity, words, mined, precision of the first, the first three and all of each word, chance, spread."""
    tracks = [replace(spotter.embed(str(video.landmarks)), video=name) for name, video in corpus.videos.items()]
    dictionary = corpus.dictionary()
    signed = [sign.word for name in corpus.videos for sign in corpus.signs(name)]
    words = [word for word, _ in Counter(word for word in signed if word in dictionary).most_common(8)]
    chance = np.mean([signed.count(word) / len(signed) for word in words])
    for diversity in (0.0, 0.3):
        right: list[tuple[int, bool]] = []  # rank, and whether it is right
        signers, videos = [], []
        for word in words:
            gallery, options = spotter.gallery(dictionary.select([word])), MineOptions(most, diversity)
            mined = find_exemplars(spotter, gallery, tracks, options, SpotOptions(threshold=0.6))
            right += [(example.rank, is_right(corpus, example.spotting.video, example.spotting)) for example in mined]
            videos.append(len({example.spotting.video for example in mined}))
            signers.append(len({corpus.videos[example.spotting.video].signer for example in mined}))
        firsts = [[hit for rank, hit in right if rank <= count] for count in (1, 3, most)]
        cells = [f"{np.mean(hits):.2f}" if hits else "" for hits in firsts]
        spread = f"{np.mean(signers):.1f}", f"{np.mean(videos):.1f}"
        yield f"{diversity:g}", str(len(words)), str(len(right)), *cells, f"{chance:.2f}", *spread


def main() -> None:
    """Print the table."""
    args = parser_of(__doc__, words=40).parse_args()
    counts = ("first right", "first 3 right", "first 5 right", "right by chance")
    heads = ("diversity", "words", "mined", *counts, "signers per word", "videos per word")
    with tempfile.TemporaryDirectory() as folder:
        print_table(heads, mine_rows(load(args.encoder, cache=False), small_corpus(folder, args.seed, args.words)))


if __name__ == "__main__":
    main()
