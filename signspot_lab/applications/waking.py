"""Wake signs measured: signs seen and false alarms, on several kinds of background, beside the plain rule."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from signspot.applications.wake import WakeStream, own_gallery, settle
from signspot.applications.wake_detector import WakeDetector, WakePeak, WakeSign
from signspot.embedding.exemplars import Gallery
from signspot.errors import SignspotError
from signspot.evaluation.stream_making import make_streams
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.decoys import cohort_of
from signspot.spotting.identification import alignment_scale
from signspot.spotting.spotter import Spotter
from signspot.timeline import Track
from signspot_lab.applications.signs import film, make_words
from signspot_lab.isolated.clips import IsolatedClip
from signspot_world.body.motion import continuous
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.estimator import observe
from signspot_world.camera.projection import project
from signspot_world.knobs import named_rng
from signspot_world.language.lexicon import Lexicon

_NEAR = 0.5  # seconds around the end of a sign in which an event counts for it
_TESTED = 4  # words that are waited for, one after the other
_PLACES = (4, 12, 20)  # of the sign that is waited for, in a stretch
_SIGNS = 28  # in a stretch
_RECORDINGS = 3
_PART = 400  # signs that are signed in one go, where hours are wanted
_LOWEST = 0.05  # score from which a place of the background is looked at


@dataclass(frozen=True)
class _Stretch:
    """Footage with the ends of the sign that is waited for."""

    kind: str
    track: Track
    ends: tuple[float, ...]


class _World:
    """Words of a world, signed by the user and by somebody else."""

    def __init__(self, spotter: Spotter, words: int, seed: int):
        self.spotter, self.seed = spotter, seed
        self.lexicon: Lexicon = make_words(words, seed)
        names = list(self.lexicon)
        half = _TESTED + (len(names) - _TESTED) // 2
        self.tested, self.known, self.new = names[:_TESTED], names[_TESTED:half], names[half:]

    def sign(self, chosen: Sequence[str], who: str, name: str) -> tuple[Landmarks, list[float]]:
        """Words signed one after the other, and when each ends."""
        signer = make_signer(who, self.seed, Role.TEST, left_share=0)
        random = named_rng(self.seed, name)
        motion, segments = continuous([self.lexicon[word].variants[0] for word in chosen], signer, random)
        return observe(project(motion, signer.camera), random), [each.end for each in segments]

    def others(self, words: Sequence[str], name: str, count: int = _SIGNS) -> list[str]:
        """So many of some words, by chance."""
        return [str(word) for word in named_rng(self.seed, "chosen", name).choice(list(words), count)]

    def stretch(self, kind: str, word: str | None, words: Sequence[str], who: str = "user") -> _Stretch:
        """Footage of other words in which a word occurs at known places; without, where none is given."""
        name = f"{kind} {word}"
        chosen = self.others(words, name)
        for place in _PLACES if word else ():
            chosen[place] = str(word)
        landmarks, ends = self.sign(chosen, who, name)
        return _Stretch(kind, self.spotter.embed(landmarks), tuple(ends[place] for place in (_PLACES if word else ())))

    def hours(self, kind: str, words: Sequence[str], hours: float, who: str = "user") -> Iterator[_Stretch]:
        """Hours of signing of some words, without those that are waited for, in parts."""
        done, number = 0.0, 0
        while done < hours:
            name = f"{kind}, part {number}"
            track = self.spotter.embed(self.sign(self.others(words, name, _PART), who, name)[0])
            yield _Stretch(kind, track, ())
            done, number = done + track.grid.frames / track.grid.fps / 3600, number + 1

    def recordings(self, word: str) -> list[Landmarks]:
        """The sign alone, in the dictionary's manner."""
        return [film(self.lexicon[word].variants[0], self.seed, word, number) for number in range(_RECORDINGS + 2)]


def _peaks(spotter: Spotter, sign: WakeSign, track: Track) -> list[WakePeak]:
    """Peaks that a detector finds in the frame codes of a track."""
    assert track.codes is not None, "an encoder with frame codes"
    encoder, fps = spotter.encoder, track.grid.fps
    detector = WakeDetector(sign, alignment_scale(encoder), cohort_of(encoder), fps)
    codes = np.asarray(track.codes, np.float32)
    return detector.over(codes, [track.grid.origin + frame / fps for frame in range(len(codes))])


def _enrolled(spotter: Spotter, recordings: Sequence[Landmarks]) -> tuple[Gallery, tuple[float, ...]]:
    good: list[Landmarks] = []
    for clip in recordings:
        try:
            own_gallery(spotter, [clip])
            good.append(clip)
        except SignspotError:  # no hand is seen
            continue
    return own_gallery(spotter, good[:_RECORDINGS])


def _plain(sign: WakeSign, peaks: Sequence[WakePeak]) -> WakeSign:
    """The rule that learns nothing of the background but its highest score."""
    highest = max((peak.score for peak in peaks), default=0.0)
    return replace(sign, threshold=min(0.99, max(0.5, highest + 0.01)), impostors=np.empty((0, 0, 0), np.float32))


@dataclass(frozen=True, slots=True)
class WakeSize:
    """The amount of signing."""

    hours: float = 1.0  # of each kind of footage in which the sign does not occur
    background: float = 0.1  # hours of the user's own background, to enrol with
    rate: float = 1.0  # false alarms per hour that are asked for


def wake_rows(
    spotter: Spotter, seed: int, words: int, real: Sequence[IsolatedClip] = (), size: WakeSize | None = None
) -> Iterator[tuple[str, ...]]:
    """Rows: seed, rule, kind of footage, signs, seen, false alarms, hours, alarms per hour; as soon as known.

    The sign is looked for in short stretches with it, and in hours without it; false alarms of both count.
    """
    chosen, world = size or WakeSize(), _World(spotter, words, seed)
    background = [each.track for each in world.hours("background", world.known, chosen.background)]
    seconds = sum(track.grid.frames / track.grid.fps for track in background)
    waiting: list[tuple[str, str, WakeSign]] = []  # word, rule, sign
    for word in world.tested:
        gallery, own = _enrolled(spotter, world.recordings(word))
        peaks = [peak for track in background for peak in _peaks(spotter, WakeSign(gallery, _LOWEST, 0, 0, ()), track)]
        sign = settle(spotter.encoder, gallery, seconds, peaks, chosen.rate, own)
        waiting += [(word, "highest of the background", _plain(sign, peaks)), (word, "shipped", sign)]
    kinds = {"words of the background": (world.known, "user"), "other words": (world.new, "user")}
    kinds["another signer"] = ([*world.known, *world.new], "somebody else")
    for kind, (signed, who) in kinds.items():
        counted: dict[str, list[float]] = {}
        if who == "user":
            for word in world.tested:
                own_stretch = world.stretch(kind, word, signed)
                _count(spotter, own_stretch, [each for each in waiting if each[0] == word], counted)
        for stretch in world.hours(kind, signed, chosen.hours, who):
            _count(spotter, stretch, waiting, counted)
        yield from _told(seed, kind, counted)
    counted = {}
    for each in make_streams(real, seed)[:6] if real else []:
        _count(spotter, _Stretch("real signing", spotter.embed(each.landmarks), ()), waiting, counted)
    yield from _told(seed, "real signing", counted)


def _count(
    spotter: Spotter, stretch: _Stretch, waiting: Sequence[tuple[str, str, WakeSign]], counted: dict[str, list[float]]
) -> None:
    """Add signs, those seen, false alarms and hours of a stretch to those of each rule."""
    hours = stretch.track.grid.frames / stretch.track.grid.fps / 3600
    for _, rule, sign in waiting:
        found = [peak.time for peak in _peaks(spotter, sign, stretch.track)]
        seen = sum(any(abs(time - end) < _NEAR for time in found) for end in stretch.ends)
        false = sum(all(abs(time - end) >= _NEAR for end in stretch.ends) for time in found)
        row = counted.setdefault(rule, [0.0, 0.0, 0.0, 0.0])
        for place, value in enumerate((float(len(stretch.ends)), seen, false, hours)):
            row[place] += value


def _told(seed: int, kind: str, counted: dict[str, list[float]]) -> Iterator[tuple[str, ...]]:
    for rule, row in counted.items():
        yield str(seed), rule, kind, *(f"{value:.0f}" for value in row[:3]), f"{row[3]:.2f}", f"{row[2] / row[3]:.1f}"


def latency_row(spotter: Spotter, seed: int, words: int) -> tuple[str, ...]:
    """Events of one sign through the stream itself: how many, frames late at most, and the bound that is promised."""
    world = _World(spotter, words, seed)
    word = world.tested[0]
    gallery, own = _enrolled(spotter, world.recordings(word))
    chosen = [*world.known[:3], word, *world.known[:3]]
    stream = WakeStream(spotter.encoder, WakeSign(gallery, 0.5, 0.0, 0, own))
    events = stream.push(world.sign(chosen, "user", "latency")[0])
    return str(len(events)), str(max((event.latency for event in events), default=0)), str(stream.latency)
