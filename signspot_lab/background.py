"""Background for calibration: signing of one world searched for the words of another, so that every find is false."""

from collections.abc import Iterator

import numpy as np

from signspot.embedding.exemplars import Gallery, embed_sign
from signspot.embedding.inputs import sign_features
from signspot.embedding.windows import embed_chunks
from signspot.landmarks.features import features
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.records import Exemplar
from signspot.spotting.calibration import FalseAlarms, false_alarms
from signspot.spotting.spotter import Spotter
from signspot.timeline import Grid, Track
from signspot_world.body.motion import continuous, isolated
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.estimator import observe
from signspot_world.camera.projection import project
from signspot_world.knobs import named_rng
from signspot_world.language.lexicon import LexiconOptions, make_lexicon
from signspot_world.language.phonology import Sign

SENTENCE = 30  # signs in a stretch of background
_LOOKED_FOR, _SIGNED = 101, 202  # seeds of the two lexicons


def measure_false_alarms(
    encoder: Encoder, words: int = 100, hours: float = 0.5, seed: int = 1, progress: Progress = silent
) -> FalseAlarms:
    """Search world signing for `words` signs that never occur in it."""
    return false_alarms(Spotter(encoder), _background(encoder, hours, seed, progress), _gallery(encoder, words, seed))


def _signs(count: int, seed: int) -> list[Sign]:
    lexicon = make_lexicon(
        LexiconOptions(words=count, seed=seed, synonym_share=0, fingerspelled_share=0, variant_shares=(1.0,))
    )
    return [entry.variants[0] for entry in lexicon.values()]


def _gallery(encoder: Encoder, words: int, seed: int) -> Gallery:
    exemplars, rows = [], []
    for number, sign in enumerate(_signs(words, _LOOKED_FOR)):
        rng = named_rng(seed, "exemplar", number)
        signer = make_signer(f"dictionary-{number % 12}", seed, Role.DICTIONARY, left_share=0)
        seen = observe(project(isolated(sign, signer, rng)[0], signer.camera), rng)
        rows.append(embed_sign(encoder, sign_features(seen, encoder.contract.fps)))
        exemplars.append(Exemplar(f"word {number}", f"word {number}"))
    return Gallery.of(exemplars, np.stack(rows))


def _background(encoder: Encoder, hours: float, seed: int, progress: Progress) -> Iterator[Track]:
    signs = _signs(1000, _SIGNED)
    fps, wanted, made, number = encoder.contract.fps, round(hours * 3600), 0.0, 0
    while made < wanted:
        rng = named_rng(seed, "background", number)
        signer = make_signer(f"signer-{number}", seed, Role.TEST, left_share=0.1)
        motion, _ = continuous([signs[i] for i in rng.integers(len(signs), size=SENTENCE)], signer, rng)
        seen = features(observe(project(motion, signer.camera), rng))
        embeddings, frames = embed_chunks(encoder, [seen]), len(seen)
        made, number = made + frames / fps, number + 1
        progress(min(wanted, round(made)), wanted)
        yield Track(embeddings, Grid(fps, encoder.contract.frames, 1, frames), encoder.hash, f"background-{number}")
