"""From a trained frame coder to an encoder that ships: its typical cost and its cohort of decoys are added."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.isolated.clips import FPS, IsolatedClip
from signspot.embedding.exemplars import code_sign
from signspot.embedding.inputs import sign_in_context
from signspot.errors import OptionsError, SignspotError
from signspot.landmarks.features import LEFT_HAND, RIGHT_HAND
from signspot.landmarks.landmarks import Landmarks
from signspot.models.encoder import Encoder, make_encoder
from signspot.models.frame_coder import FrameCoder
from signspot.models.registry import build
from signspot.spotting.matching import warping_costs

DECOY_WORDS, DECOY_EXEMPLARS = 100, 3  # words of the cohort, and signers of each
_FEWEST_FRAMES = 8  # of a sign that may be a decoy
_LEAST_SEEN = 0.8  # part of its frames in which a hand is seen


def assemble(name: str, coder: FrameCoder, clips: Sequence[IsolatedClip], card: dict[str, Any], seed: int) -> Encoder:
    """Make an encoder of a trained coder.

    Args:
        name: of the encoder.
        coder: trained.
        clips: of which decoys are drawn: words by several signers.
        card: licence, data and so on.
        seed: of the draw.

    Raises:
        OptionsError: too few words have enough signers.
    """
    bare = _module(coder, 0)
    decoys, words = _decoys(make_encoder(name, bare), clips, seed)
    module = _module(coder, len(decoys))
    trunk = module.trunk
    assert isinstance(trunk, FrameCoder)
    trunk.decoys.copy_(torch.from_numpy(decoys))
    trunk.decoy_words.copy_(torch.from_numpy(words))
    costs = warping_costs(decoys[:, 0], decoys[:, 0])[words[:, None] != words]
    trunk.typical_cost.fill_(float(np.median(costs)))
    return make_encoder(name, module, card=card)


def _module(coder: FrameCoder, decoys: int) -> Any:
    module = build("frame_codes", **asdict(replace(coder.options, decoys=decoys)), mlp=False)
    learned = {key: value for key, value in coder.state_dict().items() if not key.startswith("decoy")}
    module.trunk.load_state_dict(learned, strict=False)
    return module


def _decoys(
    encoder: Encoder, clips: Sequence[IsolatedClip], seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """(K, 2, L, C) codes of decoys, as they are and mirrored, and (K,) their words: each word by several signers."""
    random = np.random.default_rng(seed)
    by_word: dict[str, dict[str, IsolatedClip]] = {}
    for index in random.permutation(len(clips)):
        clip = clips[int(index)]
        if clip.signer and _is_clear(clip.landmarks):
            by_word.setdefault(clip.word, {}).setdefault(clip.signer, clip)
    enough = [word for word, signers in sorted(by_word.items()) if len(signers) >= DECOY_EXEMPLARS]
    chosen = [enough[int(index)] for index in random.permutation(len(enough))[:DECOY_WORDS]]
    if not chosen:
        raise OptionsError(f"no word has clips of {DECOY_EXEMPLARS} signers: there is nothing to draw decoys from")
    codes, words = [], []
    for number, word in enumerate(chosen):
        for clip in list(by_word[word].values())[:DECOY_EXEMPLARS]:
            views = code_sign(encoder, *sign_in_context(clip.landmarks, FPS), mirror=True)
            assert views.codes is not None
            codes.append(views.codes)
            words.append(number)
    return np.stack(codes), np.array(words, np.int64)


def _is_clear(landmarks: Landmarks) -> bool:
    """Whether a clip shows a sign well enough to be a decoy."""
    try:
        seen, first, last = sign_in_context(landmarks, FPS)
    except SignspotError:
        return False
    hands = seen[first : last + 1, [LEFT_HAND.start, RIGHT_HAND.start], 3].any(axis=1)
    return last - first + 1 >= _FEWEST_FRAMES and float(hands.mean()) >= _LEAST_SEEN
