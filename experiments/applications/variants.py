"""Accuracy of grouping exemplars into variants.

    python -m experiments.applications.variants --seed 52 --words 6 --corpus lsa64/ --corpus wlasl/

Synthetic words have one to four variants, each by four signers. Real words are pooled, one to three at a time, as if
they were variants of one word. `--choose` prints all cuts; the shipped one was chosen with seed 51.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import comb

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
from signspot.applications.sign_comparison import costs_between
from signspot.applications.variants import SAME_SIGN
from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.dictionary.clustering import average_linkage
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.spotter import Spotter, load

CUTS = tuple(round(0.4 + 0.05 * step, 2) for step in range(15))


def synthetic_variants(words: int, seed: int, signers: int = 4) -> Iterator[tuple[str, str, str, Landmarks]]:
    """Words with one to four variants, each by some signers."""
    for word, entry in make_words(words, seed, (0.25,) * 4).items():
        for variant, sign in enumerate(entry.variants):
            for number in range(signers):
                clip = perform(sign, seed, word, variant, number, left=0.1)
                yield word, f"{word}-{variant}", str(number), clip


def pooled_words(
    clips: Sequence[IsolatedClip], words: int, seed: int, exemplars: int = 5
) -> Iterator[tuple[str, str, str, Landmarks]]:
    """Real words taken together, one to three at a time, as if they were variants of one word."""
    random = np.random.default_rng(seed)
    ordered = sorted(clips, key=lambda clip: clip.word)
    by_word = {word: list(group) for word, group in groupby(ordered, key=lambda clip: clip.word)}
    names = random.permutation([word for word, group in by_word.items() if len(group) >= exemplars]).tolist()
    for number in range(words):
        for word in [names.pop() for _ in range(min(1 + number % 3, len(names)))]:
            for index in random.permutation(len(by_word[word]))[:exemplars].tolist():
                clip = by_word[word][index]
                yield f"pool {number}", word, clip.signer, clip.landmarks


def rand_index(labels: Sequence[object], truth: Sequence[object]) -> float:
    """The adjusted Rand index: 1 for the same grouping, about 0 for chance."""
    pairs = list(zip(labels, truth, strict=True))
    table = np.array([[pairs.count((mine, theirs)) for theirs in set(truth)] for mine in set(labels)])
    sums = table.ravel(), table.sum(axis=1), table.sum(axis=0)
    both, pairs_of_labels, pairs_of_truth = (sum(comb(int(n), 2) for n in part) for part in sums)
    expected, most = (
        pairs_of_labels * pairs_of_truth / max(1, comb(len(truth), 2)),
        (pairs_of_labels + pairs_of_truth) / 2,
    )
    return 1.0 if most == expected else (both - expected) / (most - expected)


def variant_rows(spotter: Spotter, clips: Sequence[Clip], cuts: Sequence[float]) -> Iterator[tuple[str, ...]]:
    """Rows: words, exemplars, cut, mean adjusted Rand index over words, share of words with the right number."""
    words, names = sorted({clip.word for clip in clips}), np.array([clip.word for clip in clips])
    costs = costs_between(spotter, gallery_of(clips), gallery_of(clips))
    costs = np.minimum(costs, costs.T)
    unit = float(np.median(costs[names[:, None] != names[None]])) if len(words) > 10 else 1.0
    for cut in cuts:
        indices, counts = [], []
        for word in words:
            rows = np.flatnonzero(names == word)
            labels = average_linkage(costs[np.ix_(rows, rows)] / unit, cut)
            truth = [clips[row].sign for row in rows.tolist()]
            indices.append(rand_index(labels.tolist(), truth))
            counts.append(len(set(labels.tolist())) == len(set(truth)))
        yield str(len(words)), str(len(clips)), f"{cut:.2f}", f"{np.mean(indices):.2f}", f"{np.mean(counts):.2f}"


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, words=20)
    parser.add_argument("--choose", action="store_true", help="print all cuts")
    add_corpora(parser)
    args = parser.parse_args()
    spotter = load(args.encoder, cache=False)
    sets = {f"synthetic {args.seed}": synthetic_variants(args.words, args.seed)}
    sets |= {folder.name: pooled_words(read_isolated(folder), args.words, args.seed) for folder in args.corpus}
    embedded = {name: list(embed_clips(spotter, clips)) for name, clips in sets.items()}
    cuts = CUTS if args.choose else (SAME_SIGN,)
    heads = ("corpus", "words", "exemplars", "cut", "adjusted Rand index", "right number")
    print_table(
        heads,
        ((name, *row) for name, corpus_clips in embedded.items() for row in variant_rows(spotter, corpus_clips, cuts)),
    )


if __name__ == "__main__":
    main()
