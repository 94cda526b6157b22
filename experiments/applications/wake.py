"""Wake signs measured on synthetic signing: signs detected and false alarms, and what enrolment predicts of them.

    python -m experiments.applications.wake --seed 56 --hours 0.5
    python -m experiments.applications.wake --seed 65 --hours 0.15 --distinctiveness

Six words are waited for, each enrolled with three recordings by the user and a background of signing that shows half
of the other words. They are looked for among words of the background, among words it did not show, signed alone, and
in another person's signing. Beside the shipped rule stands one that takes the highest score of the background as its
threshold. `--distinctiveness` compares the false alarms that enrolment predicts with those counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from experiments.applications.synthetic_signs import embed_clips, gallery_of, make_words, parser_of, perform
from experiments.markdown import print_table
from signspot.applications.wake import (
    CANDIDATE_SCORE,
    WakeDetector,
    WakePeak,
    WakeSign,
    WakeStream,
    choose_threshold,
    recordings_gallery,
    with_distinctiveness,
)
from signspot.embedding.exemplars import Gallery
from signspot.errors import SignspotError
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.decoys import alignment_scale, decoys_of
from signspot.spotting.spotter import Spotter, load
from signspot.types import Track
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.observation import observe, project
from signspot_synthetic.random_streams import named_rng

_NEAR = 0.5  # seconds around the end of a sign in which an event counts for it
_TESTED, _RECORDINGS, _EXEMPLARS = 6, 3, 3
_SIGNS, _EVERY = 60, 6  # in a piece of signing, and how often the sign that is waited for comes there
_ALONE = 10  # times that it is signed alone
_TRIES = 9  # recordings that are made until enough of them show a hand
_PART = 400  # signs that are signed in one go, where hours are wanted


@dataclass(frozen=True)
class Footage:
    """Signing, with the ends of the sign that is waited for."""

    track: Track
    ends: tuple[float, ...] = ()
    alone: bool = False  # the sign and nothing else: the first event is for it, further ones are false

    @property
    def hours(self) -> float:
        """Its length."""
        return self.track.grid.frames / self.track.grid.fps / 3600


class Signing:
    """Words of one seed, signed by the user and by somebody else."""

    def __init__(self, spotter: Spotter, words: int, seed: int):
        self.spotter, self.seed, self.lexicon = spotter, seed, make_words(words, seed)
        names = list(self.lexicon)
        half = _TESTED + (len(names) - _TESTED) // 2
        self.tested, self.background, self.new = names[:_TESTED], names[_TESTED:half], names[half:]

    def sign(self, words: Sequence[str], who: str, name: str) -> tuple[Landmarks, list[float]]:
        """Words signed one after the other, and when each ends."""
        signer, random = make_signer(who, self.seed, Role.TEST, left_share=0), named_rng(self.seed, name)
        motion, segments = continuous([self.lexicon[word].variants[0] for word in words], signer, random)
        return observe(project(motion, signer.camera), random), [segment.end for segment in segments]

    def alone(self, word: str, name: str) -> Landmarks:
        """A word signed by the user alone, from rest to rest."""
        user, random = make_signer("user", self.seed, Role.TEST, left_share=0), named_rng(self.seed, name, word)
        return observe(project(isolated(self.lexicon[word].variants[0], user, random)[0], user.camera), random)

    def draw(self, words: Sequence[str], name: str, count: int) -> list[str]:
        """So many of some words, by chance."""
        return [str(word) for word in named_rng(self.seed, "chosen", name).choice(list(words), count)]

    def with_sign(self, kind: str, word: str, words: Sequence[str]) -> Iterator[Footage]:
        """Footage by the user in which a word occurs: among other words, or alone where there are none."""
        if not words:
            for number in range(_ALONE):
                yield Footage(self.spotter.embed(self.alone(word, f"{kind} {number}")), (0.0,), alone=True)
            return
        signed, positions = self.draw(words, f"{kind} {word}", _SIGNS), range(_EVERY - 1, _SIGNS, _EVERY)
        for position in positions:
            signed[position] = word
        landmarks, ends = self.sign(signed, "user", f"{kind} {word}")
        yield Footage(self.spotter.embed(landmarks), tuple(ends[position] for position in positions))

    def without_sign(self, kind: str, words: Sequence[str], hours: float, who: str = "user") -> Iterator[Footage]:
        """Hours of signing of some words, in parts."""
        done, number = 0.0, 0
        while words and done < hours:
            name = f"{kind}, part {number}"
            footage = Footage(self.spotter.embed(self.sign(self.draw(words, name, _PART), who, name)[0]))
            yield footage
            done, number = done + footage.hours, number + 1

    def enrolled(self, word: str) -> tuple[Gallery, tuple[float, ...]] | None:
        """Recordings of a word by the user; None: the camera does not see the hands that make it."""
        good: list[Landmarks] = []
        for number in range(_TRIES):
            clip = self.alone(word, f"recording {number}")
            try:
                recordings_gallery(self.spotter, [clip])
                good.append(clip)
            except SignspotError:  # no hand is seen
                continue
        return recordings_gallery(self.spotter, good[:_RECORDINGS]) if len(good) >= _RECORDINGS else None

    @cached_property
    def dictionary(self) -> Gallery:
        """All words, each by up to three other people."""
        clips = (
            (word, word, "", perform(self.lexicon[word].variants[0], self.seed, "dictionary", word, number))
            for word in self.lexicon
            for number in range(_EXEMPLARS)
        )
        return gallery_of(list(embed_clips(self.spotter, clips)))


def find_peaks(spotter: Spotter, sign: WakeSign, track: Track) -> list[WakePeak]:
    """Peaks that a detector finds in the frame codes of a track."""
    assert track.codes is not None, "an encoder with frame codes"
    detector = WakeDetector(sign, alignment_scale(spotter.encoder), decoys_of(spotter.encoder), track.grid.fps)
    codes, grid = np.asarray(track.codes, np.float32), track.grid
    peaks = (detector.step(code, grid.origin + frame / grid.fps) for frame, code in enumerate(codes))
    return [peak for peak in peaks if peak is not None]


def enrol_words(signing: Signing, background_hours: float = 0.3) -> Iterator[tuple[str, str, WakeSign]]:
    """Words that are waited for, each by two rules: word, rule, sign."""
    spotter = signing.spotter
    background = list(signing.without_sign("background", signing.background, background_hours))
    seconds = 3600 * sum(footage.hours for footage in background)
    for word in signing.tested:
        enrolled = signing.enrolled(word)
        if enrolled is not None:
            lowest = WakeSign(enrolled[0], CANDIDATE_SCORE, 0, 0, ())
            peaks = [peak for footage in background for peak in find_peaks(spotter, lowest, footage.track)]
            sign = choose_threshold(spotter.encoder, enrolled[0], seconds, peaks, 1.0, enrolled[1])
            threshold = min(0.99, max(0.5, max((peak.score for peak in peaks), default=0.0) + 0.01))
            yield word, "highest of the background", replace(sign, threshold=threshold, negatives=np.empty((0, 0, 0)))
            yield word, "shipped", sign


def wake_rows(signing: Signing, hours: float) -> Iterator[tuple[str, ...]]:
    """Rows: rule, kind of footage, signs, detected, false alarms, hours times words, false alarms per hour."""
    waiting = list(enrol_words(signing))
    kinds: dict[str, tuple[Sequence[str], str]] = {"the sign alone": ((), "user")}
    kinds |= {"words of the background": (signing.background, "user"), "other words": (signing.new, "user")}
    kinds["another signer"] = ([*signing.background, *signing.new], "somebody else")
    for kind, (words, who) in kinds.items():
        counts: dict[str, np.ndarray] = {}
        for word in dict.fromkeys(word for word, _, _ in waiting if who == "user"):
            for footage in signing.with_sign(kind, word, words):
                _count(signing.spotter, footage, [entry for entry in waiting if entry[0] == word], counts)
        for footage in signing.without_sign(kind, words, hours, who):
            _count(signing.spotter, footage, waiting, counts)
        for rule, row in counts.items():
            yield rule, kind, *(f"{value:.0f}" for value in row[:3]), f"{row[3]:.2f}", f"{row[2] / row[3]:.1f}"


def _count(
    spotter: Spotter, footage: Footage, waiting: Sequence[tuple[str, str, WakeSign]], counts: dict[str, np.ndarray]
) -> None:
    """Add signs, those detected, false alarms and hours of footage to those of each rule."""
    for _, rule, sign in waiting:
        times = [peak.time for peak in find_peaks(spotter, sign, footage.track)]
        detected = sum(any(abs(time - end) < _NEAR for time in times) for end in footage.ends)
        false = sum(all(abs(time - end) >= _NEAR for end in footage.ends) for time in times)
        if footage.alone:
            detected, false = min(1, len(times)), max(0, len(times) - 1)
        row = np.array([len(footage.ends), detected, false, footage.hours])
        counts[rule] = counts.get(rule, np.zeros(4)) + row


def distinctiveness_rows(signing: Signing, hours: float, background_hours: float = 0.3) -> Iterator[tuple[str, ...]]:
    """Rows: word, by what, false alarms per hour predicted, counted on new words, nearest signs, detected alone."""
    spotter = signing.spotter
    footage = list(signing.without_sign("other words", signing.new, hours))
    total = sum(part.hours for part in footage)
    for word, rule, sign in enrol_words(signing, background_hours):
        if rule != "shipped":
            continue
        alone = list(signing.with_sign("the sign alone", word, ()))
        for by, dictionary in (("decoys", None), ("a dictionary", signing.dictionary)):
            described = with_distinctiveness(spotter.encoder, sign, dictionary)
            assert described.distinct is not None, "an encoder with decoys"
            counted = sum(len(find_peaks(spotter, described, part.track)) for part in footage) / total
            detected = sum(bool(find_peaks(spotter, described, part.track)) for part in alone)
            near = ", ".join(f"{sign.word} {sign.distance:.2f}" for sign in described.distinct.nearest)
            yield word, by, f"{described.distinct.per_hour:.1f}", f"{counted:.1f}", near, f"{detected} of {len(alone)}"


def latency_row(signing: Signing) -> tuple[str, ...]:
    """Events of one sign through the stream itself: how many, frames late in the mean and at most, and promised."""
    word, enrolled = next((word, takes) for word in signing.tested if (takes := signing.enrolled(word)) is not None)
    signed = [name for other in signing.background for name in (other, word)][:_SIGNS]
    stream = WakeStream(signing.spotter.encoder, WakeSign(enrolled[0], 0.5, 0.0, 0, enrolled[1]))
    late = [event.latency for event in stream.push(signing.sign(signed, "user", "latency")[0])]
    return str(len(late)), f"{np.mean(late):.1f}" if late else "", str(max(late, default=0)), str(stream.latency)


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, words=60)
    parser.add_argument("--hours", type=float, default=1.0, help="of each kind of footage without the sign")
    parser.add_argument("--distinctiveness", action="store_true", help="predicted and counted false alarms")
    args = parser.parse_args()
    signing = Signing(load(args.encoder, cache=False), args.words, args.seed)
    if args.distinctiveness:
        heads = ("word", "by", "predicted per hour", "counted per hour", "nearest known signs", "detected alone")
        print_table(heads, distinctiveness_rows(signing, args.hours))
        return
    counts = ("signs", "detected", "false alarms", "hours", "false alarms per hour")
    print_table(("rule", "footage", *counts), wake_rows(signing, args.hours))
    print_table(("events", "frames late, in the mean", "at most", "promised"), [latency_row(signing)])


if __name__ == "__main__":
    main()
