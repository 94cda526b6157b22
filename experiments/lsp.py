"""Real continuous signing: Peruvian Sign Language on television, one interpreter searched with signs of another.

    python -m experiments.lsp make DATA OUT             # three corpus folders in the product's own form
    python -m experiments.lsp measure OUT/ira_alegria --part test --encoder landmark --encoder warping --exemplars 1 3
    python -m experiments.lsp decide OUT/ira_alegria --encoder landmark --exemplars 3
    python -m experiments.lsp confirmed OUT/ira_alegria --encoder landmark --encoder warping
    python -m experiments.lsp adapt OUT/ira_alegria --encoder landmark --labels 50 --permuted
    python -m experiments.lsp annotate OUT/ira_alegria --part test --encoder landmark
    python -m experiments.lsp mouth OUT/ira_alegria --part test

`DATA` holds the landmarks of the two interpreters and of a small dictionary (not part of this project). `ira_alegria`
is searched with signs cut out of `proteinas` and of the dictionary, `proteinas` with those of `ira_alegria` and the
dictionary, `same_signer` is `ira_alegria` searched with signs of the same interpreter in the other part. Clips are
split by time: the first three fifths are for development (`dev`, which is also the part that is learned from), the rest
for tests. Everything goes through the functions that users run.

* Localisation: a word is known to be signed in a clip; its best location is right if its time lies in the annotated
  sign, give or take `TOLERANCE`. Chance is the share of the clip's time that would be right.
* Spotting: the clips of a part are joined into one video and all words are asked at once, as in a search of a whole
  programme: mAP over words; recall and precision at the default decision; false alarms per hour and word, promised
  (the rate that a spotting reports) and counted. All intervals are over words.
"""

import argparse
import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.run_options import AnnotateOptions
from signspot.corpus.corpus import Corpus, Layout, open_corpus, write_json
from signspot.corpus.truth import SignTruth, write_records
from signspot.dictionary.dictionary import Dictionary
from signspot.errors import OptionsError
from signspot.io.processes import WorkerPool
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks, concatenate
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.metrics.bootstrap import Interval, bootstrap_mean, bootstrap_ratio
from signspot.metrics.detection import Detection, TrueSign, detect
from signspot.metrics.ranking import Group
from signspot.mouthing.lips import FPS as LIP_FPS
from signspot.mouthing.lips import read_lips
from signspot.mouthing.model import FOR_VIDEO, load_mouthing
from signspot.mouthing.spotter import LATE, MouthingSpotter, find_peaks
from signspot.mouthing.visemes import query
from signspot.spotting.decision import best_words
from signspot.spotting.options import OVERLAP, SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.training.adaptation import adapt
from signspot.training.adaptation_data import AdaptOptions, read_footage
from signspot.training.adapters import AdapterChoice, SegmentBatches, fold, train_adapters
from signspot.types import Label, LabelSource, Segment, Spotting

TOLERANCE = 0.2  # seconds; two annotators put borders 67 ms apart in the median
DEV_SHARE = 0.6  # of the clips, the first ones
NO_WORDS = {"muletilla", "seña gestual", "nn", "descanso", "silencio"}
FPS = 29.97  # of the signs of `proteinas`
LEAST_FRAMES = 6  # of an exemplar
LEAST_HANDS = 0.5  # share of an exemplar's frames that show a hand
LOWEST = 0.3  # score from which spottings enter the precision-recall curve
RATES = (1.0, 5.0, 20.0, 60.0)  # false alarms per hour and word
CONFIRMED = (0, 1, 2, 5)  # signs of a word
PROMISED = (1.0, 10.0, 60.0)  # false alarms per hour and word
OTHER_WORDS = 8  # that are asked for on the lips in place of a word
SEED = 0  # of drawn exemplars, labels and permutations


@dataclass(frozen=True)
class Sign:
    """An annotated sign of a clip."""

    word: str
    segment: Segment


@dataclass(frozen=True)
class SignCutOut:
    """A sign that may be an exemplar."""

    gloss: str
    source: str  # the clip or the collection that it is cut out of
    landmarks: Landmarks


@dataclass(frozen=True)
class Clip:
    """A sentence: its landmarks and its signs."""

    name: str
    landmarks: Landmarks
    signs: tuple[Sign, ...]


def word_of(gloss: str) -> str | None:
    """The word of a gloss without accents and case, with its ñ; None for fillers and finger-spelling."""
    marked = unicodedata.normalize("NFD", gloss.lower()).replace("n\u0303", "ñ")
    plain = "".join(letter for letter in marked if not unicodedata.combining(letter)).strip()
    spelled = all(len(part) <= 1 for part in plain.split("-"))
    return None if not plain or plain in NO_WORDS or spelled else plain


def read_alegria(data: Path) -> list[Clip]:
    """The clips of the left-handed interpreter, with all landmarks."""
    packed = np.load(data / "ira_alegria.npz", allow_pickle=False)
    truth = json.loads((data / "ira_alegria.truth.json").read_text(encoding="utf-8"))
    parts = {name: packed[name] for name in ("time", "pose", "left_hand", "right_hand", "face", "start", "clip")}
    width, height = (int(side) for side in packed["size"])
    clips = []
    for number, name in enumerate(parts["clip"]):
        frames = slice(int(parts["start"][number]), int(parts["start"][number + 1]))
        landmarks = Landmarks(
            parts["pose"][frames],
            parts["left_hand"][frames],
            parts["right_hand"][frames],
            parts["face"][frames],
            parts["time"][frames],
            (width, height),
        )
        signs = _signs((gloss, start, end) for gloss, start, end, cut in truth[str(name)]["signs"] if not cut)
        clips.append(Clip(f"alegria-{int(name):03d}", landmarks, signs))
    return clips


def read_proteinas(data: Path) -> tuple[list[Clip], list[SignCutOut]]:
    """The near-continuous runs of the right-handed interpreter, and all his signs one by one; without depth or face."""
    packed = np.load(data / "proteinas_instances.npz", allow_pickle=False)
    parts = {name: packed[name] for name in packed.files}
    instances = []
    by_start: dict[float, int] = {}
    for number, gloss in enumerate(parts["gloss"]):
        frames = slice(int(parts["start"][number]), int(parts["start"][number + 1]))
        arrays = [_with_depth(parts[name][frames]) for name in ("pose", "left_hand", "right_hand")]
        visibility = np.isfinite(arrays[0][..., :1]).astype(np.float32)
        body = np.concatenate([arrays[0], visibility], axis=-1)
        instances.append(SignCutOut(str(gloss), "proteinas", _faceless(body, arrays[1], arrays[2], FPS)))
        by_start[round(float(parts["start_s"][number]), 3)] = number
    runs = json.loads((data / "proteinas_runs.truth.json").read_text(encoding="utf-8"))
    clips = []
    for name, run in runs.items():
        numbers = [_nearest(by_start, sign["src_start_s"]) for sign in run["signs"]]
        signs = _signs((sign["gloss"], sign["start_s"], sign["end_s"]) for sign in run["signs"])
        clips.append(Clip(name, _join([instances[number].landmarks for number in numbers]), signs))
    return clips, instances


def read_dictionary(data: Path) -> list[SignCutOut]:
    """The isolated signs of the dictionary, cut out by the linguists' timings; without faces."""
    truth = json.loads((data / "dictionary" / "truth.json").read_text(encoding="utf-8"))
    signs = []
    for name, entry in sorted(truth.items()):
        if entry["kind"] == "isolated":
            packed = np.load(data / "dictionary" / f"{name}.npz", allow_pickle=False)
            whole = _faceless(packed["pose"], packed["left_hand"], packed["right_hand"], float(packed["fps"]))
            for sign in entry["signs"]:
                part = whole.between(Segment(sign["start_s"], sign["end_s"]))
                signs.append(SignCutOut(sign["gloss"], "pucp", part))
    return signs


def make_corpus(folder: Path, clips: Sequence[Clip], exemplars: Sequence[SignCutOut]) -> Corpus:
    """Write clips, subtitles of their glosses, truth, splits, and a dictionary of the words that both sides have."""
    layout = Layout(folder)
    signed = {sign.word for clip in clips for sign in clip.signs}
    counts: Counter[tuple[str, str]] = Counter()
    for exemplar in exemplars:
        word = word_of(exemplar.gloss)
        if word in signed and _is_usable(exemplar.landmarks):
            counts[word, exemplar.source] += 1
            name = f"{exemplar.source}-{counts[word, exemplar.source]}.pose"
            write_landmarks(exemplar.landmarks, folder / "dictionary" / word.replace("/", " ") / name)
    for clip in clips:
        write_landmarks(clip.landmarks, layout.video(clip.name, ".pose"))
        glosses = " ".join(sign.word for sign in clip.signs)
        text = f"WEBVTT\n\n00:00:00.000 --> {_clock(clip.landmarks.duration)}\n{glosses}\n"
        layout.video(clip.name, ".vtt").write_text(text, encoding="utf-8")
        truth = [_truth(clip, number, sign) for number, sign in enumerate(clip.signs)]
        write_records(truth, layout.truth("signs", clip.name))
    names = [clip.name for clip in clips]
    border = round(DEV_SHARE * len(names))
    write_json({"train": names[:border], "test": names[border:]}, layout.splits)
    return open_corpus(folder)


def part_of(corpus: Corpus, part: str) -> Corpus:
    """The clips of one part."""
    videos = corpus.in_split({"dev": "train", "test": "test"}[part])
    return replace(corpus, videos={video.id: video for video in videos})


def exemplars_for(corpus: Corpus) -> Dictionary:
    """The corpus's dictionary without signs that are cut out of its own clips."""
    whole = corpus.dictionary()
    kept = [e for word in whole for e in whole[word] if e.path and e.path.stem.rpartition("-")[0] not in corpus.videos]
    return whole.with_exemplars(kept)


def few_exemplars(dictionary: Dictionary, most: int, seed: int) -> Dictionary:
    """The dictionary with at most so many exemplars of each word, drawn at random."""
    rng = np.random.default_rng(seed)
    drawn = []
    for word in sorted(dictionary):
        exemplars = dictionary[word]
        drawn += [exemplars[int(n)] for n in sorted(rng.permutation(len(exemplars))[:most])]
    return dictionary.with_exemplars(drawn)


@dataclass(frozen=True)
class Localisation:
    """How often the best location of a word known to be in a clip is right."""

    right: Interval  # over words
    chance: float
    questions: int


def measure_localisation(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> Localisation:
    """Ask for every word of every clip."""
    gallery = spotter.gallery(dictionary)
    right: defaultdict[Group, list[float]] = defaultdict(list)
    chances: list[float] = []
    for name, video in corpus.videos.items():
        assert video.landmarks is not None
        track = spotter.track(video.landmarks)
        seconds = track.grid.frames / track.grid.fps
        (best,) = spotter.best_locations(track, gallery, [Segment(0.0, seconds)])
        segments: defaultdict[str, list[Segment]] = defaultdict(list)
        for sign in corpus.signs(name):
            segments[sign.word].append(sign.segment.padded(TOLERANCE))
        for word in sorted(segments.keys() & best.keys()):
            right[word].append(float(any(best[word].time in segment for segment in segments[word])))
            chances.append(min(1.0, sum(segment.duration for segment in segments[word]) / seconds))
    return Localisation(bootstrap_mean(right), float(np.mean(chances)), len(chances))


@dataclass(frozen=True)
class Spotted:
    """All words asked at once in a whole programme; intervals over words."""

    words: int  # looked for
    signs: int  # of these words
    mean_average_precision: Interval
    recall: Interval  # at the default decision, as precision
    precision: Interval
    counted: tuple[float | None, ...]  # false alarms per hour and word, for each of PROMISED; None: no rates


def measure_spotting(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> Spotted:
    """Search the joined clips for all words."""
    programme, truths = join_clips(corpus)
    gallery = spotter.gallery(dictionary)
    searched = spotter.search(programme, gallery, SpotOptions(threshold=LOWEST))
    spottings = [replace(spotting, video="") for spotting in searched.spottings]
    signs = [sign for sign in truths if sign.word in gallery.words]

    def detection(kept: Sequence[Spotting]) -> Detection:
        return detect(kept, signs, {"": programme.duration})

    decided = detection([replace(spotting, video="") for spotting in searched.default_spottings])
    points = [decided.curve(word).at(0.0) for word in sorted(gallery.words)]
    right = np.array([point.found for point in points], float)
    false = np.array([point.false_alarms for point in points], float)
    true = np.array([sum(sign.word == word for sign in signs) for word in sorted(gallery.words)], float)
    rated = [(spotting, rate) for spotting in spottings if (rate := spotting.false_alarms_per_hour) is not None]
    word_hours = len(gallery.words) * programme.duration / 3600
    counted = [
        detection([spotting for spotting, rate in rated if rate <= promised]).curve().at(0.0).false_alarms / word_hours
        for promised in PROMISED
    ]
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
    """Recall and precision of all words at several rates, with and without competition, and of each confidence."""
    programme, truths = join_clips(corpus)
    gallery = spotter.gallery(dictionary)
    signs = [sign for sign in truths if sign.word in gallery.words]
    searched = spotter.search(programme, gallery, SpotOptions(threshold=LOWEST))

    def row(name: str, spottings: Sequence[Spotting]) -> str:
        point = detect([replace(s, video="") for s in spottings], signs, {"": programme.duration}).curve().at(0.0)
        numbers = f"{len(spottings)} | {point.recall:.3f} | {point.precision:.3f}"
        per_hour = point.false_alarms / (len(gallery.words) * programme.duration / 3600)
        return f"| {spotter.encoder.name} | {name} | {numbers} | {per_hour:.2f} |"

    yield "| encoder | spottings | number | recall | precision | false alarms/h/word |"
    yield "|---" * 6 + "|"
    for rate in RATES:
        below = [s for s in searched.spottings if (s.false_alarms_per_hour or 0.0) <= rate]
        yield row(f"at most {rate:g} false alarms/h/word", below)
        yield row(f"at most {rate:g}, words compete", best_words(below, OVERLAP))
    yield row("default", searched.default_spottings)
    for confidence in ("sure", "likely", "check"):
        yield row(confidence, [s for s in searched.default_spottings if s.confidence == confidence])


def measure_confirmed(spotter: Spotter, corpus: Corpus, dictionary: Dictionary) -> Iterator[str]:
    """Localisation in later clips, where signs of a word in earlier clips were confirmed; intervals over words."""
    signed: defaultdict[str, dict[str, TrueSign]] = defaultdict(dict)  # the first sign of a word in each of its clips
    for name, video in corpus.videos.items():
        for sign in corpus.signs(name):
            signed[sign.word].setdefault(name, TrueSign(sign.word, str(video.landmarks), sign.segment))
    words = [word for word in sorted(signed) if word in dictionary and len(signed[word]) > max(CONFIRMED)]
    few = few_exemplars(dictionary.select(words), 3, SEED)
    yield "| encoder | confirmed signs | words | best location right |"
    yield "|---|---|---|---|"
    for count in CONFIRMED:
        exemplars = [exemplar for word in words for exemplar in few[word]]
        for true in (true for word in words for true in list(signed[word].values())[:count]):
            span = true.segment
            exemplars.append(Spotting(true.word, true.video, span.middle, span.start, span.end, 1.0).as_exemplar())
        gallery, right = spotter.gallery(exemplars), defaultdict[Group, list[float]](list)
        for word in words:
            for name in list(signed[word])[max(CONFIRMED) :]:
                landmarks = corpus.videos[name].landmarks
                assert landmarks is not None
                track = spotter.track(landmarks)
                whole = Segment(0.0, track.grid.frames / track.grid.fps)
                (best,) = spotter.best_locations(track, gallery.of_words([word]), [whole])
                own = [sign.segment.padded(TOLERANCE) for sign in corpus.signs(name) if sign.word == word]
                right[word].append(float(any(best[word].time in segment for segment in own)))
        yield f"| {spotter.encoder.name} | {count} | {len(words)} | {bootstrap_mean(right)} |"


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
    return _join(clips), truths


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
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for spotter in spotters:
        for count in counts:
            few = few_exemplars(dictionary, count, SEED)
            located = measure_localisation(spotter, corpus, few)
            spotted = measure_spotting(spotter, corpus, few)
            cells = (
                *(spotter.encoder.name, count, spotted.words, spotted.signs),
                *(f"{located.right} of {located.questions}", f"{located.chance:.2f}"),
                *(spotted.mean_average_precision, spotted.recall, spotted.precision),
                *("–" if rate is None else f"{rate:.1f}" for rate in spotted.counted),
            )
            yield f"| {' | '.join(map(str, cells))} |"


@dataclass(frozen=True)
class AdaptationRun:
    """How an encoder is adapted to the training part."""

    labels: int = 0  # of signs, drawn from the truth
    permuted: bool = False  # subtitles change places among clips: a control
    options: AdaptOptions = field(default_factory=AdaptOptions)


def adapt_to(corpus: Corpus, spotter: Spotter, run: AdaptationRun, folder: Path) -> tuple[Spotter, str]:
    """Adapt an encoder to clips and their subtitles; also where cross-validation shows no gain.

    Args:
        corpus: the training part.
        spotter: whose encoder is adapted.
        run: by what.
        folder: where the state and the labels are written.

    Returns:
        A spotter with the adapted encoder, and what cross-validation says.
    """
    rng = np.random.default_rng(SEED)
    videos = list(corpus.videos.values())
    order = rng.permutation(len(videos)) if run.permuted else np.arange(len(videos))
    texts = [videos[int(number)].subtitles for number in order]
    mixed = {video.id: replace(video, subtitles=text) for video, text in zip(videos, texts, strict=True)}
    dictionary = exemplars_for(corpus)
    signs = [sign for name in corpus.videos for sign in corpus.signs(name) if sign.word in dictionary]
    drawn = [signs[int(number)] for number in sorted(rng.permutation(len(signs))[: run.labels])]
    labels = [
        Label(sign.word, sign.video, sign.segment.middle, 1.0, LabelSource.VERIFIED, sign.start, sign.end)
        for sign in drawn
    ]
    write_records(labels, folder / "labels" / "drawn.jsonl")
    footage = Corpus(folder, mixed, {})
    result = adapt(spotter, footage, dictionary, folder, run.options)
    gain = result.deciding("alignment")
    says = f"{gain.measure} {gain.before:.3f}, adapted {gain.after:.3f}, difference {gain.difference}"
    encoder = result.encoder
    if encoder is None:
        embedded = read_footage(spotter, footage, dictionary, run.options).whole()
        adapters = train_adapters(spotter.encoder, SegmentBatches(embedded, run.options), folder / "forced")
        choice = AdapterChoice(codes=True, embedding=False)
        encoder = fold(spotter.encoder, adapters, choice, embedded.gallery, "adapted", {})
    offered = "offered" if result.encoder is not None else "not offered"
    return Spotter(encoder, spotter.cache), f"{offered}; cross-validated: {says}; {result.labels} labels"


def measure_annotation(corpus: Corpus, encoder: str, out: Path) -> Iterator[str]:
    """Labels D around subtitles, and the share of them that is right, from several scores on; rows of a table."""
    dictionary = exemplars_for(corpus)
    with TemporaryDirectory() as empty:  # annotation reads subtitles; labels and truth are not its business
        bare = replace(corpus, folder=Path(empty))
        job = AnnotationJob(bare, dictionary, out, encoder=encoder)
        report = annotate(job, AnnotateOptions(language="es"), WorkerPool(1))
    seconds = sum(corpus_seconds(corpus).values())
    yield "| encoder | least score | labels | per hour | right | share of signs labelled |"
    yield "|---|---|---|---|---|---|"
    signs = [sign for name in corpus.videos for sign in corpus.signs(name) if sign.word in dictionary]
    for least in (report.threshold, *(score for score in (0.7, 0.8, 0.9) if score > report.threshold)):
        chosen = [candidate.as_spotting() for candidate in report.spottings if candidate.score >= least]
        found = detect(chosen, signs, corpus_seconds(corpus))
        points = [found.curve(word).at(0.0) for word in sorted({spotting.word for spotting in chosen})]
        right = np.array([point.found for point in points], float)
        false = np.array([point.false_alarms for point in points], float)
        correct = bootstrap_ratio(right, right + false)
        per_hour = len(chosen) / seconds * 3600
        share = right.sum() / len(signs)
        yield f"| {encoder} | {least:.2f} | {len(chosen)} | {per_hour:.0f} | {correct} | {share:.2f} |"


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
            asked = [word, *(others[int(n)] for n in rng.permutation(len(others))[:OTHER_WORDS])]
            places = [Segment(s.start, s.end + LATE) for s in signed[name] if s.word == word]
            best = [find_peaks(curve, lips, 0.0)[0].time for curve in spotter.curves(lips, asked, "es")]
            hits = [float(any(time in place for place in places)) for time in best]
            right[word].append(hits[0])
            shuffled[word].append(float(np.mean(hits[1:])))
            gains[word].append(hits[0] - float(np.mean(hits[1:])))
            chances.append(min(1.0, sum(place.duration for place in places) / (len(lips) / LIP_FPS)))
    yield "| model | words | questions | best peak right | other words there | difference | chance |"
    yield "|---|---|---|---|---|---|---|"
    cells = (model, len(right), len(chances), *map(bootstrap_mean, (right, shuffled, gains)), f"{np.mean(chances):.3f}")
    yield f"| {' | '.join(map(str, cells))} |"


def _is_askable(word: str) -> bool:
    try:
        query(word, "es")
    except OptionsError:
        return False
    return True


def _signs(rows: Iterator[tuple[str, float, float]]) -> tuple[Sign, ...]:
    words = ((word_of(gloss), start, end) for gloss, start, end in rows)
    return tuple(Sign(word, Segment(start, end)) for word, start, end in words if word is not None)


def _with_depth(points: NDArray[np.float16]) -> NDArray[np.float32]:
    """(T, P, 2) points as (T, P, 3): depth is not known, and 0 stands for it."""
    return np.concatenate([points, np.where(np.isfinite(points[..., :1]), 0, np.nan)], axis=-1).astype(np.float32)


def _faceless(body: NDArray[Any], left: NDArray[Any], right: NDArray[Any], fps: float) -> Landmarks:
    face = np.full((len(body), len(FACE_POINTS), 3), np.nan, np.float32)
    return Landmarks(body, left, right, face, np.arange(len(body)) / fps, (1000, 1000))


def _join(clips: Sequence[Landmarks]) -> Landmarks:
    """Landmarks that follow each other without a gap, from 0 on."""
    starts = np.cumsum([0.0, *(clip.duration for clip in clips)])
    return concatenate(
        [replace(c, times=c.times - c.times[0] + start) for c, start in zip(clips, starts[:-1], strict=True)]
    )


def _nearest(by_start: dict[float, int], start: float) -> int:
    return by_start[min(by_start, key=lambda known: abs(known - start))]


def _is_usable(landmarks: Landmarks) -> bool:
    hands = np.isfinite(landmarks.left_hand[:, 0, 0]) | np.isfinite(landmarks.right_hand[:, 0, 0])
    return len(landmarks) >= LEAST_FRAMES and float(hands.mean()) >= LEAST_HANDS


def _truth(clip: Clip, number: int, sign: Sign) -> SignTruth:
    signer = clip.name.partition("-")[0]
    span = sign.segment
    return SignTruth(clip.name, number, sign.word, span.start, span.end, "", signer, (), True, False, False, 0)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"00:{int(minutes):02d}:{rest:06.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the corpora, or measure encoders on one of them."""
    parser = argparse.ArgumentParser(prog="python -m experiments.lsp", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("data", type=Path)
    making.add_argument("out", type=Path)
    for name in ("measure", "decide", "confirmed", "adapt", "annotate", "mouth"):
        command = commands.add_parser(name)
        command.add_argument("corpus", type=Path)
        if name != "adapt":
            command.add_argument("--part", choices=("dev", "test"), default="dev")
        if name != "mouth":
            command.add_argument("--encoder", action="append", required=True)
        if name in ("measure", "decide", "adapt"):
            command.add_argument("--exemplars", type=int, nargs="+", default=[1, 3])
    commands.choices["adapt"].add_argument("--labels", type=int, default=0)
    commands.choices["adapt"].add_argument("--permuted", action="store_true")
    commands.choices["adapt"].add_argument("--steps", type=int, default=AdaptOptions().steps)
    commands.choices["mouth"].add_argument("--model", default=FOR_VIDEO)
    given = parser.parse_args(arguments)
    if given.command == "make":
        make(given.data, given.out)
        return
    for line in _lines(given):
        print(line, flush=True)


def _lines(given: argparse.Namespace) -> Iterator[str]:
    """The output of a measurement."""
    corpus = open_corpus(given.corpus)
    if given.command == "adapt":
        run = AdaptationRun(given.labels, given.permuted, AdaptOptions(steps=given.steps))
        test = part_of(corpus, "test")
        for name in given.encoder:
            with TemporaryDirectory() as folder:
                before = load(name)
                after, says = adapt_to(part_of(corpus, "dev"), before, run, Path(folder) / "adapted")
                yield says
                yield from measure(test, exemplars_for(test), [before, after], given.exemplars)
        return
    part = part_of(corpus, given.part)
    if given.command == "measure":
        yield from measure(part, exemplars_for(part), [load(name) for name in given.encoder], given.exemplars)
    elif given.command == "decide":
        for spotter in map(load, given.encoder):
            for count in given.exemplars:
                yield from measure_decisions(spotter, part, few_exemplars(exemplars_for(part), count, SEED))
    elif given.command == "confirmed":
        for spotter in map(load, given.encoder):
            yield from measure_confirmed(spotter, part, exemplars_for(part))
    elif given.command == "annotate":
        for name in given.encoder:
            with TemporaryDirectory() as out:
                yield from measure_annotation(part, name, Path(out))
    else:
        yield from measure_mouthing(part, given.model)


def make(data: Path, out: Path) -> None:
    """Make the corpora."""
    alegria, dictionary = read_alegria(data), read_dictionary(data)
    proteinas, instances = read_proteinas(data)
    own = [
        SignCutOut(sign.word, clip.name, clip.landmarks.between(sign.segment))
        for clip in alegria
        for sign in clip.signs
    ]
    for name, clips, exemplars in (
        ("ira_alegria", alegria, [*instances, *dictionary]),
        ("proteinas", proteinas, [*own, *dictionary]),
        ("same_signer", alegria, own),
    ):
        corpus = make_corpus(out / name, clips, exemplars)
        print(f"{out / name}: {len(corpus.videos)} clips, {len(corpus.dictionary())} words")


if __name__ == "__main__":
    main()
