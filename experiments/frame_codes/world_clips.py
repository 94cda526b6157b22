"""Isolated signs of the signing world as landmarks, free of any licence: decoys, and a coder that learns nothing."""

from dataclasses import asdict

import numpy as np
import torch

from experiments.frame_codes.assembling import assemble
from experiments.frame_codes.config import WarpingConfig
from experiments.isolated.clips import FPS, IsolatedClip
from signspot.embedding.inputs import sign_in_context
from signspot.models.encoder import Encoder
from signspot.models.frame_coder import CoderOptions, FrameCoder, describe
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon

SIGNERS = 3  # of every word
_FRAMES = 20_000  # of which principal axes are worked out


def world_clips(words: int, signers: int, seed: int, minimal_pair_share: float = 0.2) -> list[IsolatedClip]:
    """Every word by every signer, as an estimator would see it."""
    options = LexiconOptions(
        words=words,
        seed=seed,
        minimal_pair_share=minimal_pair_share,
        synonym_share=0,
        fingerspelled_share=0,
        variant_shares=(1.0,),
    )
    found = []
    for word, entry in make_lexicon(options).items():
        for number in range(signers):
            random = named_rng(seed, word, number)
            signer = make_signer(f"signer-{word}-{number}", seed, Role.DICTIONARY, left_share=0)
            seen = observe(project(isolated(entry.variants[0], signer, random)[0], signer.camera), random)
            found.append(IsolatedClip(word, str(number), f"{word}-{number}", seen))
    return found


def make_warping(config: WarpingConfig) -> Encoder:
    """An encoder that learns nothing about signs: the principal axes of hand-crafted features, for time warping."""
    torch.manual_seed(config.seed)
    clips = world_clips(config.words, SIGNERS, config.seed)
    coder = FrameCoder(CoderOptions(width=0)).eval()
    frames = [torch.from_numpy(sign_in_context(clip.landmarks, FPS)[0]) for clip in clips]
    spacing = coder.options.spacing
    described = torch.cat([describe(each[None], spacing)[0] for each in frames if len(each) > 2 * spacing])
    coder.begin(described[torch.from_numpy(np.random.default_rng(config.seed).permutation(len(described))[:_FRAMES])])
    torch.nn.init.orthogonal_(coder.pool.weight)
    torch.nn.init.zeros_(coder.pool.bias)
    data = "Nothing was learned: principal axes of hand-crafted features on signs of the signspot world; its decoys."
    card = {"config": asdict(config), "licence": "CC0-1.0", "data": data}
    return assemble(config.name, coder, clips, card, config.seed)
