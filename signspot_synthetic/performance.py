"""A plan is performed: the landmarks, subtitles, labels and truth of one exemplar or one continuous video."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.truth import ExemplarTruth, MentionTruth, SignTruth
from signspot.landmarks.landmarks import Landmarks
from signspot.types import Label, Segment, Subtitle
from signspot_synthetic.body.motion import FPS, Motion, continuous, isolated
from signspot_synthetic.body.signers import Signer
from signspot_synthetic.corpus_plan import CorpusPlan, ExemplarPlan, VideoPlan
from signspot_synthetic.language.sentences import Gloss, Sentence
from signspot_synthetic.language.subtitles import CueText, cut_into_cues, sound_captions, time_cues
from signspot_synthetic.observation import for_lips, observe, project
from signspot_synthetic.random_streams import named_rng

_MOUTHED = 0.58  # of the signs that have a word, on average
_FOUND = 0.75  # of the mouthed signs in a subtitle
_FALSE_ALARMS = 0.18  # a subtitle word that is not mouthed: a label at a wrong time
_PADDING = 4.0  # seconds around a subtitle in which a mouthing is looked for
_JITTER = 0.06  # standard deviation of a right label's time around the end of its sign, seconds
_AT_A_SIGN = 0.6  # of the wrong labels lie at the end of some other sign
# Confidence is 0.5 + x / 2 with x from a beta law. The ratio of the two densities, x^0.25 / (1 - x)^1.95,
# grows with x: the more confident a label, the more reliable it is.
_RIGHT, _WRONG = (1.0, 1.05), (0.75, 3.0)


def mouthing_rate(word: str, seed: int, knob: float) -> float:
    """Share of a word's uses that are mouthed: a habit of the word; always, where the knob is 0."""
    habit = _MOUTHED + named_rng(seed, "mouthing", word).uniform(-0.3, 0.3)
    return float(np.clip(1 - knob * (1 - habit), 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class SimulatedMouthingSpotter:
    """Finds mouthings of subtitle words in one video, as fallibly as a real one."""

    subtitles: Sequence[Subtitle]
    signs: Sequence[SignTruth]  # in order of time
    duration: float  # of the video, seconds
    same_sign: Mapping[str, frozenset[str]]  # word → words that share its sign, itself included
    knob: float = 1.0

    def labels(self, mentions: Iterable[MentionTruth], rng: np.random.Generator) -> list[Label]:
        """Label the mentioned words, in order of time."""
        labels = [label for mention in mentions if (label := self._label(mention, rng)) is not None]
        return sorted(labels, key=lambda label: (label.time, label.word))

    def _label(self, mention: MentionTruth, rng: np.random.Generator) -> Label | None:
        chance, jitter = rng.random(), float(rng.normal(0, 1))
        right, wrong, place, choice = rng.beta(*_RIGHT), rng.beta(*_WRONG), rng.random(), rng.random()
        mouthed = [self.signs[i] for i in mention.signs if self.signs[i].mouthed]
        if mouthed:
            if chance >= 1 - self.knob * (1 - _FOUND):
                return None
            time = mouthed[0].end + jitter * _JITTER * self.knob
            return self._at(mention, time, right)
        if chance >= self.knob * _FALSE_ALARMS:
            return None
        return self._at(mention, self._wrong_time(mention, place, choice), wrong)

    def _at(self, mention: MentionTruth, time: float, sureness: float) -> Label:
        inside = float(np.clip(time, 0.0, self.duration))
        return Label(mention.word, mention.video, round(inside, 3), round(0.5 + float(sureness) / 2, 4))

    def _wrong_time(self, mention: MentionTruth, place: float, choice: float) -> float:
        subtitle = self.subtitles[mention.subtitle]
        window = Segment(subtitle.start, subtitle.end).padded(_PADDING)
        if choice < _AT_A_SIGN:
            words = self.same_sign.get(mention.word, frozenset([mention.word]))
            near = slice(
                *(bisect_left(self.signs, time, key=lambda sign: sign.end) for time in (window.start, window.end))
            )
            ends = [sign.end for sign in self.signs[near] if sign.word not in words]
            if ends:
                return ends[int(place * len(ends))]
        return window.start + place * (min(window.end, self.duration) - window.start)


def is_right(label: Label, signs: Iterable[SignTruth], same_sign: Mapping[str, frozenset[str]]) -> bool:
    """Whether a label marks the end of a sign of its word, to within 0.4 s."""
    words = same_sign.get(label.word, frozenset([label.word]))
    return any(sign.word in words and abs(sign.end - label.time) <= 0.4 for sign in signs)


_SENTENCE_SECONDS = 3.0  # about how long a sentence is signed
_TURN = (4, 10)  # sentences between two rests: from, to (excluded)
_TEST_THEMES = 0.5  # of the sentences in test videos are about a test word
_PARTS = ("body", "left_hand", "right_hand", "face")
_BRIDGE = (4, 20)  # frames of rest between two turns: from, to (excluded)


@dataclass(frozen=True, slots=True)
class SigningFootage:
    """Landmarks of a performance, exact and as an estimator sees them through a camera."""

    exact: Landmarks
    observed: Landmarks
    signer: Signer


@dataclass(frozen=True, slots=True)
class PerformedVideo:
    """One continuous video, with its whole truth."""

    footage: SigningFootage
    subtitles: tuple[Subtitle, ...]  # in order of time
    signs: tuple[SignTruth, ...]
    mentions: tuple[MentionTruth, ...]
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence and the signs made of it, in a video."""

    sentence: Sentence
    glosses: tuple[Gloss, ...]
    segments: tuple[Segment, ...]  # one a gloss
    mouthed: tuple[bool, ...]  # one a gloss


def perform_exemplar(corpus: CorpusPlan, plan: ExemplarPlan) -> tuple[SigningFootage, ExemplarTruth]:
    """Perform one exemplar of the dictionary."""
    options = corpus.options
    entry = corpus.lexicon[plan.word]
    sign = entry.variants[plan.variant]
    rng = named_rng(options.seed, "exemplar", plan.id)
    motion, segment = isolated(sign, plan.signer, rng, word=plan.word, knobs=options.knobs)
    truth = ExemplarTruth(
        exemplar=plan.id,
        word=plan.word,
        start=segment.start,
        end=segment.end,
        variant=str(plan.variant + 1),
        signer=plan.signer.id,
        sign=str(sign),
        fingerspelled=entry.fingerspelled,
    )
    return _film(corpus, motion, plan.signer, rng), truth


def perform_video(corpus: CorpusPlan, plan: VideoPlan) -> PerformedVideo:
    """Perform one continuous video: sentences are written, signed, subtitled and searched for mouthings."""
    seed = corpus.options.seed
    motion, lines = _sign(corpus, plan)
    sentences = [line.sentence for line in lines]
    rng = named_rng(seed, "subtitles", plan.id)
    cues = cut_into_cues(sentences, rng)
    signing = [Segment(line.segments[0].start, line.segments[-1].end) for line in lines]
    subtitles = time_cues(cues, signing, rng, corpus.options.knobs.misalignment)
    together = sorted([*subtitles, *sound_captions(subtitles, rng)], key=lambda s: (s.start, s.end))
    places = {id(subtitle): index for index, subtitle in enumerate(together)}
    numbers = [places[id(subtitle)] for subtitle in subtitles]
    cue_of = {(m.sentence, m.mention): number for cue, number in zip(cues, numbers, strict=True) for m in cue.mentions}
    signs = _sign_truths(corpus, plan, lines, cue_of)
    mentions = _mention_truths(corpus, plan, lines, cues, numbers)
    spotter = SimulatedMouthingSpotter(
        together, signs, len(motion) / FPS, corpus.same_sign, corpus.options.knobs.mouthing
    )
    labels = spotter.labels(mentions, named_rng(seed, "labels", plan.id))
    footage = _film(corpus, motion, plan.signer, named_rng(seed, "estimator", plan.id))
    return PerformedVideo(footage, tuple(together), tuple(signs), tuple(mentions), tuple(labels))


def _film(corpus: CorpusPlan, motion: Motion, signer: Signer, rng: np.random.Generator) -> SigningFootage:
    exact = project(motion, signer.camera, corpus.options.size)
    knobs = corpus.options.knobs
    return SigningFootage(exact, observe(exact, rng, for_lips(knobs.noise, knobs.lips)), signer)


def _sign(corpus: CorpusPlan, plan: VideoPlan) -> tuple[Motion, list[_Line]]:
    """Sign sentences, in turns between rests, until the video is long enough."""
    script = named_rng(corpus.options.seed, "script", plan.id)
    motions: list[Motion] = []
    lines: list[_Line] = []
    frames = 0
    while frames < plan.seconds * FPS:
        left = (plan.seconds - frames / FPS) / _SENTENCE_SECONDS
        count = max(1, min(int(script.integers(*_TURN)), int(left)))
        sentences = [corpus.writer.write(script, _theme(corpus, plan, script)) for _ in range(count)]
        rng = named_rng(corpus.options.seed, "motion", plan.id, len(motions))
        motion, turn_lines = _turn(corpus, plan.signer, sentences, script, rng)
        if motions:
            bridge = _bridge(motions[-1], motion, int(script.integers(*_BRIDGE)))
            motions.append(bridge)
            frames += len(bridge)
        now = frames / FPS
        lines += [
            replace(line, segments=tuple(Segment(s.start + now, s.end + now) for s in line.segments))
            for line in turn_lines
        ]
        motions.append(motion)
        frames += len(motion)
    return _joined(motions), lines


def _theme(corpus: CorpusPlan, plan: VideoPlan, script: np.random.Generator) -> str | None:
    """In test videos, half of the sentences are about a word of the test vocabulary, so that all are tested."""
    words = corpus.splits.words.test
    if plan.split != "test" or not words or script.random() >= _TEST_THEMES:
        return None
    return words[int(script.integers(len(words)))]


def _turn(
    corpus: CorpusPlan,
    signer: Signer,
    sentences: Sequence[Sentence],
    script: np.random.Generator,
    rng: np.random.Generator,
) -> tuple[Motion, list[_Line]]:
    knobs, seed = corpus.options.knobs, corpus.options.seed
    glosses = [corpus.interpreter.sign(sentence, script) for sentence in sentences]
    flat = [gloss for line in glosses for gloss in line]
    mouthed = [
        not gloss.word.startswith("(") and bool(script.random() < mouthing_rate(gloss.word, seed, knobs.mouthing))
        for gloss in flat
    ]
    signs = [corpus.lexicon[g.word].variants[_variant(corpus, signer, g.word)] for g in flat]
    mouthings = [gloss.word if moved else None for gloss, moved in zip(flat, mouthed, strict=True)]
    motion, segments = continuous(signs, signer, rng, knobs, mouthings)
    lines: list[_Line] = []
    start = 0
    for sentence, line in zip(sentences, glosses, strict=True):
        part = slice(start, start + len(line))
        lines.append(_Line(sentence, tuple(line), tuple(segments[part]), tuple(mouthed[part])))
        start += len(line)
    return motion, lines


def _variant(corpus: CorpusPlan, signer: Signer, word: str) -> int:
    count = len(corpus.lexicon[word].variants)
    return signer.variant(word, count, strength=min(1.0, corpus.options.knobs.variants)) if count > 1 else 0


def _bridge(before: Motion, after: Motion, frames: int) -> Motion:
    """Rest from the end of one motion to the beginning of the next."""
    share = (np.arange(1, frames + 1) / (frames + 1)).astype(np.float32)
    smooth = (share**3 * (10 - 15 * share + 6 * share**2))[:, None, None]

    def between(start: NDArray[np.float32], end: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(start[-1:] + smooth * (end[:1] - start[-1:]), dtype=np.float32)

    parts: dict[str, Any] = {part: between(getattr(before, part), getattr(after, part)) for part in _PARTS}
    return replace(before, **parts)


def _joined(motions: Sequence[Motion]) -> Motion:
    parts: dict[str, Any] = {part: np.concatenate([getattr(m, part) for m in motions]) for part in _PARTS}
    return replace(motions[0], **parts)


def _sign_truths(
    corpus: CorpusPlan, plan: VideoPlan, lines: Sequence[_Line], subtitle_of: dict[tuple[int, int], int]
) -> list[SignTruth]:
    """Every sign; `subtitle_of` has the subtitle that shows a sentence's mention."""
    truths: list[SignTruth] = []
    for number, line in enumerate(lines):
        for gloss, segment, mouthed in zip(line.glosses, line.segments, line.mouthed, strict=True):
            entry = corpus.lexicon[gloss.word]
            variant = _variant(corpus, plan.signer, gloss.word)
            truths.append(
                SignTruth(
                    video=plan.id,
                    index=len(truths),
                    word=gloss.word,
                    start=segment.start,
                    end=segment.end,
                    variant=str(variant + 1),
                    signer=plan.signer.id,
                    exemplars=corpus.exemplars_of_sign.get(entry.variants[variant], ()),
                    listed=gloss.word in corpus.listed,
                    fingerspelled=entry.fingerspelled,
                    mouthed=mouthed,
                    subtitle=None if gloss.mention is None else subtitle_of.get((number, gloss.mention)),
                )
            )
    return truths


def _mention_truths(
    corpus: CorpusPlan, plan: VideoPlan, lines: Sequence[_Line], cues: Sequence[CueText], numbers: Sequence[int]
) -> list[MentionTruth]:
    first = np.cumsum([0, *(len(line.glosses) for line in lines)])
    truths: list[MentionTruth] = []
    for cue, number in zip(cues, numbers, strict=True):
        for place in cue.mentions:
            line = lines[place.sentence]
            for word in line.sentence.mentions[place.mention].words:
                if word not in corpus.listed:
                    continue
                glosses = [i for i, g in enumerate(line.glosses) if g.word == word and g.mention == place.mention]
                truths.append(
                    MentionTruth(
                        video=plan.id,
                        subtitle=number,
                        word=word,
                        first=place.start,
                        last=place.end,
                        signs=tuple(int(first[place.sentence]) + i for i in glosses),
                        signing_start=line.segments[0].start,
                        signing_end=line.segments[-1].end,
                    )
                )
    return truths
