"""Teaches the code of lips what films do to them: `python -m signspot_lab.mouthing.toughening --out FILE`.

A spotter learned from lips whose width and depth are seen as they are. On film an estimator shrinks the one and invents
the other. Here a copy of its lips' code learns, from lips that are weakened in the same way, to say what the original
says of the lips as they are. Words, and how they are compared, stay as they were learned; then probabilities are
calibrated anew, by other people and words.
"""

import argparse
import copy
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from signspot.errors import OptionsError
from signspot.mouthing.checkpoints import MouthingModel, load_mouthing, save_mouthing
from signspot.mouthing.network import MouthingNetwork
from signspot.progress import Progress, silent
from signspot.training.steps import warm_cosine
from signspot_lab.mouthing.calibration import calibrate
from signspot_lab.mouthing.clips import LipClip, make_clips, read_vocabulary
from signspot_lab.mouthing.weakening import weaken

_LOWEST_RATE = 0.02  # as a share of the highest
_PEOPLE = "toughened"  # whose lips are learned from: others than in the training


@dataclass(frozen=True, slots=True)
class ToughOptions:
    """Options of teaching the lips' code."""

    clips: int = 300
    steps: int = 2000
    windows: int = 24  # in a batch
    frames: int = 96  # of a window
    rate: float = 6e-4  # the highest learning rate; it falls as a cosine to a fiftieth
    weakened: float = 0.7  # share of the windows that are weakened; the others stay as they are
    calibration: int = 120  # clips of other signers, by which probabilities are calibrated
    seed: int = 3

    def __post_init__(self) -> None:
        if min(self.clips, self.steps, self.windows, self.calibration) < 1 or self.frames < 50:
            raise OptionsError(f"toughening needs clips, steps and windows of at least 50 frames; got {self}")


def toughen(model: MouthingModel, options: ToughOptions, progress: Progress = silent) -> MouthingModel:
    """A spotter whose lips' code holds on films, too, calibrated anew.

    Args:
        model: a network that sees landmarks.
        options: how it is taught.
        progress: told the steps done.

    Raises:
        OptionsError: the spotter has learned nothing that could be kept.
    """
    teacher = model.network
    if not isinstance(teacher, MouthingNetwork) or model.kind != "landmarks":
        raise OptionsError(f"{model.name} is no network that sees landmarks. Name one, as mouthing-world")
    vocabulary = read_vocabulary(unseen=False)
    people = [f"{_PEOPLE} {number}" for number in range(options.clips)]
    clips = list(make_clips(options.clips, options.seed, vocabulary, people))
    student = teach_lips(teacher, clips, options, progress)
    mouthed = {word.word for clip in clips for word in clip.words}
    fresh = replace(vocabulary, words=tuple(word for word in vocabulary.words if word not in mouthed))
    others = [f"calibration {number}" for number in range(options.calibration)]
    held_out = list(make_clips(len(others), options.seed, fresh, others))
    card = {**model.card, "toughening": asdict(options)}
    made = MouthingModel(model.name, student, card)
    card["metrics"] = {**card.get("metrics", {}), "calibration": calibrate(made, held_out, vocabulary, options.seed)}
    return made


def teach_lips(
    teacher: MouthingNetwork, clips: Sequence[LipClip], options: ToughOptions, progress: Progress = silent
) -> MouthingNetwork:
    """A copy of a network whose lips' code of weakened lips is the original's of the same lips as they are."""
    student = copy.deepcopy(teacher).train()
    learned = [*student.first.parameters(), *student.lips.parameters()]
    optimiser = torch.optim.AdamW(learned, lr=options.rate, weight_decay=0.0)
    long_enough = [clip for clip in clips if len(clip.lips) >= options.frames]
    torch.manual_seed(options.seed)
    for step in range(options.steps):
        plain, weak = _windows(long_enough, options, np.random.default_rng((options.seed, step)))
        for group in optimiser.param_groups:
            group["lr"] = options.rate * warm_cosine(step, options.steps, 30, _LOWEST_RATE)
        loss = lips_loss(teacher, student, plain, weak)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        progress(step + 1, options.steps)
    return student.eval()


def lips_loss(teacher: MouthingNetwork, student: MouthingNetwork, plain: Tensor, weak: Tensor) -> Tensor:
    """Distance of the code of weakened lips from that of plain ones: as it stands, and in the visemes that it names.

    Args:
        teacher: codes the plain lips.
        student: codes the weakened ones.
        plain: (B, T, CHANNELS) lips as they are.
        weak: (B, T, CHANNELS) the same, weakened.
    """
    with torch.no_grad():
        wanted = teacher.code_lips(plain)
        named = functional.softmax(teacher.name_shapes(wanted), dim=1)
    coded = student.code_lips(weak)
    away = functional.mse_loss(coded, wanted) / wanted.var()
    said = functional.log_softmax(student.name_shapes(coded), dim=1)
    return away - (named * said).sum(dim=1).mean()


def _windows(clips: Sequence[LipClip], options: ToughOptions, random: np.random.Generator) -> tuple[Tensor, Tensor]:
    plain, weak = [], []
    for _ in range(options.windows):
        clip = clips[int(random.integers(len(clips)))]
        first = int(random.integers(len(clip.lips) - options.frames + 1))
        values = clip.lips.values[first : first + options.frames]
        plain.append(values)
        weak.append(weaken(values, random) if random.random() < options.weakened else values)
    return torch.from_numpy(np.stack(plain)), torch.from_numpy(np.stack(weak))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the spotter and its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="name or file of a mouthing spotter; the shipped one")
    parser.add_argument("--out", type=Path, required=True, help="a .safetensors file")
    parser.add_argument("--clips", type=int, default=ToughOptions().clips)
    parser.add_argument("--steps", type=int, default=ToughOptions().steps)
    parser.add_argument("--seed", type=int, default=ToughOptions().seed)
    chosen = parser.parse_args(arguments)
    options = ToughOptions(clips=chosen.clips, steps=chosen.steps, seed=chosen.seed)
    made = toughen(load_mouthing(chosen.model), options, _told)
    save_mouthing(made, chosen.out)
    sys.stdout.write(f"wrote {chosen.out}\n")


def _told(done: int, total: int | None) -> None:
    if done % 100 == 0:
        sys.stderr.write(f"{done} of {total} steps\n")


if __name__ == "__main__":
    main()
