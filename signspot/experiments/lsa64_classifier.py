"""What a classifier knows of signing: a landmark trunk taught the seen words of LSA64, and nothing else."""

from os import PathLike

import numpy as np

from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.training.lsa64 import SEEN_WORDS, TRAIN_SIGNERS, read_lsa64
from signspot.training.trunk_classification import TrunkConfig, train_trunk
from signspot.training.trunk_clips import ClipOptions, TrunkSigns

STEPS = 600


def classifier(
    lsa64: str | PathLike[str], folder: str | PathLike[str], steps: int = STEPS, progress: Progress = silent
) -> Encoder:
    """Train a classifier of the seen words by the training signers; its features are what it is compared by.

    Args:
        lsa64: folder of the corpus.
        folder: where the training is kept; one that was stopped there goes on, one that is done is only read.
        steps: of the training.
        progress: told the steps done.
    """
    clips = [clip for clip in read_lsa64(lsa64, TRAIN_SIGNERS) if clip.word in SEEN_WORDS]
    shown = tuple(tuple(c.sign().astype(np.float16) for c in clips if c.word == word) for word in SEEN_WORDS)
    signs = TrunkSigns(tuple(map(str, SEEN_WORDS)), tuple(() for _ in SEEN_WORDS), shown)
    config = TrunkConfig(name="classifier", steps=steps, clips=ClipOptions(dictionary=1.0))
    return train_trunk(config, signs, folder, progress)
