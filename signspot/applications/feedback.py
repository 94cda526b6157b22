"""Feedback for a learner: was this the sign that was meant, how near is it to other words, and what differs.

A multinomial regression classifies errors. Its inputs are how far each measure of movement exceeds the usual
difference between two signers, and the dissimilarity by alignment.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from signspot.applications.movement import PARAMETERS, Measure, Parameter, SeenHand, SeenSign, Stroke, compare, see_sign
from signspot.applications.signs import read_sign
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.embedding.inputs import Source
from signspot.errors import DictionaryError, UnknownWordError
from signspot.io.progress import Progress, silent
from signspot.models.encoder import Encoder
from signspot.plots.curves import COLOURS
from signspot.plots.plot import DOTS_PER_INCH, lettering
from signspot.plots.skeletons import Frames, box_of, draw_skeleton
from signspot.spotting.decoys import alignment_scale, decoys_of
from signspot.spotting.matching import warping_costs
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Match, Spotter
from signspot.types import Exemplar

_LIMITS = (1.34, 1.27, 1.19)  # with 1, 2, 3 or more exemplars: nine of ten right signs are below, on the same corpora
_TYPICAL = 0.42  # of what two different signs cost: two signers with one sign, on the corpora of seeds 51 and 61
_PRIOR = 3.0  # pairs of exemplars that what is typical counts as, beside those of the word itself
_WORDS, _EACH, _FEWEST = 60, 3, 8  # words of a dictionary, and exemplars of each, that say what is typical; at least


def unlikeness(sign: SignViews, gallery: Gallery, match: Match, typical: float) -> float:
    """The cost of aligning a sign with the exemplars of a word, over what it costs to align these with each other.

    Args:
        sign: as an encoder sees it.
        gallery: with the exemplars of the word.
        match: the word, and the exemplar, variant and mirroring that fit best.
        typical: what it costs to align two performances of one sign, by `typical_cost`.

    Returns:
        Above 1 for a sign that is more unlike than nine of ten right ones; NaN where there are no frame codes.
    """
    if sign.codes is None or gallery.codes is None:
        return float("nan")
    rows = [row for row in gallery.words[match.word].tolist() if _is_shown(gallery, row, match)]
    own = float(warping_costs(sign.codes[:1], gallery.codes[rows]).mean())
    pairs = _between(gallery, rows)
    expected = (sum(pairs) + _PRIOR * typical) / (len(pairs) + _PRIOR)
    return own / expected / _LIMITS[min(len(rows), len(_LIMITS)) - 1]


def _is_shown(gallery: Gallery, row: int, match: Match) -> bool:
    exemplar, mirrored = gallery.exemplar(row)
    return mirrored == match.mirrored and exemplar.variant == match.variant


def _between(gallery: Gallery, rows: list[int]) -> list[float]:
    """The costs of all pairs of some rows that are not known to be of one signer."""
    assert gallery.codes is not None, "asked before"
    costs = warping_costs(gallery.codes[rows], gallery.codes[rows])
    signers = [gallery.exemplar(row)[0].signer for row in rows]
    return [
        float(costs[one, other])
        for one in range(len(rows))
        for other in range(one)
        if not signers[one] or signers[one] != signers[other]
    ]


def typical_cost(gallery: Gallery, encoder: Encoder) -> float:
    """The typical cost of aligning two signers with one sign: by a gallery, else by the encoder's decoys."""
    if gallery.codes is None:
        return 1.0
    cohort = decoys_of(encoder)
    for known in (gallery, None if cohort is None else cohort.gallery(_EACH, mirror=False)):
        found = [] if known is None else _costs_within_words(known)
        if len(found) >= _FEWEST:
            return float(np.median(found))
    return _TYPICAL * alignment_scale(encoder)


def _costs_within_words(gallery: Gallery) -> list[float]:
    """Of some words: the mean cost of aligning two of their exemplars."""
    words, found = list(gallery.words), []
    for word in words[:: max(1, len(words) // _WORDS)]:
        plain = [row for row in gallery.words[word].tolist() if not gallery.exemplar(row)[1]]
        variant = gallery.exemplar(plain[0])[0].variant
        pairs = _between(gallery, [row for row in plain if gallery.exemplar(row)[0].variant == variant][:_EACH])
        found += [float(np.mean(pairs))] if pairs else []
    return found


CHANGES: tuple[str, ...] = ("handshape", "place", "orientation", "path", "local", "hands", "repetition")
TOLD: dict[str, Parameter] = {  # what a learner is told
    "handshape": "handshape",
    "place": "place",
    "orientation": "orientation",
    "path": "movement",
    "local": "movement",
    "hands": "hand",
    "repetition": "timing",
}
LEAST, MOST = -1.5, 6.0  # spreads beyond which a measure says no more
UNLIKE = "unlike"  # the logarithm of the unlikeness by alignment


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual difference of one measure between two people who both sign a word right."""

    between: float  # its mean between exemplars
    more: float  # how much more than that a right sign has, by the median
    spread: float  # the unit in which more is told


# between, more, spread, then the weight for each of CHANGES
_TABLE: dict[str, tuple[float, ...]] = {
    "handshape": (0.304, -0.034, 0.064, 0.549, -0.225, 0.001, -0.084, 0.026, -0.178, 0.083),
    "place": (0.300, -0.058, 0.094, -0.213, 0.608, -0.110, -0.105, 0.044, -0.006, -0.087),
    "ends": (0.522, -0.122, 0.173, 0.001, 0.011, -0.099, -0.373, -0.325, -0.183, -0.216),
    "orientation": (0.633, -0.086, 0.215, -0.519, -0.156, 1.002, -0.074, -0.337, -0.424, -0.050),
    "path": (0.284, -0.012, 0.100, -0.091, -0.197, -0.121, 0.200, -0.169, -0.105, -0.143),
    "course": (0.263, -0.012, 0.068, 0.210, 0.127, 0.217, 0.563, 0.386, 0.265, 0.500),
    "direction": (0.596, -0.031, 0.238, 0.053, 0.188, -0.100, 0.332, -0.052, -0.075, 0.375),
    "net": (0.321, -0.100, 0.109, -0.220, -0.111, 0.083, 0.088, -0.091, -0.291, -0.106),
    "size": (0.341, -0.113, 0.129, 0.126, -0.122, -0.162, 0.234, -0.061, -0.122, -0.154),
    "depth": (0.137, -0.019, 0.040, -0.180, -0.015, -0.030, 0.321, -0.057, 0.092, 0.266),
    "round": (0.133, -0.036, 0.053, -0.026, -0.034, 0.024, 0.081, -0.005, 0.079, -0.070),
    "turning": (0.267, -0.037, 0.077, 0.203, 0.218, 0.308, 0.128, 0.368, 0.254, 0.438),
    "twist": (0.155, -0.040, 0.057, -0.271, -0.126, -0.272, -0.341, 0.192, -0.288, -0.455),
    "fingers": (0.282, -0.010, 0.069, -0.080, -0.170, -0.103, -0.506, -0.019, -0.132, -0.033),
    "bendings": (0.379, -0.037, 0.226, 0.044, -0.021, 0.012, -0.021, 0.113, -0.138, 0.176),
    "cycles": (0.216, -0.052, 0.087, -0.022, 0.067, 0.011, 0.202, -0.126, 0.041, 0.754),
    "ways": (0.255, -0.127, 0.200, -0.085, -0.058, -0.033, -0.046, -0.005, -0.142, 0.095),
    "duration": (0.326, -0.068, 0.141, 0.024, -0.056, 0.026, -0.199, -0.073, -0.057, 0.149),
    "hand": (0.178, -0.089, 0.100, -0.163, -0.159, -0.039, -0.070, -0.031, 0.152, 0.040),
    "height": (0.190, -0.056, 0.076, -0.152, 0.221, -0.103, 0.152, 0.136, 0.676, -0.176),
    "unlike": (0.000, -0.204, 0.126, 1.254, 0.597, 0.990, 0.270, 0.322, 1.227, 0.023),
}
_BIAS = (-3.544, -2.927, -5.696, -3.166, -2.292, -6.658, -4.289)
LIMIT = 0.330  # the doubt that one of ten right signs exceeds
NOTABLE = 0.434  # the chance of some change that one of ten right signs exceeds
USUAL: dict[str, Usual] = {name: Usual(*row[:3]) for name, row in _TABLE.items()}


def evidence(strengths: Mapping[str, float]) -> dict[str, float]:
    """Logarithms of the odds that one parameter was changed, against none; by change.

    Args:
        strengths: of each measure, and of `UNLIKE`: spreads above what is usual. What is missing is as usual.
    """
    total = np.array(_BIAS)
    for name, row in _TABLE.items():
        strength = strengths.get(name, 0.0)
        if not math.isnan(strength):
            total = total + np.array(row[3:]) * min(MOST, max(LEAST, strength))
    return dict(zip(CHANGES, total.tolist(), strict=True))


def chance(odds: float) -> float:
    """The chance that goes with a logarithm of odds."""
    return 1 / (1 + math.exp(-max(-50.0, odds)))


def weight(name: str, change: str) -> float:
    """The weight of a measure as evidence for a change."""
    return _TABLE[name][3 + CHANGES.index(change)]


def doubt(found: Mapping[str, float]) -> float:
    """The logarithm of the odds that anything was changed, by `evidence`, above what nine of ten right signs reach."""
    return float(np.logaddexp.reduce(list(found.values()))) - LIMIT


_FINGERS = ("thumb", "index finger", "middle finger", "ring finger", "little finger")
_FAR = 0.05  # shoulder widths: a smaller step to a side is not told
_SIDES = {0: "left", 1: "right"}
_ALONG = {"path", "course", "direction", "net", "round"}


def say_difference(name: str, measure: Measure, clip: SeenSign, exemplar: SeenSign) -> str:
    """One sentence for a measure of `differences.compare` of a clip and an exemplar."""
    mine, theirs = clip.hands[measure.hand], exemplar.hands[measure.hand]
    hand = f"{_SIDES[measure.hand]} hand"
    a, b = measure.moment
    if name == "handshape":
        return f"the {hand} has another shape: {_fingers(mine.shape[a], theirs.shape[b])}"
    if name in ("place", "ends"):
        return f"the {hand} is {_where(mine.place[a] - theirs.place[b])} the example's"
    if name == "orientation":
        return f"the {hand} is turned otherwise: {_turn(mine.palm[a], theirs.palm[b], measure.hand)}"
    strokes = clip.strokes[measure.hand], exemplar.strokes[measure.hand]
    if strokes[0] is not None and strokes[1] is not None and name not in ("hand", "height"):
        return _say_movement(name, hand, strokes[0], strokes[1])
    return _say_use(hand, mine, theirs)


def _say_movement(name: str, hand: str, mine: Stroke, theirs: Stroke) -> str:
    """One sentence on how a hand moves."""
    if name in _ALONG:
        return f"the {hand} moves along another path: {_heading(mine)}, in the example {_heading(theirs)}"
    if name == "depth":
        return f"the {hand} moves {_more(_reach(mine), _reach(theirs))} to or from the camera"
    if name == "size":
        return f"the movement of the {hand} is {'larger' if mine.extent > theirs.extent else 'smaller'}"
    if name in ("turning", "twist"):
        turned = [float(np.linalg.norm(stroke.turning.std(axis=0))) for stroke in (mine, theirs)]
        return f"the {hand} turns {_more(*turned)} while it moves"
    if name in ("fingers", "bendings"):
        bent = [float(stroke.shape.std(axis=0).sum()) for stroke in (mine, theirs)]
        return f"the fingers of the {hand} move {_more(*bent)}"
    if name in ("cycles", "ways"):
        return f"the movement is made {_more(mine.cycles, theirs.cycles)} often"
    ratio = len(mine.frames) / len(theirs.frames)
    return f"it is {max(ratio, 1 / ratio):.1f} times as {'long' if ratio > 1 else 'short'}"


def _say_use(hand: str, mine: SeenHand, theirs: SeenHand) -> str:
    used = _raised(mine) > _raised(theirs)
    return f"the {hand} is {'used; in the example it is not' if used else 'not used; in the example it is'}"


def _raised(hand: SeenHand) -> float:
    """Use of a hand: the share of the sign, times how high it is, from 0 at rest on."""
    height = np.maximum(0.0, 1.5 - hand.place[:, 1])
    return float((hand.used * height).mean())


def _more(mine: float, theirs: float) -> str:
    return "more" if mine > theirs else "less"


def _fingers(mine: np.ndarray, theirs: np.ndarray) -> str:
    """The finger that is bent otherwise; 15 cosines of bends come first, three for each finger."""
    apart = (mine[:15] - theirs[:15]).reshape(5, 3).mean(axis=1)
    finger = int(np.abs(apart).argmax())
    return f"the {_FINGERS[finger]} is {'straighter' if apart[finger] > 0 else 'more bent'}"


def _where(offset: np.ndarray) -> str:
    """Direction of one place from another; x is to the right of the picture, the signer's left."""
    parts = []
    if abs(offset[1]) > _FAR:
        parts.append("lower" if offset[1] > 0 else "higher")
    if abs(offset[0]) > _FAR:
        parts.append("more to the left of the signer" if offset[0] > 0 else "more to the right of the signer")
    return f"{' and '.join(parts)} than" if parts else "not quite at the place of"


def _turn(mine: np.ndarray, theirs: np.ndarray, side: int) -> str:
    """Directions of the fingers in both, or of the palms where the fingers point alike."""
    fingers = _direction(mine[0]), _direction(theirs[0])
    if fingers[0] != fingers[1]:
        return f"it points {fingers[0]}, in the example {fingers[1]}"
    outward = (
        1 if side == 0 else -1
    )  # the normal, a cross product, leaves a left hand at its palm, a right one at its back
    palms = _direction(outward * mine[2]), _direction(outward * theirs[2])
    if palms[0] != palms[1]:
        return f"its palm faces {palms[0]}, in the example {palms[1]}"
    return f"it points {fingers[0]} in both, but not quite alike"


def _direction(vector: np.ndarray) -> str:
    names = ("to the signer's left", "down", "away from the camera"), ("to the signer's right", "up", "to the camera")
    axis = int(np.abs(vector).argmax())
    return names[0 if vector[axis] > 0 else 1][axis]


def _heading(stroke: Stroke) -> str:
    if stroke.extent < 2 * _FAR:
        return "hardly at all"
    quarter = max(1, len(stroke.place) // 4)
    step = stroke.place[-quarter:].mean(axis=0) - stroke.place[:quarter].mean(axis=0)
    if np.linalg.norm(step) < 0.4 * stroke.extent:
        return "there and back"
    return _direction(np.array([*step, 0.0]))


def _reach(stroke: Stroke) -> float:
    return float(np.ptp(stroke.depth))


RIGHT_SCORE = 0.5  # least score of a word that was signed right: beyond, it is as unlike as two different signs


MEANING: dict[str, Parameter] = {  # of each measure, for the words in which a difference is told
    "handshape": "handshape",
    "place": "place",
    "ends": "place",
    "orientation": "orientation",
    "path": "movement",
    "course": "movement",
    "direction": "movement",
    "net": "movement",
    "size": "movement",
    "depth": "movement",
    "round": "movement",
    "turning": "movement",
    "twist": "movement",
    "fingers": "movement",
    "bendings": "movement",
    "cycles": "timing",
    "ways": "timing",
    "duration": "timing",
    "hand": "hand",
    "height": "hand",
}
# pairs of exemplars that what is usual for all words counts as, beside those of the word itself
_EXEMPLARS = 3  # of the word, with which the clip is compared


@dataclass(frozen=True, slots=True)
class Difference:
    """One parameter in which a clip differs from the exemplars of its word."""

    parameter: Parameter
    strength: float  # in [0, 1]: the chance that it, and nothing else, is wrong, against a right sign
    words: str  # plain English
    moment: tuple[int, int]  # frames of the clip's sign and of the exemplar's, where it shows most


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback to a learner."""

    word: str
    right: bool
    doubt: float  # above 0: more speaks against it than against nine of ten right signs
    unlike: float  # above 1: more unlike the exemplars than nine of ten right signs; NaN without frame codes
    score: float
    rank: int  # of the word among all words of the dictionary, from 1
    of: int  # how many words there are
    instead: tuple[Match, ...]  # words that are nearer than the one that was meant, at most three
    mirrored: bool  # signed with the other hand than the exemplar: no mistake of a left-handed signer
    differences: tuple[Difference, ...]  # one for each parameter, the largest first
    exemplar: Exemplar
    clip_sign: Frames  # (T, J, C) features of what was signed
    exemplar_sign: Frames  # (U, J, C) of the nearest exemplar, mirrored if `mirrored`

    @property
    def notable(self) -> tuple[Difference, ...]:
        """Differences that are larger than between two who sign it right."""
        return tuple(each for each in self.differences if each.strength >= NOTABLE)


def give_feedback(
    spotter: Spotter,
    clip: Source,
    word: str,
    dictionary: Dictionary,
    options: SpotOptions | None = None,
    progress: Progress = silent,
) -> Feedback:
    """Compare a learner's clip with the word that was meant, and with the others of a dictionary.

    Args:
        spotter: whose encoder compares.
        clip: one sign: a video path, a `.pose` path or landmarks.
        word: what was meant.
        dictionary: with the word and those that it may be confused with.
        options: whether mirrored exemplars count.
        progress: told the exemplars that are embedded.

    Raises:
        UnknownWordError: the word is not in the dictionary.
        NoHandsError: no hand is in view in the clip.
        DictionaryError: the word has no exemplar that can be drawn.
    """
    meant = dictionary.resolve(word)
    own = read_sign(spotter, clip)  # complains of a clip without hands before anything is embedded
    gallery = spotter.gallery(dictionary, options, progress)
    return feedback_on(spotter, (clip, own), meant[0], gallery, options)


def feedback_on(
    spotter: Spotter, clip: tuple[Source, Frames], word: str, gallery: Gallery, options: SpotOptions | None = None
) -> Feedback:
    """As `give_feedback`, with a gallery that was made before and a clip with the features of its sign."""
    chosen = options or SpotOptions()
    if word not in gallery.words:
        raise UnknownWordError(word, gallery.words)
    source, own = clip
    views = ExemplarEmbedder(spotter.encoder, spotter.cache, chosen.seed).embed_source(source)
    matches = spotter.identify_views(views, gallery, chosen)
    rank = next(number for number, match in enumerate(matches, 1) if match.word == word)
    match = matches[rank - 1]
    shown = _signs_of(spotter, gallery, match)
    best, sign = shown[0]
    unlike = unlikeness(views, gallery, match, typical_cost(gallery, spotter.encoder))
    seen, examples = see_sign(own), [see_sign(each) for _, each in shown]
    measured = measure_sign(seen, examples)
    found = strengths(measured, unlike)
    differences = find_differences(measured, found, seen, examples[0])
    against = doubt(evidence(found))
    right = is_right(rank, match.score, against)
    instead = tuple(each for each in matches[: min(rank - 1, 3)])
    told = len(matches), instead, match.mirrored, differences, best, own, sign
    return Feedback(word, right, against, unlike, match.score, rank, *told)


def is_right(rank: int, score: float, against: float) -> bool:
    """Whether a clip counts as the word: no other is nearer, and no more speaks against it than against right signs."""
    return rank == 1 and score >= RIGHT_SCORE and against <= 0


def _signs_of(spotter: Spotter, gallery: Gallery, match: Match) -> list[tuple[Exemplar, Frames]]:
    """Exemplars of a word and their signs, the nearest first, all mirrored if that one is."""
    own = [exemplar for exemplar in gallery.exemplars if exemplar.word == match.word and exemplar.path is not None]
    own.sort(key=lambda exemplar: (exemplar.id != match.exemplar, exemplar.variant != match.variant))
    same = [exemplar for exemplar in own if exemplar.variant == match.variant]
    if not same:
        raise DictionaryError(
            f"'{match.word}' has no exemplar with a video to compare with. Fetch it with: signspot dictionary fetch"
        )
    return [(each, read_sign(spotter, each, mirror=match.mirrored)) for each in same[:_EXEMPLARS]]


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """One measure of a clip against exemplars, and of these against each other."""

    value: float  # the median over exemplars
    pairs: tuple[float, ...]  # of exemplars
    first: Measure  # against the first exemplar


def measure_sign(clip: SeenSign, exemplars: Sequence[SeenSign]) -> dict[str, MeasuredDifference]:
    """All measures of a sign and exemplars of its word, one variant, the nearest first."""
    compared = [compare(clip, each) for each in exemplars]
    among = [compare(one, other) for place, one in enumerate(exemplars) for other in exemplars[:place]]
    found: dict[str, MeasuredDifference] = {}
    for name in MEANING:
        seen = [each[name] for each in compared if name in each]
        if seen:
            pairs = tuple(each[name].value for each in among if name in each)
            found[name] = MeasuredDifference(float(np.median([each.value for each in seen])), pairs, seen[0])
    return found


def beyond_usual(measured: MeasuredDifference, between: float) -> float:
    """The part of a measure beyond what is usual: between exemplars of this word; with few of them, of all words."""
    usual = (sum(measured.pairs) + _PRIOR * between) / (len(measured.pairs) + _PRIOR)
    return measured.value - usual


def strengths(measured: Mapping[str, MeasuredDifference], unlike: float = math.nan) -> dict[str, float]:
    """Strength of each measure's difference, in spreads above the usual one; and of the unlikeness by alignment.

    Args:
        measured: by `measure_sign`.
        unlike: of the sign to the exemplars, by `unlikeness`; NaN where that is not known.
    """
    found: dict[str, float] = {}
    for name, usual in USUAL.items():
        if name in measured:
            found[name] = (beyond_usual(measured[name], usual.between) - usual.more) / usual.spread
        elif name == UNLIKE and not math.isnan(unlike):
            found[name] = (math.log(unlike) - usual.more) / usual.spread
    return found


def find_differences(
    measured: Mapping[str, MeasuredDifference], found: Mapping[str, float], clip: SeenSign, exemplar: SeenSign
) -> tuple[Difference, ...]:
    """Differences by parameter, the largest first, in the words of what speaks most for each.

    Args:
        measured: by `measure_sign`.
        found: the strengths of it.
        clip: the sign.
        exemplar: the first of those that it was compared with.
    """
    odds, differences = evidence(found), []
    for parameter in PARAMETERS:
        change = max((each for each in CHANGES if TOLD[each] == parameter), key=lambda each: odds[each])
        speaking = {
            name: min(MOST, found[name]) * max(0.0, weight(name, change))
            for name in measured
            if MEANING[name] == parameter
        }
        if speaking:
            name = max(speaking, key=lambda each: speaking[each])
            first = measured[name].first
            words = say_difference(name, first, clip, exemplar)
            differences.append(Difference(parameter, chance(odds[change]), words, first.moment))
    return tuple(sorted(differences, key=lambda each: -each.strength))


def draw_feedback(found: Feedback) -> Figure:
    """Both skeletons at the moment of the largest difference, and how large each difference is."""
    figure = Figure(figsize=(10, 4.6), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    mine, theirs, bars = figure.subplots(1, 3, width_ratios=(1, 1, 1.2))
    first = found.differences[0]
    own, example = found.clip_sign[first.moment[0]], found.exemplar_sign[first.moment[1]]
    box = box_of(own[None], example[None])
    draw_skeleton(mine, own, COLOURS[1], width=2.2, box=box)
    draw_skeleton(theirs, example, COLOURS[0], width=2.2, box=box)
    mine.set_title("you", size=12)
    theirs.set_title("the example" + (", mirrored" if found.mirrored else ""), size=12)
    strengths = [each.strength for each in found.differences]
    names = [each.parameter for each in found.differences]
    bars.barh(names[::-1], strengths[::-1], color=COLOURS[0])
    bars.axvline(NOTABLE, color="#777777", ls="--", lw=1)  # what is left of it is as between two right signs
    bars.set_xlim(0, 1)
    bars.set_xlabel("how likely it differs; right of the line it is told", size=9)
    for side in ("top", "right"):
        bars.spines[side].set_visible(False)
    verdict = "right" if found.right else f"rank {found.rank} of {found.of}"
    title, fonts = lettering(f"{found.word}: {verdict}")
    figure.suptitle(title, size=14, weight="bold", **fonts)
    if found.notable:
        figure.supxlabel(found.notable[0].words, size=11)
    return figure
