"""Share of the signs common to two synthetic languages that are found, and whether their meaning is told right.

    python -m experiments.applications.faux_amis --seed 52 --words 30

The second language has part of the first one's signs, half of them under the same word. `--choose` prints all cuts;
the shipped one was chosen with seeds 51 and 151.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.applications.synthetic_signs import embed_clips, gallery_of, make_words, parser_of, perform
from experiments.applications.variants import CUTS
from experiments.markdown import print_table
from signspot.applications.faux_amis import SAME_FORM, FauxAmis, FauxAmisOptions, compare_galleries
from signspot.embedding.exemplars import Gallery
from signspot.spotting.spotter import Spotter, load


def two_languages(
    spotter: Spotter, words: int, seed: int, shared: float = 0.3
) -> tuple[Gallery, Gallery, set[tuple[str, str]]]:
    """Galleries of two languages, and the true pairs of words."""
    first, second = make_words(words, seed), make_words(words, seed + 100)
    names, others, count = list(first), list(second), round(shared * words)
    pairs = {names[number] if number % 2 else others[number]: names[number] for number in range(count)}
    entries = {other: second[other] for other in others[count:]} | {new: first[old] for new, old in pairs.items()}
    mine = ((word, word, "a", perform(entry.variants[0], seed, word, 0)) for word, entry in first.items())
    theirs = ((word, word, "b", perform(entry.variants[0], seed, "second", word)) for word, entry in entries.items())
    gallery, other_gallery = (gallery_of(list(embed_clips(spotter, clips))) for clips in (mine, theirs))
    return gallery, other_gallery, {(old, new) for new, old in pairs.items()}


def score_pairs(result: FauxAmis, truth: set[tuple[str, str]]) -> tuple[float, float, float]:
    """Recall and precision of the pairs, and the share of true pairs found whose meaning is told right."""
    meanings = {(pair.first.word, pair.second.word): pair.meaning for pair in result.pairs}
    right = set(meanings) & truth
    meant = [meanings[pair] == ("same" if pair[0] == pair[1] else "other") for pair in right]
    return len(right) / len(truth), len(right) / max(1, len(meanings)), float(np.mean(meant)) if meant else float("nan")


def faux_amis_rows(spotter: Spotter, words: int, seed: int, cuts: Sequence[float]) -> Iterator[tuple[str, ...]]:
    """Rows: seed, words, shared signs, cut, recall, precision, meaning told right."""
    first, second, truth = two_languages(spotter, words, seed)
    for cut in cuts:
        scores = score_pairs(compare_galleries(spotter, first, second, FauxAmisOptions(same=cut)), truth)
        yield str(seed), str(words), str(len(truth)), f"{cut:.2f}", *(f"{score:.2f}" for score in scores)


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, words=60)
    parser.add_argument("--choose", action="store_true", help="print all cuts")
    args = parser.parse_args()
    heads = ("seed", "words", "shared", "cut", "recall", "precision", "meaning right")
    cuts = CUTS if args.choose else (SAME_FORM,)
    print_table(heads, faux_amis_rows(load(args.encoder, cache=False), args.words, args.seed, cuts))


if __name__ == "__main__":
    main()
