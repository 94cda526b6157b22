"""Shared by the measurements: synthetic isolated signs, galleries of them, and options."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import NoHandsError
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.language.lexicon import Lexicon, LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Sign
from signspot_synthetic.observation import observe, project
from signspot_synthetic.random_streams import named_rng


def make_words(words: int, seed: int, variants: tuple[float, ...] = (1.0,)) -> Lexicon:
    """Words without synonyms and fingerspelling; `variants` are the shares of words with 1, 2 … variants."""
    plain = {"minimal_pair_share": 0, "synonym_share": 0, "fingerspelled_share": 0}
    return make_lexicon(LexiconOptions(words=words, seed=seed, variant_shares=variants, **plain))


def perform(sign: Sign, seed: int, *names: str | int, left: float = 0.0) -> Landmarks:
    """A sign by a signer of its own, as an estimator sees it; `left` is the share of left-handed signers."""
    random = named_rng(seed, *names)
    signer = make_signer("-".join(map(str, names)), seed, Role.DICTIONARY, left_share=left)
    return observe(project(isolated(sign, signer, random)[0], signer.camera), random)


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip that was embedded: its word, the truth about which sign it shows, and who signs."""

    word: str
    sign: str
    signer: str
    landmarks: Landmarks
    views: SignViews


def embed_clips(spotter: Spotter, clips: Iterable[tuple[str, str, str, Landmarks]]) -> Iterator[Clip]:
    """Embed clips given by word, sign, signer and landmarks; those in which no hand is seen are left out."""
    embedder = ExemplarEmbedder(spotter.encoder)
    for word, sign, signer, landmarks in clips:
        with suppress(NoHandsError):
            yield Clip(word, sign, signer, landmarks, embedder.embed_source(landmarks, mirror=True))


def gallery_of(clips: Sequence[Clip]) -> Gallery:
    """A gallery of embedded clips."""
    exemplars = [Exemplar(clip.word, str(number), signer=clip.signer) for number, clip in enumerate(clips)]
    codes = [clip.views.codes for clip in clips if clip.views.codes is not None]
    stacked = np.stack(codes) if len(codes) == len(clips) else None
    return Gallery.of(exemplars, np.stack([clip.views.embeddings for clip in clips]), stacked)


def parser_of(description: str | None, words: int) -> argparse.ArgumentParser:
    """A parser with the options that all measurements take; `words` is the default number of words."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", help="name or file; the shipped one if not given")
    parser.add_argument("--seed", type=int, default=52, help="of the synthetic words")
    parser.add_argument("--words", type=int, default=words)
    return parser


def add_corpora(parser: argparse.ArgumentParser) -> None:
    """Add the option that names corpora of real isolated signs."""
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="of isolated signs; repeatable")
