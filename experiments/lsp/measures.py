"""Measures of a search in real continuous signing; each gives the rows of a Markdown table.

* Localisation: a word is known to be signed in a clip; its best location is right if its time lies in the annotated
  sign, give or take `TOLERANCE`. Chance is the share of the clip's time that would be right.
* Spotting: the clips of a part are joined into one video and all words are asked at once, as in a search of a whole
  programme: mAP over words; recall and precision at the default decision; false alarms per hour and word, promised
  (the rate that a spotting reports) and counted.

Everything goes through the functions that users run. All intervals are over words.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from experiments.lsp.corpora import SEED, exemplars_for, few_exemplars, join, programme
from experiments.markdown import head
from experiments.markdown import row as table_row
from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.run_options import AnnotateOptions
from signspot.corpus.corpus import Corpus
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError
from signspot.io.processes import WorkerPool
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import open_landmarks
from signspot.metrics.bootstrap import Interval, bootstrap_mean, bootstrap_ratio
from signspot.metrics.detection import Detection, TrueSign, detect
from signspot.metrics.ranking import Group
from signspot.models.checkpoints import load_encoder
from signspot.mouthing.lips import FPS as LIP_FPS
from signspot.mouthing.lips import read_lips
from signspot.mouthing.mouthing_spotter import LATE, MouthingSpotter, find_peaks
from signspot.mouthing.network import load_mouthing
from signspot.mouthing.visemes import query
from signspot.spotting.decision import WORD_RATE, best_words, decide
from signspot.spotting.spot_options import OVERLAP, SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.types import Exemplar, Segment, Spotting

TOLERANCE = 0.2  # seconds; two annotators put borders 67 ms apart in the median
LOWEST = 0.3  # score from which spottings enter the precision-recall curve
DECIDED = 0.6  # score below which no decision goes
RATES = (1.0, 5.0, 20.0, 60.0)  # false alarms per hour and word
CONFIRMED = (0, 1, 2, 5)  # signs of a word
PROMISED = (1.0, 10.0, 60.0)  # false alarms per hour and word
OTHER_WORDS = 8  # that are asked for on the lips in place of a word
Answers = Mapping[Group, Sequence[float]]  # word → whether its best location is right, clip by clip


@dataclass(frozen=True)
class Localisation:
    """How often the best location of a word known to be in a clip is right."""

    answers: Answers
    chance: float

    @property
    def right(self) -> Interval:
        """The mean over words."""
        return bootstrap_mean(self.answers)

    @property
    def questions(self) -> int:
        """Words of clips that were asked for."""
        return sum(map(len, self.answers.values()))


def measure_localisation(
    spotter: Spotter, corpus: Corpus, dictionary: Dictionary, options: SpotOptions | None = None
) -> Localisation:
    """Ask for every word of every clip; with options, the best location is where the score is highest by these."""
    gallery = spotter.gallery(dictionary)
    right: defaultdict[Group, list[float]] = defaultdict(list)
    chances: list[float] = []
    for name, video in corpus.videos.items():
        assert video.landmarks is not None
        track = spotter.track(video.landmarks)
        seconds = track.grid.frames / track.grid.fps
        if options is None:
            (located,) = spotter.best_locations(track, gallery, [Segment(0.0, seconds)])
            best = {word: spotting.time for word, spotting in located.items()}
        else:
            scores = spotter.word_scores(track, gallery, options)
            best = {word: float(scores.times[curve.argmax()]) for word, curve in scores.scores.items()}
        segments: defaultdict[str, list[Segment]] = defaultdict(list)
        for sign in corpus.signs(name):
            segments[sign.word].append(sign.segment.padded(TOLERANCE))
        for word in sorted(segments.keys() & best.keys()):
            right[word].append(float(any(best[word] in segment for segment in segments[word])))
            chances.append(min(1.0, sum(segment.duration for segment in segments[word]) / seconds))
    return Localisation(right, float(np.mean(chances)))


def difference(after: Answers, before: Answers) -> Interval:
    """How much more often the best location is right, paired by word."""
    return bootstrap_mean({word: [float(np.mean(after[word]) - np.mean(values))] for word, values in before.items()})


@dataclass(frozen=True)
class Spotted:
    """All words asked at once in a whole programme; intervals over words."""

    words: int  # looked for
    signs: int  # of these words
    mean_average_precision: Interval
    recall: Interval  # at the default decision, as precision
    precision: Interval
    counted: tuple[Interval | None, ...]  # false alarms per hour and word, for each of PROMISED; None: no rates


def measure_spotting(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> Spotted:
    """Search the joined clips for all words."""
    programme, truths = join_clips(corpus)
    gallery = spotter.gallery(dictionary)
    searched = spotter.search(programme, gallery, SpotOptions(threshold=LOWEST))
    spottings = [replace(spotting, video="") for spotting in searched.spottings]
    signs = [sign for sign in truths if sign.word in gallery.words]

    words, hours = sorted(gallery.words), programme.duration / 3600

    def detection(chosen: Sequence[Spotting]) -> Detection:
        return detect(chosen, signs, {"": programme.duration})

    def right_and_false(chosen: Sequence[Spotting]) -> NDArray[np.float64]:
        """(2, K) spottings of each word."""
        detected = detection(chosen)
        points = [detected.curve(word).at(0.0) for word in words]
        return np.array([[point.found for point in points], [point.false_alarms for point in points]], float)

    right, false = right_and_false([replace(spotting, video="") for spotting in searched.default_spottings])
    true = np.array([sum(sign.word == word for sign in signs) for word in words], float)
    rated = [(spotting, rate) for spotting in spottings if (rate := spotting.false_alarms_per_hour) is not None]
    counted = []
    for promised in PROMISED:
        _, alarms = right_and_false([spotting for spotting, rate in rated if rate <= promised])
        counted.append(bootstrap_mean({word: [count / hours] for word, count in zip(words, alarms, strict=True)}))
    precisions: dict[Group, list[float]] = {
        word: [value] for word, value in detection(spottings).average_precision().items()
    }
    return Spotted(
        len(gallery.words),
        len(signs),
        bootstrap_mean(precisions),
        bootstrap_ratio(right, true),
        bootstrap_ratio(right, right + false),
        tuple(counted) if rated else (None,) * len(PROMISED),
    )


def measure_decisions(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> Iterator[str]:
    """Recall and precision of all words at several rates, with and without competition, and of each confidence.

    *Twice* counts the signs in which two or more spottings of their word lie. *Every maximum* is the same search
    without the rule that a curve has to fall between two spottings.
    """
    programme, truths = join_clips(corpus)
    gallery = spotter.gallery(dictionary)
    signs = [sign for sign in truths if sign.word in gallery.words]
    low = SpotOptions(threshold=DECIDED)
    searched = spotter.search(programme, gallery, low)
    with patch("signspot.spotting.peaks._PROMINENCE", 0.0):
        every = spotter.search(programme, gallery, low)

    def below(rate: float) -> list[Spotting]:
        return [s for s in searched.spottings if (s.false_alarms_per_hour or 0.0) <= rate]

    def row(name: str, spottings: Sequence[Spotting]) -> str:
        point = detect([replace(s, video="") for s in spottings], signs, {"": programme.duration}).curve().at(0.0)
        times = defaultdict(list)
        for spotting in spottings:
            times[spotting.word].append(spotting.time)
        hits = [sum(time in sign.segment.padded(TOLERANCE) for time in times[sign.word]) for sign in signs]
        shares = f"{point.recall:.3f}", f"{point.precision:.3f}"
        per_hour = point.false_alarms / (len(gallery.words) * programme.duration / 3600)
        twice = f"{sum(hit > 1 for hit in hits)} of {sum(hit > 0 for hit in hits)}"
        return table_row(spotter.encoder.name, name, len(spottings), *shares, f"{per_hour:.2f}", twice)

    yield head("encoder", "spottings", "number", "recall", "precision", "false alarms/h/word", "twice, of signs found")
    for rate in RATES:
        yield row(f"at most {rate:g} false alarms/h/word", below(rate))
        yield row(f"at most {rate:g}, words compete", best_words(below(rate), OVERLAP))
    least = spotter.encoder.contract.threshold
    for kind, result in (("", searched), (", every maximum", every)):
        yield row(f"score from {least:.2f}{kind}", result.decided(least))
        yield row(f"default{kind}", result.default_spottings)
    apart = decide(below(WORD_RATE), SpotOptions(compete=False), len(gallery.words), programme.duration)
    for kind, spottings in (("", searched.default_spottings), ("each word alone, ", apart)):
        for confidence in ("sure", "likely", "check"):
            yield row(f"{kind}{confidence}", [s for s in spottings if s.confidence == confidence])


def measure_confirmed(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> Iterator[str]:
    """Localisation in later clips, with signs of a word in earlier clips as further exemplars.

    Confirmed ones are the word's true signs. Others are what is found in the clips where the word is known to be: the
    surest of the best locations, and nobody looks whether they are right.
    """
    most = max(CONFIRMED)
    signed: defaultdict[str, dict[str, TrueSign]] = defaultdict(dict)  # the first sign of a word in each of its clips
    for name, video in corpus.videos.items():
        for sign in corpus.signs(name):
            signed[sign.word].setdefault(name, TrueSign(sign.word, str(video.landmarks), sign.segment))
    words = [word for word in sorted(signed) if word in dictionary and len(signed[word]) > most]
    few = few_exemplars(dictionary.select(words), 3, SEED)
    gallery = spotter.gallery(few)
    confirmed: dict[str, list[Spotting]] = {}
    spottings_by_word: dict[str, list[Spotting]] = {}
    for word in words:
        earlier = list(signed[word])[:most]
        confirmed[word] = [
            Spotting(word, true.video, true.segment.middle, true.segment.start, true.segment.end, 1.0)
            for true in (signed[word][name] for name in earlier)
        ]
        best = (_best_location(spotter, gallery.of_words([word]), word, corpus, name) for name in earlier)
        spottings_by_word[word] = sorted(best, key=lambda spotting: -spotting.score)
    yield head("encoder", "further exemplars", "of them right", "words", "best location right", "difference")
    without: Answers = {}
    for kind, further in (("confirmed", confirmed), ("found, unconfirmed", spottings_by_word)):
        for count in CONFIRMED if further is confirmed else CONFIRMED[1:]:
            added = [spotting for word in words for spotting in further[word][:count]]
            exemplars: list[Exemplar] = [exemplar for word in words for exemplar in few[word]]
            richer = spotter.gallery([*exemplars, *(spotting.as_exemplar() for spotting in added)])
            answers: defaultdict[Group, list[float]] = defaultdict(list)
            for word in words:
                for name in list(signed[word])[most:]:
                    best_location = _best_location(spotter, richer.of_words([word]), word, corpus, name)
                    answers[word].append(float(_is_right(best_location, corpus, name)))
            without = without or answers
            names = {str(video.landmarks): name for name, video in corpus.videos.items()}
            flags = [_is_right(spotting, corpus, names[spotting.video]) for spotting in added]
            share = f"{np.mean(flags):.2f}" if flags else "–"
            gain = difference(answers, without) if count else "–"
            name = f"{count} {kind}" if count else "none"
            yield table_row(spotter.encoder.name, name, share, len(words), bootstrap_mean(answers), gain)


def _best_location(spotter: Spotter, gallery: Gallery, word: str, corpus: Corpus, name: str) -> Spotting:
    """The best location of a word in a clip."""
    landmarks = corpus.videos[name].landmarks
    assert landmarks is not None
    track = spotter.track(landmarks)
    (best,) = spotter.best_locations(track, gallery, [Segment(0.0, track.grid.frames / track.grid.fps)])
    return replace(best[word], video=str(landmarks))


def _is_right(spotting: Spotting, corpus: Corpus, name: str) -> bool:
    """Whether a spotting lies in a sign of its word."""
    segments = [sign.segment.padded(TOLERANCE) for sign in corpus.signs(name) if sign.word == spotting.word]
    return any(spotting.time in segment for segment in segments)


def join_clips(corpus: Corpus) -> tuple[Landmarks, list[TrueSign]]:
    """All clips one after the other as one video, and its signs."""
    clips, truths = [], []
    start = 0.0
    for name, video in corpus.videos.items():
        assert video.landmarks is not None
        clips.append(open_landmarks(video.landmarks))
        truths += [
            TrueSign(sign.word, "", Segment(sign.start + start, sign.end + start)) for sign in corpus.signs(name)
        ]
        start += clips[-1].duration
    return join(clips), truths


def measure(
    corpus: Corpus, dictionary: Dictionary, spotters: Sequence[Spotter], counts: Sequence[int]
) -> Iterator[str]:
    """Rows of a Markdown table, one per encoder and number of exemplars.

    Args:
        corpus: the part that is searched.
        dictionary: the exemplars.
        spotters: that are measured.
        counts: of exemplars of a word, at most.
    """
    heads = ["encoder", "exemplars", "words", "signs", "best location right", "chance", "mAP", "recall", "precision"]
    heads += [f"false alarms/h/word, promised {rate:g}" for rate in PROMISED]
    yield head(*heads)
    for spotter in spotters:
        for count in counts:
            few = few_exemplars(dictionary, count, SEED)
            located = measure_localisation(spotter, corpus, few)
            spotted = measure_spotting(spotter, corpus, few)
            cells = (
                *(spotter.encoder.name, count, spotted.words, spotted.signs),
                *(f"{located.right} of {located.questions}", f"{located.chance:.2f}"),
                *(spotted.mean_average_precision, spotted.recall, spotted.precision),
                *(
                    "–" if rate is None else f"{rate.value:.1f} [{rate.low:.1f}, {rate.high:.1f}]"
                    for rate in spotted.counted
                ),
            )
            yield table_row(*cells)


def measure_annotation(corpus: Corpus, encoders: Sequence[str]) -> Iterator[str]:
    """Labels D of all subtitles, and the share of them that is right, of any score and by default; rows of a table.

    Each clip is a video of its own, or all are one programme with a subtitle a clip: only there can a sign be found
    again near other subtitles with its word. Permuted, every clip has the subtitle of another one.
    """
    dictionary, (whole, signs) = exemplars_for(corpus), join_clips(corpus)
    signs = [sign for sign in signs if sign.word in dictionary]
    yield head("encoder", "clips", "least score", "labels", "right", "share of signs labelled")
    for encoder in encoders:
        default = load_encoder(encoder).contract.threshold
        for name, apart, permuted in (
            ("apart", True, False),
            ("one programme", False, False),
            ("one programme, permuted", False, True),
        ):
            labels = list(found_labels(corpus, dictionary, encoder, apart=apart, permuted=permuted))
            for least in (0.0, default):
                chosen = [label for label in labels if label.score >= least]
                detection = detect(chosen, signs, {"": whole.duration})
                points = [detection.curve(word).at(0.0) for word in sorted({spotting.word for spotting in chosen})]
                right = np.array([point.found for point in points], float)
                false = np.array([point.false_alarms for point in points], float)
                share = right.sum() / len(signs)
                cells = (
                    encoder,
                    name,
                    f"{least:.2f}",
                    len(chosen),
                    bootstrap_ratio(right, right + false),
                    f"{share:.2f}",
                )
                yield table_row(*cells)


def found_labels(
    corpus: Corpus, dictionary: Dictionary, encoder: str, *, apart: bool, permuted: bool
) -> Iterator[Spotting]:
    """The best candidate of each subtitle and word, of any score, at its time in the clips one after the other."""
    with TemporaryDirectory() as empty, TemporaryDirectory() as out:
        # Annotation reads subtitles; labels and truth are not its business.
        footage = replace(corpus, folder=Path(empty)) if apart else programme(corpus, Path(empty), permuted=permuted)
        job = AnnotationJob(footage, dictionary, Path(out), encoder=encoder, threshold=0.0)
        report = annotate(job, AnnotateOptions(language="es", padding=0.0, keep=0.0), WorkerPool(1))
        start, starts = 0.0, dict.fromkeys(footage.videos, 0.0)
        for name, seconds in corpus_seconds(corpus).items() if apart else ():
            starts[name], start = start, start + seconds
        for candidate in report.spottings:
            spotting, later = candidate.as_spotting(), starts[candidate.video]
            times = {name: getattr(spotting, name) + later for name in ("time", "start", "end")}
            yield replace(spotting, video="", **times)


def corpus_seconds(corpus: Corpus) -> dict[str, float]:
    """The length of each clip."""
    return {name: open_landmarks(video.landmarks).duration for name, video in corpus.videos.items() if video.landmarks}


def measure_mouthing(corpus: Corpus, model: str) -> Iterator[str]:
    """Localisation of words on the lips, against chance and against other words at the same places.

    A word is known to be signed in a clip: its best peak is right if it lies in the sign, or at most `LATE` after it.
    """
    spotter = MouthingSpotter(load_mouthing(model))
    signed = {name: [s for s in corpus.signs(name) if _is_askable(s.word)] for name in corpus.videos}
    vocabulary = sorted({sign.word for signs in signed.values() for sign in signs})
    rng = np.random.default_rng(SEED)
    right: defaultdict[Group, list[float]] = defaultdict(list)
    shuffled: defaultdict[Group, list[float]] = defaultdict(list)
    gains: defaultdict[Group, list[float]] = defaultdict(list)
    chances: list[float] = []
    for name, video in corpus.videos.items():
        assert video.landmarks is not None
        lips = read_lips(video.landmarks)
        for word in sorted({sign.word for sign in signed[name]}):
            others = [other for other in vocabulary if other not in {sign.word for sign in signed[name]}]
            compared_words = [word, *(others[int(n)] for n in rng.permutation(len(others))[:OTHER_WORDS])]
            segments = [Segment(s.start, s.end + LATE) for s in signed[name] if s.word == word]
            best = [find_peaks(curve, lips, 0.0)[0].time for curve in spotter.curves(lips, compared_words, "es")]
            hits = [float(any(time in segment for segment in segments)) for time in best]
            right[word].append(hits[0])
            shuffled[word].append(float(np.mean(hits[1:])))
            gains[word].append(hits[0] - float(np.mean(hits[1:])))
            chances.append(min(1.0, sum(segment.duration for segment in segments) / (len(lips) / LIP_FPS)))
    yield head("model", "words", "questions", "best peak right", "other words there", "difference", "chance")
    cells = (model, len(right), len(chances), *map(bootstrap_mean, (right, shuffled, gains)), f"{np.mean(chances):.3f}")
    yield table_row(*cells)


def _is_askable(word: str) -> bool:
    try:
        query(word, "es")
    except OptionsError:
        return False
    return True
