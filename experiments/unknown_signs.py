"""Signs that are not in a dictionary: how often `identify` says so, and how often it is wrong about one that is.

    python -m experiments.unknown_signs --lsa64 FOLDER --wlasl FOLDER --encoder landmark --half second

A dictionary is some words of LSA64 by one signer. Clips of the same words by other signers are in it; clips of other
words of LSA64, and of WLASL, another language, are not. The table also shows the limit of chance at which one clip in
ten that is in the dictionary would be rejected.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.markdown import head, row
from experiments.promised_false_alarms import half_of
from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import SignspotError
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Match, Spotter, load
from signspot.types import Exemplar

WORDS = (5, 10, 20)  # in a dictionary
CLIPS = 150  # of each kind
WANTED = 0.1  # share of clips in the dictionary that are rejected
SEED = 0


def embed(spotter: Spotter, clips: Sequence[IsolatedClip]) -> list[tuple[IsolatedClip, SignViews]]:
    """Clips, at most `CLIPS`, drawn at random, as the encoder sees them; those without a hand are left out."""
    embedder, views = ExemplarEmbedder(spotter.encoder), []
    for number in np.random.default_rng(SEED).permutation(len(clips))[:CLIPS].tolist():
        try:
            views.append((clips[number], embedder.embed_source(clips[number].landmarks, mirror=True)))
        except SignspotError:
            continue
    return views


def gallery_of(spotter: Spotter, clips: Sequence[IsolatedClip]) -> Gallery:
    """One exemplar of each word."""
    by_word = {clip.word: (clip, view) for clip, view in embed(spotter, clips)}
    exemplars = [Exemplar(word, word) for word in by_word]
    views = [view for _, view in by_word.values()]
    codes = [view.codes for view in views if view.codes is not None]
    return Gallery.of(exemplars, np.stack([view.embeddings for view in views]), np.stack(codes))


def measure(spotter: Spotter, lsa64: Sequence[IsolatedClip], wlasl: Sequence[IsolatedClip]) -> Iterator[str]:
    """Rows of a table, one for each size of a dictionary."""
    heads = "encoder", "words", "wrong rejections", "limit for 10 %", "right word", "rejected: LSA64", "rejected: WLASL"
    yield head(*heads)
    words = np.random.default_rng(SEED).permutation(sorted({clip.word for clip in lsa64})).tolist()
    signer = min(clip.signer for clip in lsa64)
    for count in WORDS:
        dictionary_words = set(words[:count])
        gallery = gallery_of(
            spotter, [clip for clip in lsa64 if clip.word in dictionary_words and clip.signer == signer]
        )

        def best(clips: Sequence[IsolatedClip], among: Gallery = gallery) -> list[tuple[str, Match]]:
            views = embed(spotter, clips)
            return [(clip.word, spotter.identify_views(view, among, SpotOptions())[0]) for clip, view in views]

        known_matches = best([clip for clip in lsa64 if clip.word in dictionary_words and clip.signer != signer])
        unknown = [best([clip for clip in lsa64 if clip.word not in dictionary_words]), best(wlasl)]
        limit = float(np.quantile([match.chance or 0.0 for _, match in known_matches], 1 - WANTED))
        rejected = [np.mean([not match.is_known for _, match in matches]) for matches in (known_matches, *unknown)]
        right = np.mean([word == match.word for word, match in known_matches])
        cells = (
            spotter.encoder.name,
            count,
            f"{rejected[0]:.2f} of {len(known_matches)}",
            f"{limit:.2g}",
            f"{right:.2f}",
        )
        yield row(*cells, *(f"{share:.2f}" for share in rejected[1:]))


def main() -> None:
    """Print a table for each encoder."""
    parser = argparse.ArgumentParser(prog="python -m experiments.unknown_signs", description=__doc__)
    parser.add_argument("--lsa64", type=Path, required=True)
    parser.add_argument("--wlasl", type=Path, required=True)
    parser.add_argument("--encoder", action="append", required=True)
    parser.add_argument("--half", choices=("first", "second"), default="second", help="of the words")
    options = parser.parse_args()
    lsa64, wlasl = (half_of(read_isolated(folder), options.half) for folder in (options.lsa64, options.wlasl))
    for name in options.encoder:
        for line in measure(load(name), lsa64, wlasl):
            print(line, flush=True)


if __name__ == "__main__":
    main()
