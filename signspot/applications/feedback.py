"""Feedback for a learner: was this the sign that was meant, how near is it to other words, and what differs.

A multinomial regression classifies errors. Its inputs are how far each measure of movement exceeds the usual
difference between two signers, and the dissimilarity by alignment.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from matplotlib.figure import Figure

from signspot.applications.performance_differences import (
    PARAMETERS,
    DescribedHand,
    DescribedSign,
    Measure,
    MovementSegment,
    Parameter,
    compare,
    describe_sign,
)
from signspot.applications.sign_comparison import read_sign, video_frame
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import DictionaryError, UnknownWordError
from signspot.io.progress import Progress, silent
from signspot.landmarks.video_estimation import Source
from signspot.models.encoder import Encoder
from signspot.plots.curves import COLOURS
from signspot.plots.plot import DOTS_PER_INCH, lettering
from signspot.plots.skeletons import Frames, box_of, draw_skeleton
from signspot.spotting.decoys import alignment_scale, decoys_of
from signspot.spotting.matching import warping_costs
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Match, Spotter
from signspot.types import Exemplar
from signspot.video.probing import Image

LEAST, MOST = -1.5, 6.0  # strengths beyond which a measure says no more, in spreads
DISSIMILARITY = "dissimilarity"  # the measure by alignment: the logarithm of `dissimilarity`
RIGHT_SCORE = 0.5  # least score of a word that was signed right: below, it differs as much as another sign
_PRIOR = 3.0  # pairs of exemplars that the typical difference counts as, beside those of the word itself
_WORDS, _EXEMPLARS, _FEWEST = 60, 3, 8  # words of a dictionary, and exemplars of each, for typical costs; least words


@dataclass(frozen=True, slots=True)
class FittedMeasure:
    """The usual difference of one measure between two people who both sign a word right, and what more tells."""

    parameter: Parameter | None  # that the measure describes; None: all
    between: float  # its mean between exemplars
    more: float  # how much more than that a right sign has, by the median
    spread: float  # the unit of strengths
    weights: tuple[float, ...]  # as evidence for each error


@dataclass(frozen=True, slots=True)
class ErrorClassifier:
    """A multinomial regression from strengths of measures to errors, against a right sign; fitted in feedback.json."""

    errors: Mapping[str, Parameter]  # each kind of error, and the parameter that a learner is told
    bias: Mapping[str, float]
    measures: Mapping[str, FittedMeasure]
    limit: float  # the log-odds of any error that one of ten right signs exceeds
    notable: float  # the chance of some error that one of ten right signs exceeds
    dissimilarity_limits: tuple[float, ...]  # with 1, 2, 3 or more exemplars: nine of ten right signs are below
    typical_cost: float  # of two signers with one sign, relative to two different signs

    def log_odds(self, strengths: Mapping[str, float]) -> dict[str, float]:
        """Log-odds of each error against a right sign; a measure that is missing counts as usual."""
        total = np.array(list(self.bias.values()))
        for name, measure in self.measures.items():
            strength = strengths.get(name, 0.0)
            if not math.isnan(strength):
                total = total + np.array(measure.weights) * min(MOST, max(LEAST, strength))
        return dict(zip(self.errors, total.tolist(), strict=True))

    def doubt(self, log_odds: Mapping[str, float]) -> float:
        """Log-odds of any error, above what nine of ten right signs reach."""
        return float(np.logaddexp.reduce(list(log_odds.values()))) - self.limit

    def weight(self, measure: str, error: str) -> float:
        """The weight of a measure as evidence for an error."""
        return self.measures[measure].weights[list(self.errors).index(error)]


@cache
def error_classifier() -> ErrorClassifier:
    """The shipped classifier."""
    fitted = json.loads((files("signspot.applications") / "feedback.json").read_text(encoding="utf-8"))
    measures = {
        name: FittedMeasure(**{**row, "weights": tuple(row["weights"])}) for name, row in fitted["measures"].items()
    }
    limits = tuple(fitted["dissimilarity_limits"])
    plain = {name: fitted[name] for name in ("errors", "bias", "limit", "notable", "typical_cost")}
    return ErrorClassifier(**plain, measures=measures, dissimilarity_limits=limits)


def chance(log_odds: float) -> float:
    """The probability that goes with log-odds."""
    return 1 / (1 + math.exp(-max(-50.0, log_odds)))


def dissimilarity(sign: SignViews, gallery: Gallery, match: Match, typical: float) -> float:
    """The cost of aligning a sign with the exemplars of a word, over what it costs to align these with each other.

    Args:
        sign: as an encoder sees it.
        gallery: with the exemplars of the word.
        match: the word, and the exemplar, variant and mirroring that fit best.
        typical: what it costs to align two performances of one sign, by `typical_cost`.

    Returns:
        Above 1 for a sign that differs more than nine of ten right ones; NaN where there are no frame codes.
    """
    if sign.codes is None or gallery.codes is None:
        return float("nan")
    rows = [row for row in gallery.words[match.word].tolist() if _is_compared(gallery, row, match)]
    cost = float(warping_costs(sign.codes[:1], gallery.codes[rows]).mean())
    pairs = _pair_costs(gallery, rows)
    expected = (sum(pairs) + _PRIOR * typical) / (len(pairs) + _PRIOR)
    limits = error_classifier().dissimilarity_limits
    return cost / expected / limits[min(len(rows), len(limits)) - 1]


def _is_compared(gallery: Gallery, row: int, match: Match) -> bool:
    exemplar, mirrored = gallery.exemplar(row)
    return mirrored == match.mirrored and exemplar.variant == match.variant


def _pair_costs(gallery: Gallery, rows: list[int]) -> list[float]:
    """The costs of all pairs of some rows that are not known to be of one signer."""
    assert gallery.codes is not None, "checked before"
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
    decoy_set = decoys_of(encoder)
    for reference in (gallery, None if decoy_set is None else decoy_set.gallery(_EXEMPLARS, mirror=False)):
        costs = [] if reference is None else _costs_within_words(reference)
        if len(costs) >= _FEWEST:
            return float(np.median(costs))
    return error_classifier().typical_cost * alignment_scale(encoder)


def _costs_within_words(gallery: Gallery) -> list[float]:
    """Of some words: the mean cost of aligning two of their exemplars."""
    words, costs = list(gallery.words), []
    for word in words[:: max(1, len(words) // _WORDS)]:
        plain = [row for row in gallery.words[word].tolist() if not gallery.exemplar(row)[1]]
        variant = gallery.exemplar(plain[0])[0].variant
        pairs = _pair_costs(gallery, [row for row in plain if gallery.exemplar(row)[0].variant == variant][:_EXEMPLARS])
        costs += [float(np.mean(pairs))] if pairs else []
    return costs


_FINGERS = ("thumb", "index finger", "middle finger", "ring finger", "little finger")
_FAR = 0.05  # shoulder widths: a smaller step to a side is not mentioned
_SIDES = {0: "left", 1: "right"}
_ALONG = {"path", "course", "direction", "net", "round"}


def difference_text(name: str, measure: Measure, clip: DescribedSign, exemplar: DescribedSign) -> str:
    """One sentence for a measure of `compare` of a clip and an exemplar."""
    mine, theirs = clip.hands[measure.hand], exemplar.hands[measure.hand]
    hand = f"{_SIDES[measure.hand]} hand"
    a, b = measure.at
    if name == "handshape":
        return f"the {hand} has another shape: {_fingers(mine.shape[a], theirs.shape[b])}"
    if name in ("location", "ends"):
        return f"the {hand} is {_where(mine.location[a] - theirs.location[b])} the example's"
    if name == "orientation":
        return f"the {hand} has another orientation: {_turn(mine.palm[a], theirs.palm[b], measure.hand)}"
    segments = clip.segments[measure.hand], exemplar.segments[measure.hand]
    if segments[0] is not None and segments[1] is not None and name not in ("hand", "height"):
        return _movement_text(name, hand, segments[0], segments[1])
    return _use_text(hand, mine, theirs)


def _movement_text(name: str, hand: str, mine: MovementSegment, theirs: MovementSegment) -> str:
    """One sentence on how a hand moves."""
    if name in _ALONG:
        return f"the {hand} moves along another path: {_heading(mine)}, in the example {_heading(theirs)}"
    if name == "depth":
        return f"the {hand} moves {_more(_reach(mine), _reach(theirs))} to or from the camera"
    if name == "size":
        return f"the movement of the {hand} is {'larger' if mine.extent > theirs.extent else 'smaller'}"
    if name in ("turning", "twist"):
        turned = [float(np.linalg.norm(segment.turning.std(axis=0))) for segment in (mine, theirs)]
        return f"the {hand} turns {_more(*turned)} while it moves"
    if name in ("fingers", "bendings"):
        bent = [float(segment.shape.std(axis=0).sum()) for segment in (mine, theirs)]
        return f"the fingers of the {hand} move {_more(*bent)}"
    if name in ("cycles", "ways"):
        return f"the movement is made {_more(mine.cycles, theirs.cycles)} often"
    ratio = len(mine.frames) / len(theirs.frames)
    return f"it is {max(ratio, 1 / ratio):.1f} times as {'long' if ratio > 1 else 'short'}"


def _use_text(hand: str, mine: DescribedHand, theirs: DescribedHand) -> str:
    used = _raised(mine) > _raised(theirs)
    return f"the {hand} is {'used; in the example it is not' if used else 'not used; in the example it is'}"


def _raised(hand: DescribedHand) -> float:
    """Use of a hand: the share of the sign, times how high it is, from 0 at rest on."""
    height = np.maximum(0.0, 1.5 - hand.location[:, 1])
    return float((hand.used * height).mean())


def _more(mine: float, theirs: float) -> str:
    return "more" if mine > theirs else "less"


def _fingers(mine: np.ndarray, theirs: np.ndarray) -> str:
    """The finger that is bent otherwise; 15 cosines of bends come first, three for each finger."""
    apart = (mine[:15] - theirs[:15]).reshape(5, 3).mean(axis=1)
    finger = int(np.abs(apart).argmax())
    return f"the {_FINGERS[finger]} is {'straighter' if apart[finger] > 0 else 'more bent'}"


def _where(offset: np.ndarray) -> str:
    """Direction of one location from another; x is to the right of the image, the signer's left."""
    parts = []
    if abs(offset[1]) > _FAR:
        parts.append("lower" if offset[1] > 0 else "higher")
    if abs(offset[0]) > _FAR:
        parts.append("more to the left of the signer" if offset[0] > 0 else "more to the right of the signer")
    return f"{' and '.join(parts)} than" if parts else "not quite at the location of"


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


def _heading(segment: MovementSegment) -> str:
    if segment.extent < 2 * _FAR:
        return "hardly at all"
    quarter = max(1, len(segment.location) // 4)
    step = segment.location[-quarter:].mean(axis=0) - segment.location[:quarter].mean(axis=0)
    if np.linalg.norm(step) < 0.4 * segment.extent:
        return "there and back"
    return _direction(np.array([*step, 0.0]))


def _reach(segment: MovementSegment) -> float:
    return float(np.ptp(segment.depth))


@dataclass(frozen=True, slots=True)
class Difference:
    """One parameter in which a clip differs from the exemplars of its word."""

    parameter: Parameter
    strength: float  # in [0, 1]: the chance that it, and nothing else, is wrong, against a right sign
    text: str  # plain English
    at: tuple[int, int]  # frames of the clip's sign and of the exemplar's, where it shows most


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback to a learner."""

    word: str
    right: bool
    doubt: float  # above 0: more speaks against it than against nine of ten right signs
    dissimilarity: float  # above 1: more than that of nine of ten right signs; NaN without frame codes
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
        return tuple(difference for difference in self.differences if difference.strength >= error_classifier().notable)

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "word": self.word,
            "right": self.right,
            "doubt": round(self.doubt, 3),
            "dissimilarity": None if math.isnan(self.dissimilarity) else round(self.dissimilarity, 3),
            "score": self.score,
            "rank": self.rank,
            "of": self.of,
            "instead": [match.word for match in self.instead],
            "mirrored": self.mirrored,
            "exemplar": self.exemplar.id,
            "differences": [
                {
                    "parameter": difference.parameter,
                    "strength": round(difference.strength, 2),
                    "text": difference.text,
                }
                for difference in self.differences
            ],
        }


def give_feedback(
    spotter: Spotter,
    clip: Source,
    word: str,
    dictionary: Dictionary,
    progress: Progress = silent,
) -> Feedback:
    """Compare a learner's clip with the word that was meant, and with the others of a dictionary.

    Args:
        spotter: whose encoder compares.
        clip: one sign: a video path, a `.pose` path or landmarks.
        word: what was meant.
        dictionary: with the word and those that it may be confused with.
        progress: receives the exemplars that are embedded.

    Raises:
        UnknownWordError: the word is not in the dictionary.
        NoHandsError: no hand is in view in the clip.
        DictionaryError: the word has no exemplar that can be drawn.
    """
    meant = dictionary.resolve(word)
    sign = read_sign(spotter, clip)  # a clip without hands is refused before anything is embedded
    return feedback_on(spotter, (clip, sign), meant[0], spotter.gallery(dictionary, progress=progress))


def feedback_on(spotter: Spotter, clip: tuple[Source, Frames], word: str, gallery: Gallery) -> Feedback:
    """As `give_feedback`, with a gallery that was made before and a clip with the features of its sign."""
    if word not in gallery.words:
        raise UnknownWordError(word, gallery.words)
    source, sign = clip
    views = ExemplarEmbedder(spotter.encoder, spotter.cache).embed_source(source)
    matches = spotter.identify_views(views, gallery, SpotOptions())
    rank = next(number for number, match in enumerate(matches, 1) if match.word == word)
    match = matches[rank - 1]
    exemplars = _signs_of(spotter, gallery, match)
    cost = dissimilarity(views, gallery, match, typical_cost(gallery, spotter.encoder))
    described, examples = describe_sign(sign), [describe_sign(exemplar_sign) for _, exemplar_sign in exemplars]
    measured = measure_sign(described, examples)
    excess = strengths(measured, cost)
    doubt = error_classifier().doubt(error_classifier().log_odds(excess))
    return Feedback(
        word,
        right=is_right(rank, match.score, doubt),
        doubt=doubt,
        dissimilarity=cost,
        score=match.score,
        rank=rank,
        of=len(matches),
        instead=tuple(matches[: min(rank - 1, 3)]),
        mirrored=match.mirrored,
        differences=find_differences(measured, excess, described, examples[0]),
        exemplar=exemplars[0][0],
        clip_sign=sign,
        exemplar_sign=exemplars[0][1],
    )


def is_right(rank: int, score: float, doubt: float) -> bool:
    """Whether a clip counts as the word: no other word is nearer, and an error is not likelier than in right signs."""
    return rank == 1 and score >= RIGHT_SCORE and doubt <= 0


def _signs_of(spotter: Spotter, gallery: Gallery, match: Match) -> list[tuple[Exemplar, Frames]]:
    """Exemplars of a word and their signs, the nearest first, all mirrored if that one is."""
    exemplars = [
        exemplar for exemplar in gallery.exemplars if exemplar.word == match.word and exemplar.path is not None
    ]
    exemplars.sort(key=lambda exemplar: (exemplar.id != match.exemplar, exemplar.variant != match.variant))
    same = [exemplar for exemplar in exemplars if exemplar.variant == match.variant]
    if not same:
        raise DictionaryError(
            f"'{match.word}' has no exemplar with a video to compare with. Fetch it with: signspot dictionary fetch"
        )
    return [(exemplar, read_sign(spotter, exemplar, mirror=match.mirrored)) for exemplar in same[:_EXEMPLARS]]


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """One measure of a clip against exemplars, and of these against each other."""

    value: float  # the median over exemplars
    pairs: tuple[float, ...]  # of exemplars
    first: Measure  # against the first exemplar


def measure_sign(clip: DescribedSign, exemplars: Sequence[DescribedSign]) -> dict[str, MeasuredDifference]:
    """All measures of a sign and exemplars of its word, one variant, the nearest first."""
    compared = [compare(clip, exemplar) for exemplar in exemplars]
    among = [compare(exemplar, other) for number, exemplar in enumerate(exemplars) for other in exemplars[:number]]
    measured: dict[str, MeasuredDifference] = {}
    for name in error_classifier().measures:
        differences = [measures[name] for measures in compared if name in measures]
        if differences:
            pairs = tuple(measures[name].value for measures in among if name in measures)
            measured[name] = MeasuredDifference(
                float(np.median([exemplar.value for exemplar in differences])), pairs, differences[0]
            )
    return measured


def beyond_usual(measured: MeasuredDifference, between: float) -> float:
    """The part of a measure beyond what is usual: between exemplars of this word; with few of them, of all words."""
    usual = (sum(measured.pairs) + _PRIOR * between) / (len(measured.pairs) + _PRIOR)
    return measured.value - usual


def strengths(measured: Mapping[str, MeasuredDifference], cost: float = math.nan) -> dict[str, float]:
    """Strength of each measure: its difference above the usual one, in spreads.

    Args:
        measured: by `measure_sign`.
        cost: the dissimilarity of sign and exemplars; NaN where it is unknown.
    """
    values: dict[str, float] = {}
    for name, measure in error_classifier().measures.items():
        if name in measured:
            values[name] = (beyond_usual(measured[name], measure.between) - measure.more) / measure.spread
        elif name == DISSIMILARITY and not math.isnan(cost):
            values[name] = (math.log(cost) - measure.more) / measure.spread
    return values


def find_differences(
    measured: Mapping[str, MeasuredDifference],
    excess: Mapping[str, float],
    clip: DescribedSign,
    exemplar: DescribedSign,
) -> tuple[Difference, ...]:
    """Differences by parameter, the likeliest first, each described by the measure that contributes most to it.

    Args:
        measured: by `measure_sign`.
        excess: its strengths.
        clip: the sign.
        exemplar: the first of those that it was compared with.
    """
    classifier, differences = error_classifier(), []
    log_odds = classifier.log_odds(excess)
    for parameter in PARAMETERS:
        errors = [error for error, named in classifier.errors.items() if named == parameter]
        error = max(errors, key=log_odds.__getitem__)
        shares = {
            name: min(MOST, excess[name]) * max(0.0, classifier.weight(name, error))
            for name in measured
            if classifier.measures[name].parameter == parameter
        }
        if shares:
            name = max(shares, key=shares.__getitem__)
            first = measured[name].first
            text = difference_text(name, first, clip, exemplar)
            differences.append(Difference(parameter, chance(log_odds[error]), text, first.at))
    return tuple(sorted(differences, key=lambda difference: -difference.strength))


def frames_that_differ(spotter: Spotter, clip: Source, feedback: Feedback) -> tuple[Image | None, Image | None]:
    """The frames of the learner's video and of the example's where they differ most; None without a video."""
    mine, theirs = feedback.differences[0].at
    example = video_frame(spotter, feedback.exemplar, theirs)
    if example is not None and feedback.mirrored:
        example = np.ascontiguousarray(example[:, ::-1])
    return video_frame(spotter, clip, mine), example


def draw_feedback(feedback: Feedback, frames: tuple[Image | None, Image | None] = (None, None)) -> Figure:
    """Both skeletons where they differ most, the frames of the videos above, and how large each difference is."""
    rows = 2 if any(frame is not None for frame in frames) else 1
    figure = Figure(figsize=(10, 1.6 + 3 * rows), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
    grid = figure.add_gridspec(rows, 3, width_ratios=(1, 1, 1.2))
    mine, theirs = (figure.add_subplot(grid[-1, column]) for column in (0, 1))
    bars = figure.add_subplot(grid[:, 2])
    topmost = [mine, theirs]
    for column, frame in enumerate(frames):
        if frame is not None:
            topmost[column] = axes = figure.add_subplot(grid[0, column])
            axes.imshow(frame)
            axes.axis("off")
    first = feedback.differences[0]
    learner, example = feedback.clip_sign[first.at[0]], feedback.exemplar_sign[first.at[1]]
    box = box_of(learner[None], example[None])
    draw_skeleton(mine, learner, COLOURS[1], width=2.2, box=box)
    draw_skeleton(theirs, example, COLOURS[0], width=2.2, box=box)
    topmost[0].set_title("you", size=12)
    topmost[1].set_title("the example" + (", mirrored" if feedback.mirrored else ""), size=12)
    strengths = [difference.strength for difference in feedback.differences]
    names = [difference.parameter for difference in feedback.differences]
    bars.barh(names[::-1], strengths[::-1], color=COLOURS[0])
    bars.axvline(
        error_classifier().notable, color="#777777", ls="--", lw=1
    )  # what is left of it is as between two right signs
    bars.set_xlim(0, 1)
    bars.set_xlabel("probability that it differs; reported if right of the line", size=9)
    for side in ("top", "right"):
        bars.spines[side].set_visible(False)
    answer = "right" if feedback.right else f"rank {feedback.rank} of {feedback.of}"
    title, fonts = lettering(f"{feedback.word}: {answer}")
    figure.suptitle(title, size=14, weight="bold", **fonts)
    if feedback.notable:
        figure.supxlabel(feedback.notable[0].text, size=11)
    return figure


def feedback_lines(feedback: Feedback) -> list[str]:
    """The lines that a learner reads."""
    words = f"{feedback.of:,} word{'' if feedback.of == 1 else 's'}"
    answer = "right" if feedback.right else "not quite"
    lines = [f"'{feedback.word}': {answer} (rank {feedback.rank} of {words}, score {feedback.score:.2f})"]
    if feedback.rank == 1 and not feedback.right:
        lines.append("no other word is nearer, but it differs more from the examples than right signs usually do")
    if feedback.instead:
        lines.append("did you mean " + ", ".join(f"'{match.word}'" for match in feedback.instead) + "?")
    if feedback.mirrored:
        lines.append("signed with the other hand than the example: right for a left-handed signer")
    lines += [f"{difference.parameter}: {difference.text}" for difference in feedback.notable]
    if not feedback.notable:
        lines.append("no difference larger than is usual between two signers")
    return lines
