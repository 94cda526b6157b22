"""Wake signs measured: signs seen and false alarms, on several kinds of background, beside the plain rule."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from experiments.applications.signs import film, make_words
from signspot.applications.wake import (
    LIKE_THE_SIGN,
    WakeDetector,
    WakePeak,
    WakeSign,
    WakeStream,
    among_known_signs,
    own_gallery,
    settle,
)
from signspot.corpus.isolated import IsolatedClip
from signspot.embedding.exemplars import ExemplarEmbedder, Gallery, SignViews
from signspot.errors import SignspotError
from signspot.evaluation.stream_making import make_streams
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.decoys import alignment_scale, decoys_of
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Track
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import Lexicon

_NEAR = 0.5  # seconds around the end of a sign in which an event counts for it
_TESTED = 6  # words that are waited for, one after the other
_SIGNS, _EVERY = 60, 6  # in a stretch, and how often the sign that is waited for comes there
_ALONE = 10  # times that it is made alone
_TRIES = 9  # recordings that are made until enough of them show a hand
_EXEMPLARS = 3  # of every word of the dictionary, by other people
_PART = 400  # signs that are signed in one go, where hours are wanted


@dataclass(frozen=True)
class _Stretch:
    """Footage with the ends of the sign that is waited for."""

    kind: str
    track: Track
    ends: tuple[float, ...]
    alone: bool = False  # the sign and nothing else: the first event is for it, wherever; further ones are false


class _Signing:
    """Words of a synthetic corpus, signed by the user and by somebody else."""

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

    def alone(self, word: str, name: str) -> tuple[Landmarks, float]:
        """A word signed by the user alone, from rest to rest, and when it ends."""
        user, random = make_signer("user", self.seed, Role.TEST, left_share=0), named_rng(self.seed, name, word)
        motion, segment = isolated(self.lexicon[word].variants[0], user, random)
        return observe(project(motion, user.camera), random), segment.end

    def others(self, words: Sequence[str], name: str, count: int = _SIGNS) -> list[str]:
        """So many of some words, by chance."""
        return [str(word) for word in named_rng(self.seed, "chosen", name).choice(list(words), count)]

    def stretches(self, kind: str, word: str, words: Sequence[str]) -> Iterator[_Stretch]:
        """Footage by the user in which a word occurs: among other words, or alone where there are none."""
        if not words:
            for number in range(_ALONE):
                landmarks, end = self.alone(word, f"{kind} {number}")
                yield _Stretch(kind, self.spotter.embed(landmarks), (end,), alone=True)
            return
        chosen, places = self.others(words, f"{kind} {word}"), range(_EVERY - 1, _SIGNS, _EVERY)
        for place in places:
            chosen[place] = word
        landmarks, ends = self.sign(chosen, "user", f"{kind} {word}")
        yield _Stretch(kind, self.spotter.embed(landmarks), tuple(ends[place] for place in places))

    def hours(self, kind: str, words: Sequence[str], hours: float, who: str = "user") -> Iterator[_Stretch]:
        """Hours of signing of some words, without those that are waited for, in parts."""
        done, number = 0.0, 0
        while words and done < hours:
            name = f"{kind}, part {number}"
            track = self.spotter.embed(self.sign(self.others(words, name, _PART), who, name)[0])
            yield _Stretch(kind, track, ())
            done, number = done + track.grid.frames / track.grid.fps / 3600, number + 1

    def enrolled(self, word: str, recordings: int) -> tuple[Gallery, tuple[float, ...]] | None:
        """Recordings of a word by the user; None: the camera does not see the hands that make it."""
        good: list[Landmarks] = []
        for number in range(_TRIES):
            clip = self.alone(word, f"recording {number}")[0]
            try:
                own_gallery(self.spotter, [clip])
                good.append(clip)
            except SignspotError:  # no hand is seen
                continue
        return own_gallery(self.spotter, good[:recordings]) if len(good) >= recordings else None

    @cached_property
    def dictionary(self) -> Gallery:
        """All words, each by up to three other people, as far as their hands are seen."""
        embedder, shown, views = ExemplarEmbedder(self.spotter.encoder, None), list[Exemplar](), list[SignViews]()
        for word in self.lexicon:
            for number in range(_EXEMPLARS):
                clip = film(self.lexicon[word].variants[0], self.seed, "dictionary", word, number)
                try:
                    views.append(embedder.embed_source(clip))
                    shown.append(Exemplar(word, f"{word} {number}"))
                except SignspotError:  # no hand is seen
                    continue
        codes = np.stack([each.codes[:1] for each in views if each.codes is not None])
        return Gallery.of(shown, np.stack([each.embeddings[:1] for each in views]), codes)


def _peaks(spotter: Spotter, sign: WakeSign, track: Track) -> list[WakePeak]:
    """Peaks that a detector finds in the frame codes of a track."""
    assert track.codes is not None, "an encoder with frame codes"
    encoder, fps = spotter.encoder, track.grid.fps
    detector = WakeDetector(sign, alignment_scale(encoder), decoys_of(encoder), fps)
    codes = np.asarray(track.codes, np.float32)
    return detector.over(codes, [track.grid.origin + frame / fps for frame in range(len(codes))])


def _plain(sign: WakeSign, peaks: Sequence[WakePeak]) -> WakeSign:
    """The rule that learns nothing of the background but its highest score."""
    highest = max((peak.score for peak in peaks), default=0.0)
    return replace(sign, threshold=min(0.99, max(0.5, highest + 0.01)), impostors=np.empty((0, 0, 0), np.float32))


@dataclass(frozen=True, slots=True)
class WakeSize:
    """The amount of signing."""

    hours: float = 1.0  # of each kind of footage in which the sign does not occur
    background: float = 0.3  # hours of the user's own background, to enrol with
    rate: float = 1.0  # false alarms per hour that are asked for
    recordings: int = 3  # of the sign by the user


def _waiting(signing: _Signing, size: WakeSize) -> Iterator[tuple[str, str, WakeSign]]:
    """Words that are waited for, each by several rules: word, rule, sign."""
    spotter = signing.spotter
    background = [each.track for each in signing.hours("background", signing.known, size.background)]
    seconds = sum(track.grid.frames / track.grid.fps for track in background)
    for word in signing.tested:
        enrolled = signing.enrolled(word, size.recordings)
        if enrolled is not None:
            lowest = WakeSign(enrolled[0], LIKE_THE_SIGN, 0, 0, ())
            peaks = [peak for track in background for peak in _peaks(spotter, lowest, track)]
            sign = settle(spotter.encoder, enrolled[0], seconds, peaks, size.rate, enrolled[1])
            yield word, "highest of the background", _plain(sign, peaks)
            yield word, "shipped", sign


def wake_rows(
    spotter: Spotter, seed: int, words: int, real: Sequence[IsolatedClip] = (), size: WakeSize | None = None
) -> Iterator[tuple[str, ...]]:
    """Rows: seed, rule, kind of footage, signs, seen, false alarms, hours, alarms per hour; as soon as known.

    The sign is looked for in stretches with it, and in hours without it; false alarms of both count. Hours are those of
    footage times the words that are waited for.
    """
    chosen, signing = size or WakeSize(), _Signing(spotter, words, seed)
    waiting = list(_waiting(signing, chosen))
    kinds: dict[str, tuple[Sequence[str], str]] = {"the sign alone": ((), "user")}
    kinds |= {"words of the background": (signing.known, "user"), "other words": (signing.new, "user")}
    kinds["another signer"] = ([*signing.known, *signing.new], "somebody else")
    for kind, (signed, who) in kinds.items():
        counted: dict[str, list[float]] = {}
        for word in dict.fromkeys(word for word, _, _ in waiting if who == "user"):
            for stretch in signing.stretches(kind, word, signed):
                _count(spotter, stretch, [each for each in waiting if each[0] == word], counted)
        for stretch in signing.hours(kind, signed, chosen.hours, who):
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
        if stretch.alone:
            seen, false = min(1, len(found)), max(0, len(found) - 1)
        row = counted.setdefault(rule, [0.0, 0.0, 0.0, 0.0])
        for place, value in enumerate((float(len(stretch.ends)), seen, false, hours)):
            row[place] += value


def _told(seed: int, kind: str, counted: dict[str, list[float]]) -> Iterator[tuple[str, ...]]:
    for rule, row in counted.items():
        yield str(seed), rule, kind, *(f"{value:.0f}" for value in row[:3]), f"{row[3]:.2f}", f"{row[2] / row[3]:.1f}"


def said_rows(spotter: Spotter, seed: int, words: int, size: WakeSize) -> Iterator[tuple[str, ...]]:
    """Rows: signing, word, by what, false alarms per hour that enrolment says, those counted, nearest signs, seen.

    Counted is on words that the background did not show; seen are signs made alone.
    """
    signing = _Signing(spotter, words, seed)
    footage = [each.track for each in signing.hours("other words", signing.new, size.hours)]
    hours = sum(track.grid.frames / track.grid.fps for track in footage) / 3600
    for word, rule, sign in _waiting(signing, size):
        if rule != "shipped":
            continue
        alone = list(signing.stretches("the sign alone", word, ()))
        for by, known in (("decoys", None), ("a dictionary", signing.dictionary)):
            told = among_known_signs(spotter.encoder, sign, known)
            assert told.distinct is not None, "an encoder with decoys"
            counted = sum(len(_peaks(spotter, told, track)) for track in footage) / hours
            seen = sum(bool(_peaks(spotter, told, each.track)) for each in alone)
            near = ", ".join(f"{each.word} {each.distance:.2f}" for each in told.distinct.nearest)
            said = f"{told.distinct.per_hour:.1f}", f"{counted:.1f}"
            yield str(seed), word, by, *said, near, f"{seen} of {len(alone)}"


def latency_row(spotter: Spotter, seed: int, words: int) -> tuple[str, ...]:
    """Events of one sign through the stream itself: how many, frames late in the mean and at most, and promised."""
    signing = _Signing(spotter, words, seed)
    word, enrolled = next(
        (word, found) for word in signing.tested if (found := signing.enrolled(word, WakeSize().recordings)) is not None
    )
    chosen = [each for other in signing.known for each in (other, word)][:_SIGNS]
    stream = WakeStream(spotter.encoder, WakeSign(enrolled[0], 0.5, 0.0, 0, enrolled[1]))
    late = [event.latency for event in stream.push(signing.sign(chosen, "user", "latency")[0])]
    mean = f"{np.mean(late):.1f}" if late else "no event"
    return str(len(late)), mean, str(max(late, default=0)), str(stream.latency)
