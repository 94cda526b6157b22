"""Background for calibration: signing of one world searched for the words of another, so that every find is false."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.errors import OptionsError
from signspot.io.progress import Progress, silent
from signspot.models.encoder import Encoder
from signspot.spotting.calibration import FalseAlarms, false_alarms
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Track
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Sign

SENTENCE = 30  # signs in a stretch of background
_LOOKED_FOR, _SIGNED = 101, 202  # seeds of the two lexicons


def measure_false_alarms(
    encoder: Encoder, words: int = 100, hours: float = 0.5, seed: int = 1, progress: Progress = silent
) -> FalseAlarms:
    """Search world signing for `words` signs that never occur in it.

    Raises:
        OptionsError: the encoder sees pictures, and this signing is landmarks.
    """
    if encoder.contract.kind != "landmarks":
        raise OptionsError(
            f"'{encoder.name}' sees pictures: give footage in which no word of a dictionary is signed, with --footage "
            "and --dictionary"
        )
    return false_alarms(Spotter(encoder), _background(encoder, hours, seed, progress), _gallery(encoder, words, seed))


def _signs(count: int, seed: int) -> list[Sign]:
    lexicon = make_lexicon(
        LexiconOptions(words=count, seed=seed, synonym_share=0, fingerspelled_share=0, variant_shares=(1.0,))
    )
    return [entry.variants[0] for entry in lexicon.values()]


def _gallery(encoder: Encoder, words: int, seed: int) -> Gallery:
    exemplars, views = [], []
    embedder = ExemplarEmbedder(encoder)
    for number, sign in enumerate(_signs(words, _LOOKED_FOR)):
        rng = named_rng(seed, "exemplar", number)
        signer = make_signer(f"dictionary-{number % 12}", seed, Role.DICTIONARY, left_share=0)
        seen = observe(project(isolated(sign, signer, rng)[0], signer.camera), rng)
        views.append(embedder.embed_source(seen))
        exemplars.append(Exemplar(f"word {number}", f"word {number}"))
    codes = [view.codes for view in views if view.codes is not None]
    joined = np.stack(codes) if len(codes) == len(views) else None
    return Gallery.of(exemplars, np.stack([view.embeddings for view in views]), joined)


def _background(encoder: Encoder, hours: float, seed: int, progress: Progress) -> Iterator[Track]:
    signs, spotter = _signs(1000, _SIGNED), Spotter(encoder)
    wanted, made, number = round(hours * 3600), 0.0, 0
    while made < wanted:
        rng = named_rng(seed, "background", number)
        signer = make_signer(f"signer-{number}", seed, Role.TEST, left_share=0.1)
        motion, _ = continuous([signs[i] for i in rng.integers(len(signs), size=SENTENCE)], signer, rng)
        track = spotter.embed(observe(project(motion, signer.camera), rng))
        made, number = made + track.grid.frames / track.grid.fps, number + 1
        progress(min(wanted, round(made)), wanted)
        yield replace(track, video=f"background-{number}")
