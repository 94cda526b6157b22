"""Makes one mouthing spotter of two: `python -m experiments.mouthing.blending` averages their weights, and calibrates.

A network that was trained on for films knows film and has forgotten some of what it knew of clean landmarks; between
its weights and those that it began with lie networks that know both (Wortsman et al., "Robust fine-tuning of zero-shot
models", CVPR 2022). One calibration serves both: half of the clips that it is fitted to are distorted as on film.

With `--compare` it writes nothing, and prints what several shares are worth on clips of other people and words, in
landmarks and distorted as on film, with one calibration for both and with one for each.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from experiments.mouthing.calibration import calibrate
from experiments.mouthing.clips import ClipOptions, make_clips, read_vocabulary
from experiments.mouthing.evaluation import MouthingScore, score
from experiments.mouthing.tables import score_table
from experiments.mouthing.training import weaken_some
from experiments.mouthing.trials import answer, draw_trials
from signspot.errors import OptionsError
from signspot.mouthing.checkpoints import MouthingModel, load_mouthing, save_mouthing
from signspot.mouthing.network import MouthingNetwork
from signspot.mouthing.spotter import MouthingSpotter
from signspot_synthetic.body.signers import Role

_LOOKS = (("landmarks", 0.0), ("distorted", 1.0))  # ways in which shares are compared, and what part is distorted
_TOLD = ("command", "config", "started_with", "blended")  # of the cards of both, in the card of what is made


def blend(first: MouthingModel, second: MouthingModel, share: float, name: str) -> MouthingModel:
    """A spotter whose weights lie between those of two others, not calibrated yet.

    Args:
        first: the one whose weights count for the rest.
        second: the one whose weights count for `share`; trained on from the first, or both from a third.
        share: in [0, 1].
        name: of what is made.

    Raises:
        OptionsError: the share is out of range, or the two are not networks of the same sizes.
    """
    if not 0 <= share <= 1:
        raise OptionsError(f"the share of the second spotter is between 0 and 1; got {share:g}")
    networks = [model.network for model in (first, second)]
    if not all(isinstance(each, MouthingNetwork) for each in networks) or networks[0].options != networks[1].options:
        raise OptionsError(
            f"only networks of the same sizes can be blended: {first.name} is {networks[0].options}, {second.name} "
            f"{networks[1].options}"
        )
    made = MouthingNetwork(networks[0].options)
    ours, theirs = (each.state_dict() for each in networks)
    made.load_state_dict({key: torch.lerp(value, theirs[key], share) for key, value in ours.items()})
    parts = [
        {"hash": each.hash, **{key: each.card[key] for key in _TOLD if key in each.card}} for each in (first, second)
    ]
    card: dict[str, Any] = {key: second.card[key] for key in ("licence", "data", "config") if key in second.card}
    return MouthingModel(name, made.eval(), {**card, "blended": parts, "share": share})


def compare_shares(
    first: MouthingModel, second: MouthingModel, shares: Sequence[float], clips: int, seed: int
) -> list[MouthingScore]:
    """Ask blends the same questions of landmarks and of the same landmarks distorted, calibrated both ways.

    Args:
        first: as in `blend`.
        second: as in `blend`.
        shares: of the second one.
        clips: of either vocabulary: the words of trainings calibrate, the others are asked for.
        seed: of all chance.
    """
    seen, unseen = read_vocabulary(unseen=False), read_vocabulary(unseen=True)
    fitting = list(make_clips(clips, seed, seen, [f"calibration {number}" for number in range(clips)]))
    people = [f"asked {number}" for number in range(clips)]
    asked = list(make_clips(clips, seed + 1, unseen, people, ClipOptions(role=Role.TEST)))
    trials = draw_trials(asked, unseen, seed, each=16)
    looks = {name: (weaken_some(fitting, share, seed), weaken_some(asked, share, seed + 1)) for name, share in _LOOKS}
    rows = []
    for share in shares:
        model = blend(first, second, share, f"{share:g} of {second.name}")
        for names in (tuple(looks), *((name,) for name in looks)):
            fitted = "one calibration" if len(names) > 1 else "its own calibration"
            calibrate(model, [clip for name in names for clip in looks[name][0]], seen, seed)
            for name in names:
                answers = answer(MouthingSpotter(model), looks[name][1], trials)
                rows += score((model.name, f"{name}, {fitted}"), trials, answers)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Blend two spotters, calibrate what comes out, and write it with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", help="name or file of a mouthing spotter")
    parser.add_argument("second", help="name or file of one that was trained on from it")
    parser.add_argument("--share", type=float, action="append", required=True, help="of the second one's weights")
    parser.add_argument("--clips", type=int, default=200, help="of the signing world")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--distorted", type=float, default=0.5, help="share of the clips that --out is calibrated by")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--out", type=Path, help="a .safetensors file; of the last share")
    wanted.add_argument("--compare", action="store_true", help="say what each share is worth; --share is repeatable")
    chosen = parser.parse_args(arguments)
    first, second = load_mouthing(chosen.first), load_mouthing(chosen.second)
    if chosen.compare:
        sys.stdout.write(score_table(compare_shares(first, second, chosen.share, chosen.clips, chosen.seed)))
        return
    share = chosen.share[-1]
    model = blend(first, second, share, chosen.out.stem)
    vocabulary = read_vocabulary(unseen=False)
    people = [f"calibration {number}" for number in range(chosen.clips)]
    clips = weaken_some(list(make_clips(chosen.clips, chosen.seed, vocabulary, people)), chosen.distorted, chosen.seed)
    model.card["metrics"] = {"calibration": calibrate(model, clips, vocabulary, chosen.seed)}
    model.card["command"] = (
        f"python -m experiments.mouthing.blending {chosen.first} {chosen.second} --share {share:g} "
        f"--clips {chosen.clips} --seed {chosen.seed} --distorted {chosen.distorted:g} --out {chosen.out.name}"
    )
    save_mouthing(model, chosen.out)
    sys.stdout.write(f"wrote {chosen.out}\n")


if __name__ == "__main__":
    main()
