"""Feedback for a learner: was this the sign that was meant, how near is it to others, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from signspot.applications.differences import Measure, Parameter, compare
from signspot.applications.signs import read_sign
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
# How much two signers differ who both sign a word right: the median and the spread of each measure, on the world of
# seed 51, by `python -m signspot_lab.applications feedback --seed 51 --words 24 --choose`; the spreads of handshape
# and hand were widened by hand after a look at the world of seed 52.
USUAL: dict[str, tuple[float, float]] = {
    "handshape": (0.456, 0.070),
    "place": (0.257, 0.085),
    "orientation": (0.548, 0.205),
    "path": (0.204, 0.060),
    "size": (0.381, 0.281),
    "twist": (0.736, 0.212),
    "fingers": (0.579, 0.291),
    "repetition": (0.152, 0.122),
    "duration": (0.275, 0.171),
    "hand": (0.000, 0.300),
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
NOTABLE = 2.0  # spreads above what is usual: a smaller difference is not worth telling
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
    """What a learner is told."""

    word: str
    right: bool
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
    right = rank == 1 and match.score >= RIGHT_SCORE
    instead = tuple(each for each in matches[: min(rank - 1, 3)])
    return Feedback(word, right, match.score, rank, len(matches), instead, match.mirrored, differences, best, own, sign)


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


def find_differences(clip: Frames, exemplars: Sequence[Frames]) -> tuple[Difference, ...]:
    """What differs between a (T, J, C) sign and the first of some exemplars; the others steady the numbers."""
    compared = [compare(clip, each) for each in exemplars]
    largest: dict[Parameter, tuple[float, str, Measure]] = {}
    for name, first in compared[0].items():
        usual, spread = USUAL[name]
        value = float(np.mean([each[name].value for each in compared if name in each]))
        strength, parameter = (value - usual) / spread, MEANING[name]
        if parameter not in largest or strength > largest[parameter][0]:
            largest[parameter] = (strength, name, first)
    found = [
        Difference(parameter, strength, say_difference(name, measure, clip, exemplars[0]), measure.moment)
        for parameter, (strength, name, measure) in largest.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.strength))
