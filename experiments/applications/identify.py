"""Accuracy of looking signs up with 1, 2, 3 and 5 exemplars per word, all by other signers.

python -m experiments.applications.identify --seed 53 --words 20 --corpus lsa64/ --corpus wlasl/
"""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.applications.synthetic_signs import (
    Clip,
    add_corpora,
    embed_clips,
    gallery_of,
    make_words,
    parser_of,
    perform,
)
from experiments.markdown import print_table
from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter, load

_SIGNERS = 6  # of every word


def synthetic_words(words: int, seed: int) -> Iterator[tuple[str, str, str, Landmarks]]:
    """Words, each by the same number of signers."""
    for word, entry in make_words(words, seed).items():
        for number in range(_SIGNERS):
            yield word, word, str(number), perform(entry.variants[0], seed, word, number)


def real_words(clips: Sequence[IsolatedClip], words: int) -> Iterator[tuple[str, str, str, Landmarks]]:
    """Some words of a corpus, one clip each by some signers."""
    random, by_word = np.random.default_rng(0), dict[str, dict[str, IsolatedClip]]()
    for clip in clips:
        if clip.signer:
            by_word.setdefault(clip.word, {}).setdefault(clip.signer, clip)
    names = sorted(word for word, clips_of_word in by_word.items() if len(clips_of_word) >= _SIGNERS)
    for index in random.permutation(len(names))[:words].tolist():
        for signer in random.permutation(sorted(by_word[names[index]]))[:_SIGNERS].tolist():
            yield names[index], names[index], signer, by_word[names[index]][signer].landmarks


def look_up_row(spotter: Spotter, clips: Sequence[Clip], exemplars: int) -> tuple[str, ...]:
    """Every clip looked up among so many exemplars per word: exemplars, words, queries, R@1, R@5, MRR."""
    random, words, ranks = np.random.default_rng(0), sorted({clip.word for clip in clips}), list[int]()
    for signer in sorted({clip.signer for clip in clips}):
        lent: list[Clip] = []
        for word in words:
            by_others = [clip for clip in clips if clip.word == word and clip.signer != signer]
            if len({clip.signer for clip in by_others}) >= exemplars:
                by_signer = {
                    by_others[index].signer: by_others[index] for index in random.permutation(len(by_others)).tolist()
                }
                lent += list(by_signer.values())[:exemplars]
        gallery = gallery_of(lent)
        for clip in clips:
            if clip.signer == signer and clip.word in gallery.words:
                matches = spotter.identify_views(clip.views, gallery, SpotOptions())
                ranks.append(1 + [match.word for match in matches].index(clip.word))
    rank = np.array(ranks, float)
    shares = ((rank <= 1).mean(), (rank <= 5).mean(), (1 / rank).mean())
    return str(exemplars), str(len(words)), str(len(ranks)), *(f"{share:.3f}" for share in shares)


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, words=60)
    add_corpora(parser)
    args = parser.parse_args()
    spotter = load(args.encoder, cache=False)
    sets = {f"synthetic {args.seed}": synthetic_words(args.words, args.seed)}
    sets |= {folder.name: real_words(read_isolated(folder), args.words) for folder in args.corpus}
    embedded = {name: list(embed_clips(spotter, clips)) for name, clips in sets.items()}
    heads = ("corpus", "exemplars per word", "words", "queries", "R@1", "R@5", "MRR")
    rows = (
        (name, *look_up_row(spotter, corpus_clips, count))
        for name, corpus_clips in embedded.items()
        for count in (1, 2, 3, 5)
    )
    print_table(heads, rows)


if __name__ == "__main__":
    main()
