"""Feedback for a learner: was this the sign that was meant, how near is it to others, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from signspot.applications.differences import Measure, Parameter, compare
from signspot.applications.signs import read_sign
from signspot.applications.unlikeness import typical_cost, unlikeness
from signspot.applications.wording import say_difference
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery
from signspot.embedding.inputs import Source
from signspot.errors import DictionaryError, UnknownWordError
from signspot.pictures.skeletons import Frames
from signspot.progress import Progress, silent
from signspot.records import Exemplar
from signspot.spotting.identification import Match
from signspot.spotting.search import SpotOptions
from signspot.spotting.spotter import Spotter

RIGHT_SCORE = 0.5  # least score of a word that was signed right: beyond, it is as unlike as two different signs


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual difference of one measure between two people who both sign a word right."""

    between: float  # its median between exemplars
    more: float  # how much more than that is no difference yet
    spread: float  # the unit in which more is told


# Chosen on the worlds of seeds 51 and 61; what `python -m signspot_lab.applications feedback --choose` looks for.
USUAL: dict[str, Usual] = {
    "handshape": Usual(0.456, 0.001, 0.042),
    "place": Usual(0.257, -0.025, 0.076),
    "orientation": Usual(0.548, 0.135, 0.087),
    "path": Usual(0.204, -0.115, 0.061),
    "size": Usual(0.381, -0.053, 0.235),
    "twist": Usual(0.736, -0.562, 0.322),
    "fingers": Usual(0.579, -0.137, 0.252),
    "repetition": Usual(0.152, -0.028, 0.129),
    "duration": Usual(0.275, -0.104, 0.184),
    "hand": Usual(0.000, 0.123, 0.263),
}
MEANING: dict[str, Parameter] = {
    "handshape": "handshape",
    "place": "place",
    "orientation": "orientation",
    "path": "movement",
    "size": "movement",
    "twist": "movement",
    "fingers": "movement",
    "repetition": "timing",
    "duration": "timing",
    "hand": "hand",
}
NOTABLE = 3.5  # spreads above what is usual: one of ten right signs has a larger difference
_PRIOR = 1.0  # pairs of exemplars that what is usual for all words counts as, beside those of the word itself
_EXEMPLARS = 3  # of the word, with which the clip is compared


@dataclass(frozen=True, slots=True)
class Difference:
    """One parameter in which a clip differs from the exemplars of its word."""

    parameter: Parameter
    strength: float  # spreads above what is usual between two signers
    words: str  # plain English
    moment: tuple[int, int]  # frames of the clip's sign and of the exemplar's, where it shows most


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback to a learner."""

    word: str
    right: bool
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
    differences = find_differences(own, [each for _, each in shown])
    unlike = unlikeness(views, gallery, match, typical_cost(gallery, spotter.encoder))
    right = is_right(rank, match.score, unlike)
    instead = tuple(each for each in matches[: min(rank - 1, 3)])
    told = len(matches), instead, match.mirrored, differences, best, own, sign
    return Feedback(word, right, unlike, match.score, rank, *told)


def is_right(rank: int, score: float, unlike: float) -> bool:
    """Whether a clip counts as the word: no other is nearer, and it is no more unlike than right signs are."""
    return rank == 1 and score >= RIGHT_SCORE and not unlike > 1


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


def strengths(clip: Frames, exemplars: Sequence[Frames]) -> dict[str, tuple[float, Measure]]:
    """Strength of each measure's difference between a (T, J, C) sign and exemplars, in spreads above the usual one.

    What is usual is how much the exemplars of this word differ from each other; with few of them, what is usual for all
    words counts, too. The measure itself is that against the first exemplar.
    """
    compared = [compare(clip, each) for each in exemplars]
    among = [compare(one, other) for place, one in enumerate(exemplars) for other in exemplars[:place]]
    found: dict[str, tuple[float, Measure]] = {}
    for name, usual in USUAL.items():
        seen = [each[name] for each in compared if name in each]
        if not seen:
            continue
        pairs = [each[name].value for each in among if name in each]
        between = (sum(pairs) + _PRIOR * usual.between) / (len(pairs) + _PRIOR)
        value = float(np.mean([each.value for each in seen]))
        found[name] = ((value - between - usual.more) / usual.spread, seen[0])
    return found


def find_differences(clip: Frames, exemplars: Sequence[Frames]) -> tuple[Difference, ...]:
    """Differences between a (T, J, C) sign and the first of some exemplars; the others tell which are usual."""
    largest: dict[Parameter, tuple[float, str, Measure]] = {}
    for name, (strength, measure) in strengths(clip, exemplars).items():
        parameter = MEANING[name]
        if parameter not in largest or strength > largest[parameter][0]:
            largest[parameter] = (strength, name, measure)
    found = [
        Difference(parameter, strength, say_difference(name, measure, clip, exemplars[0]), measure.moment)
        for parameter, (strength, name, measure) in largest.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.strength))
