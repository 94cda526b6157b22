"""Feedback for a learner: was this the sign that was meant, how near is it to others, and what differs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from signspot.applications.differences import PARAMETERS, Measure, Parameter, compare
from signspot.applications.signs import read_sign
from signspot.applications.strokes import SeenSign, see_sign
from signspot.applications.unlikeness import typical_cost, unlikeness
from signspot.applications.verdict import CHANGES, MOST, NOTABLE, TOLD, UNLIKE, USUAL, chance, doubt, evidence, weight
from signspot.applications.wording import say_difference
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.inputs import Source
from signspot.errors import DictionaryError, UnknownWordError
from signspot.io.progress import Progress, silent
from signspot.plots.skeletons import Frames
from signspot.spotting.identification import Match
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar

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
_PRIOR = 3.0  # pairs of exemplars that what is usual for all words counts as, beside those of the word itself
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
