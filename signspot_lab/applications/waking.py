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

    def recordings(self, word: str) -> list[Landmarks]:
        """The sign alone, in the dictionary's manner."""
        return [film(self.lexicon[word].variants[0], self.seed, word, number) for number in range(_RECORDINGS + 2)]


def _peaks(spotter: Spotter, sign: WakeSign, track: Track) -> list[WakePeak]:
    """Peaks that a detector finds in the frame codes of a track."""
    assert track.codes is not None, "an encoder with frame codes"
    encoder, fps = spotter.encoder, track.grid.fps
    detector = WakeDetector(sign, alignment_scale(encoder), cohort_of(encoder), fps)
    codes = np.asarray(track.codes, np.float32)
    told = [detector.step(code, track.grid.origin + frame / fps) for frame, code in enumerate(codes)]
    return [peak for peak in told if peak is not None]


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


def wake_rows(
    spotter: Spotter, seed: int, words: int, real: Sequence[IsolatedClip] = (), rate: float = 1.0
) -> Iterator[tuple[str, ...]]:
    """Rows: seed, rule, kind of footage, signs, seen, false alarms, hours, alarms per hour."""
    world = _World(spotter, words, seed)
    background = spotter.embed(world.sign(world.others(world.known, "background", 4 * _SIGNS), "user", "background")[0])
    seconds = background.grid.frames / background.grid.fps
    shared = [world.stretch("another signer", None, [*world.known, *world.new], "somebody else")]
    streams = make_streams(real, seed)[:6] if real else []
    shared += [_Stretch("real signing", spotter.embed(each.landmarks), ()) for each in streams]
    counted: dict[tuple[str, str], list[float]] = {}
    for word in world.tested:
        gallery, own = _enrolled(spotter, world.recordings(word))
        peaks = _peaks(spotter, WakeSign(gallery, _LOWEST, 0.0, 0, ()), background)
        sign = settle(spotter.encoder, gallery, seconds, peaks, rate, own)
        stretches = [world.stretch("words of the background", word, world.known)]
        stretches += [world.stretch("other words", word, world.new), *shared]
        for rule, chosen in (("highest of the background", _plain(sign, peaks)), ("shipped", sign)):
            for each in stretches:
                found = [peak.time for peak in _peaks(spotter, chosen, each.track)]
                seen = sum(any(abs(time - end) < _NEAR for time in found) for end in each.ends)
                false = sum(all(abs(time - end) >= _NEAR for end in each.ends) for time in found)
                hours = each.track.grid.frames / each.track.grid.fps / 3600
                row = counted.setdefault((rule, each.kind), [0.0, 0.0, 0.0, 0.0])
                for place, value in enumerate((float(len(each.ends)), seen, false, hours)):
                    row[place] += value
    for (rule, kind), row in counted.items():
        counts = [f"{value:.0f}" for value in row[:3]]
        yield str(seed), rule, kind, *counts, f"{row[3]:.3f}", f"{row[2] / row[3]:.0f}"


def latency_row(spotter: Spotter, seed: int, words: int) -> tuple[str, ...]:
    """Events of one sign through the stream itself: how many, frames late at most, and the bound that is promised."""
    world = _World(spotter, words, seed)
    word = world.tested[0]
    gallery, own = _enrolled(spotter, world.recordings(word))
    chosen = [*world.known[:3], word, *world.known[:3]]
    stream = WakeStream(spotter.encoder, WakeSign(gallery, 0.5, 0.0, 0, own))
    events = stream.push(world.sign(chosen, "user", "latency")[0])
    return str(len(events)), str(max((event.latency for event in events), default=0)), str(stream.latency)
