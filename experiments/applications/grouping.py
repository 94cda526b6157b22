"""Look-up, variants and faux amis measured: on synthetic corpora with exact truth, and on real isolated signs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from experiments.applications.learners import gallery_of
from experiments.applications.signs import film, make_words
from signspot.applications.faux_amis import FauxAmis, FauxAmisOptions, compare_galleries
from signspot.applications.signs import costs_between
from signspot.applications.variants import SAME_SIGN, cluster
from signspot.corpus.isolated import IsolatedClip
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import SignspotError
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

CUTS = tuple(round(0.4 + 0.05 * step, 2) for step in range(15))


@dataclass(frozen=True, slots=True)
class Shown:
    """A sign that was embedded: its word, the truth about which sign it is, and who signs."""

    word: str
    sign: str
    signer: str
    views: SignViews


def _embed(spotter: Spotter, clips: Sequence[tuple[str, str, str, Landmarks]]) -> list[Shown]:
    embedder, found = ExemplarEmbedder(spotter.encoder), []
    for word, sign, signer, landmarks in clips:
        try:
            found.append(Shown(word, sign, signer, embedder.embed_source(landmarks, mirror=True)))
        except SignspotError:  # no hand is seen
            continue
    return found


def _gallery(shown: Sequence[Shown]) -> Gallery:
    exemplars = [Exemplar(each.word, str(number), signer=each.signer) for number, each in enumerate(shown)]
    return gallery_of(exemplars, [each.views for each in shown])


def synthetic_variants(spotter: Spotter, words: int, seed: int, each: int = 4) -> list[Shown]:
    """Words with one to four variants, each by some signers."""
    lexicon = make_words(words, seed, (0.25, 0.25, 0.25, 0.25))
    clips = [
        (word, f"{word}-{variant}", str(number), film(sign, seed, word, variant, number, left=0.1))
        for word, entry in lexicon.items()
        for variant, sign in enumerate(entry.variants)
        for number in range(each)
    ]
    return _embed(spotter, clips)


def pooled_words(spotter: Spotter, clips: Sequence[IsolatedClip], words: int, seed: int, each: int = 5) -> list[Shown]:
    """Real words taken together, one to three at a time, as if they were variants of one word."""
    random = np.random.default_rng(seed)
    by_word: dict[str, list[IsolatedClip]] = {}
    for clip in clips:
        by_word.setdefault(clip.word, []).append(clip)
    names = random.permutation(sorted(word for word, own in by_word.items() if len(own) >= each)).tolist()
    chosen: list[tuple[str, str, str, Landmarks]] = []
    for number in range(words):
        for word in [names.pop() for _ in range(min(1 + number % 3, len(names)))]:
            own = [by_word[word][place] for place in random.permutation(len(by_word[word]))[:each].tolist()]
            chosen += [(f"pool {number}", word, clip.signer, clip.landmarks) for clip in own]
    return _embed(spotter, chosen)


def rand_index(labels: Sequence[object], truth: Sequence[object]) -> float:
    """The adjusted Rand index: 1 for the same grouping, about 0 for chance."""
    pairs = list(zip(labels, truth, strict=True))
    table = np.array([[pairs.count((mine, theirs)) for theirs in set(truth)] for mine in set(labels)])
    sums = table.ravel(), table.sum(axis=1), table.sum(axis=0)
    both, one, two = (sum(comb(int(n), 2) for n in part) for part in sums)
    expected, most = one * two / max(1, comb(len(truth), 2)), (one + two) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def score_variants(spotter: Spotter, shown: Sequence[Shown]) -> dict[float, tuple[float, float]]:
    """By cut: the mean adjusted Rand index over words, and the share of words with the right number of variants."""
    words = sorted({each.word for each in shown})
    gallery = _gallery(shown)
    costs = costs_between(spotter, gallery, gallery)
    costs = np.minimum(costs, costs.T)
    names = np.array([each.word for each in shown])
    unit = float(np.median(costs[names[:, None] != names[None]])) if len(words) > 10 else 1.0
    found: dict[float, tuple[float, float]] = {}
    for cut in CUTS:
        indices, counts = [], []
        for word in words:
            rows = np.flatnonzero(names == word)
            labels = np.zeros(len(rows), int)
            for number, group in enumerate(cluster(costs[np.ix_(rows, rows)] / unit, cut)):
                labels[group] = number
            truth = [shown[row].sign for row in rows.tolist()]
            indices.append(rand_index(labels.tolist(), truth))
            counts.append(float(len(set(labels.tolist())) == len(set(truth))))
        found[cut] = float(np.mean(indices)), float(np.mean(counts))
    return found


def variant_rows(spotter: Spotter, name: str, shown: Sequence[Shown], *, choose: bool) -> Iterator[tuple[str, ...]]:
    """Rows of a table: the set, words, exemplars, cut, adjusted Rand index, right numbers."""
    scores = score_variants(spotter, shown)
    words = str(len({each.word for each in shown}))
    for cut, (index, right) in scores.items():
        if choose or cut == SAME_SIGN:
            yield name, words, str(len(shown)), f"{cut:.2f}", f"{index:.2f}", f"{right:.2f}"


def look_ups(spotter: Spotter, shown: Sequence[Shown], exemplars: int, seed: int = 0) -> tuple[str, ...]:
    """Every sign looked up among so many exemplars per word, all by others: words, queries, R@1, R@5, MRR."""
    random = np.random.default_rng(seed)
    ranks: list[int] = []
    signers = sorted({each.signer for each in shown})
    for signer in signers:
        lent: list[Shown] = []
        for word in sorted({each.word for each in shown}):
            own = [each for each in shown if each.word == word and each.signer != signer]
            if len({each.signer for each in own}) >= exemplars:
                places = random.permutation(len(own)).tolist()
                by_signer = {own[place].signer: own[place] for place in places}
                lent += list(by_signer.values())[:exemplars]
        gallery = _gallery(lent)
        for each in shown:
            if each.signer == signer and each.word in gallery.words:
                found = spotter.identify_views(each.views, gallery, SpotOptions())
                ranks.append(1 + [match.word for match in found].index(each.word))
    made = np.array(ranks, float)
    cells = ((made <= 1).mean(), (made <= 5).mean(), (1 / made).mean())
    return str(len({each.word for each in shown})), str(len(ranks)), *(f"{cell:.3f}" for cell in cells)


def synthetic_words(spotter: Spotter, words: int, seed: int, signers: int = 6) -> list[Shown]:
    """Words of a synthetic corpus, each by the same number of signers."""
    lexicon = make_words(words, seed)
    clips = [(w, w, str(n), film(e.variants[0], seed, w, n)) for w, e in lexicon.items() for n in range(signers)]
    return _embed(spotter, clips)


def real_words(
    spotter: Spotter, clips: Sequence[IsolatedClip], words: int, signers: int = 6, seed: int = 0
) -> list[Shown]:
    """Some words of a corpus, one clip each by some signers."""
    random = np.random.default_rng(seed)
    by_word: dict[str, dict[str, IsolatedClip]] = {}
    for clip in clips:
        if clip.signer:
            by_word.setdefault(clip.word, {}).setdefault(clip.signer, clip)
    names = sorted(word for word, own in by_word.items() if len(own) >= signers)
    chosen = [names[place] for place in random.permutation(len(names))[:words].tolist()]
    picked = [
        (word, word, signer, by_word[word][signer].landmarks)
        for word in chosen
        for signer in random.permutation(sorted(by_word[word]))[:signers].tolist()
    ]
    return _embed(spotter, picked)


def two_languages(
    spotter: Spotter, words: int, seed: int, shared: float = 0.3
) -> tuple[Gallery, Gallery, set[tuple[str, str]]]:
    """Two synthetic corpora of which the second has part of the first's signs, half under the same word; the truth."""
    first, second = make_words(words, seed), make_words(words, seed + 100)
    names, others = list(first), list(second)
    count = round(shared * words)
    pairs: dict[str, str] = {}
    for number in range(count):
        pairs[names[number] if number % 2 else others[number]] = names[number]
    entries = {
        **{other: (other, second) for other in others[count:]},
        **{new: (old, first) for new, old in pairs.items()},
    }
    clips = [(word, word, "a", film(entry.variants[0], seed, word, 0)) for word, entry in first.items()]
    theirs = [(w, w, "b", film(lexicon[sign].variants[0], seed, "second", w)) for w, (sign, lexicon) in entries.items()]
    return (
        _gallery(_embed(spotter, clips)),
        _gallery(_embed(spotter, theirs)),
        {(old, new) for new, old in pairs.items()},
    )


def score_pairs(found: FauxAmis, truth: set[tuple[str, str]]) -> tuple[float, float, float]:
    """Recall and precision of the pairs, and the share of found true pairs whose meaning is told right."""
    told = {(pair.first.word, pair.second.word): pair.meaning for pair in found.pairs}
    right = set(told) & truth
    meant = [told[pair] == ("same" if pair[0] == pair[1] else "other") for pair in right]
    return len(right) / len(truth), len(right) / max(1, len(told)), float(np.mean(meant)) if meant else float("nan")


def faux_amis_rows(spotter: Spotter, words: int, seed: int, cuts: Sequence[float]) -> Iterator[tuple[str, ...]]:
    """Rows of a table: seed, words, shared signs, cut, recall, precision, meaning told right."""
    first, second, truth = two_languages(spotter, words, seed)
    for cut in cuts:
        scores = score_pairs(compare_galleries(spotter, first, second, FauxAmisOptions(same=cut)), truth)
        yield str(seed), str(words), str(len(truth)), f"{cut:.2f}", *(f"{score:.2f}" for score in scores)
