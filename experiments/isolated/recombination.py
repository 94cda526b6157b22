"""New signs from real ones: the hands of one, the path of another; every signer performs them with real noise.

With few words an encoder learns the words, not signing. A recipe (whose hands, whose path, reversed, shifted, joined …)
is a new sign, and each signer's own clips of its ingredients make that signer's performance of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from experiments.contrastive.performances import MINIMAL_PAIRS, Features, Performance
from signspot.landmarks.features import ELBOWS, LEFT_HAND, RIGHT_HAND, WRISTS, mirror_features
from signspot.landmarks.resampling import at_positions, frames_at, motion_time

HANDS = (LEFT_HAND, RIGHT_HAND)
_LEFT_ARM = (0.6, 0.3, 0.1)  # as in the path, symmetric, of yet another word

Clips = dict[int, dict[int, list[Features]]]  # signer → word → trimmed repetitions


@dataclass(frozen=True, slots=True)
class SignRecipe:
    """Recipe of a new sign from two real words."""

    hands: int  # the word whose hand shapes it has
    path: int  # the word whose path it has
    reverse: bool
    mirror: bool
    joined: bool  # the one after the other, not the one along the other
    other: int | None  # the word whose right arm, mirrored, is the left one; None: as in `path`
    shift: tuple[float, float]  # of the hands, in shoulder widths
    size: float  # of the path


class Recombinations:
    """Draws new signs made of the words of a real corpus."""

    def __init__(self, clips: Clips, minimal_pairs: float = MINIMAL_PAIRS):
        self.clips, self.minimal_pairs = clips, minimal_pairs
        self.words = sorted(set.intersection(*(set(words) for words in clips.values())))

    def draw(self, random: np.random.Generator, signs: int, times: int) -> list[list[Performance]]:
        """As `PerformanceSource.draw`."""
        drawn: list[list[Performance]] = []
        recipe: SignRecipe | None = None
        for _ in range(signs):
            is_new = recipe is None or random.random() > self.minimal_pairs
            recipe = self._invent(random) if recipe is None or is_new else self._vary(recipe, random)
            drawn.append(self._perform(recipe, random, times))
        return drawn

    def _vary(self, recipe: SignRecipe, random: np.random.Generator) -> SignRecipe:
        """Another sign that differs in one parameter."""
        fresh = self._invent(random)
        name = ("hands", "path", "place", "other")[int(random.integers(4))]
        if name == "place":
            aside = random.normal(0, 0.12, 2)
            far = aside + np.sign(aside) * 0.25
            return replace(recipe, shift=(recipe.shift[0] + float(far[0]), recipe.shift[1] + float(far[1])))
        if name == "other" and fresh.other == recipe.other:
            name = "hands"
        return replace(recipe, **{name: getattr(fresh, name)})

    def _invent(self, random: np.random.Generator) -> SignRecipe:
        hands, path, other = random.choice(self.words, 3)
        shift = random.normal(0, 0.25, 2) if random.random() < 0.7 else np.zeros(2)
        return SignRecipe(
            int(hands),
            int(path),
            reverse=bool(random.random() < 0.4),
            mirror=bool(random.random() < 0.5),
            joined=bool(random.random() < 0.15),
            other=_other(int(path), int(other), random),
            shift=(float(shift[0]), float(shift[1])),
            size=float(np.exp(random.normal(0, 0.25))),
        )

    def _perform(self, recipe: SignRecipe, random: np.random.Generator, times: int) -> list[Performance]:
        signers = random.permutation(sorted(self.clips))
        signers = np.resize(signers, times)
        return [Performance(int(signer), self._one(recipe, random, int(signer))) for signer in signers]

    def _one(self, recipe: SignRecipe, random: np.random.Generator, signer: int) -> Features:
        hands, path = (_pick(self.clips[signer][word], random) for word in (recipe.hands, recipe.path))
        made = np.concatenate([hands[::2], path[::2]]) if recipe.joined else transplant(hands, path)
        if recipe.other is not None:
            donor = _pick(self.clips[signer][recipe.hands], random)
            moving = _pick(self.clips[signer][recipe.other], random)
            made = with_left_arm(made, mirror_features(transplant(donor, moving)))
        made = move(made, recipe.shift, recipe.size)
        if recipe.reverse:
            made = made[::-1]
        return mirror_features(made) if recipe.mirror else made


class RealWords:
    """Draws the real words as they are, and their mirror images, which are signs of their own."""

    def __init__(self, clips: Clips):
        self.clips = clips
        self.words = sorted(set.intersection(*(set(words) for words in clips.values())))

    def draw(self, random: np.random.Generator, signs: int, times: int) -> list[list[Performance]]:
        """As `PerformanceSource.draw`; no sign comes twice, so there may be fewer than asked for."""
        every = [(word, mirror) for word in self.words for mirror in (False, True)]
        drawn = []
        for index in random.permutation(len(every))[:signs]:
            word, mirror = every[index]
            signers = np.resize(random.permutation(sorted(self.clips)), times)
            taken = [(int(s), _pick(self.clips[int(s)][word], random)) for s in signers]
            drawn.append([Performance(s, mirror_features(clip) if mirror else clip) for s, clip in taken])
        return drawn


def transplant(donor: Features, path: Features) -> Features:
    """Put the hand shapes of `donor` on the wrists of `path`. (T, J, C) of any two lengths → that of `path`."""
    shapes = at_positions(donor, np.linspace(0, len(donor) - 1, len(path)))
    made = path.copy()
    for side, hand in enumerate(HANDS):
        other = HANDS[1 - side]
        one_handed = shapes[:, hand, 3].mean() < 0.3
        source = (
            mirror_features(shapes)[:, hand] if one_handed and shapes[:, other, 3].mean() > 0.3 else shapes[:, hand]
        )
        place = np.where(path[:, hand.start, None, 3:] > 0.5, path[:, hand.start, None], path[:, WRISTS[side], None])
        made[:, hand, :2] = source[..., :2] - source[:, :1, :2] + place[..., :2]
        made[:, hand, 2] = source[..., 2]
        made[:, hand, 3] = (source[..., 3] > 0.5) & (place[..., 3] > 0.5) & (path[:, hand.start, None, 3] > 0.5)
        made[:, hand][made[:, hand, 3] == 0] = 0
    return made


def with_left_arm(features: Features, donor: Features) -> Features:
    """(T, J, C) with the left arm and hand of `donor`, of any length, in its own time."""
    arm = at_positions(donor, frames_at(motion_time(donor), motion_time(features)))
    made = features.copy()
    for joint in (ELBOWS[0], WRISTS[0]):
        made[:, joint] = arm[:, joint]
    made[:, LEFT_HAND] = arm[:, LEFT_HAND]
    return made


def move(features: Features, shift: tuple[float, float], size: float) -> Features:
    """Shift the hands (elbows half as far), and scale their paths about their means."""
    moved = features.copy()
    for side, hand in enumerate(HANDS):
        wrist = features[:, WRISTS[side]]
        if wrist[:, 3].sum() == 0:
            continue
        mean = wrist[wrist[:, 3] > 0.5, :2].mean(axis=0) if (wrist[:, 3] > 0.5).any() else wrist[:, :2].mean(axis=0)
        step = (wrist[:, :2] - mean) * (size - 1) + np.asarray(shift, np.float32)
        for joints, share in ((hand, 1.0), (slice(WRISTS[side], WRISTS[side] + 1), 1.0)):
            moved[:, joints, :2] += share * step[:, None] * features[:, joints, 3:]
        moved[:, ELBOWS[side], :2] += 0.5 * step * features[:, ELBOWS[side], 3:]
    return moved


def _other(path: int, other: int, random: np.random.Generator) -> int | None:
    """The word that the left arm follows: mostly none; else mostly the path of the right one, as in symmetric signs."""
    return (None, path, other)[int(random.choice(3, p=_LEFT_ARM))]


def _pick(clips: list[Features], random: np.random.Generator) -> Features:
    return clips[int(random.integers(len(clips)))]


def collect(clips: Iterable[tuple[int, int, Features]]) -> Clips:
    """Sort (signer, word, features) by signer and word."""
    found: Clips = {}
    for signer, word, features in clips:
        found.setdefault(signer, {}).setdefault(word, []).append(features)
    return found
