"""Real continuous signing: Peruvian Sign Language on television, one interpreter searched with signs of another.

    python -m experiments.lsp make DATA OUT             # two corpus folders in the product's own form
    python -m experiments.lsp measure OUT/ira_alegria --part test --encoder landmark --encoder warping --exemplars 1 3

`DATA` holds the landmarks of the two interpreters (not part of this project). `ira_alegria` is searched with signs cut
out of `proteinas`, and the other way round. Clips are split by time: the first three fifths are for development
(`dev`), the rest for tests. Everything is measured through the functions that users run.

* Localisation: a word is known to be signed in a clip; its best location is right if its time lies in the annotated
  sign, give or take `TOLERANCE`. Chance is the share of the clip's time that would be right.
* mAP over words of all locations in all clips, and recall and precision at the default decision when all words are
  asked at once.
"""

import argparse
import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, Layout, open_corpus, write_json
from signspot.corpus.truth import SignTruth, write_records
from signspot.dictionary.dictionary import Dictionary
from signspot.evaluation.corpus import CorpusScores, evaluate_corpus
from signspot.landmarks.landmarks import FACE_POINTS, Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot.metrics.bootstrap import Interval, bootstrap_mean
from signspot.metrics.ranking import Group
from signspot.spotting.options import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot.types import Segment

TOLERANCE = 0.2  # seconds; two annotators put borders 67 ms apart in the median
DEV_SHARE = 0.6  # of the clips, the first ones
NO_WORDS = {"muletilla", "sena gestual", "nn", "descanso", "silencio"}
FPS = 29.97  # of the signs of `proteinas`
LEAST_FRAMES = 6  # of an exemplar
LEAST_HANDS = 0.5  # share of an exemplar's frames that show a hand


@dataclass(frozen=True)
class Sign:
    """An annotated sign of a clip."""

    word: str
    segment: Segment


@dataclass(frozen=True)
class Clip:
    """A sentence: its landmarks and its signs."""

    name: str
    landmarks: Landmarks
    signs: tuple[Sign, ...]


def word_of(gloss: str) -> str | None:
    """The word of a gloss without accents and case; None for fillers and finger-spelling."""
    plain = unicodedata.normalize("NFKD", gloss).encode("ascii", "ignore").decode().strip().lower()
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


def read_proteinas(data: Path) -> tuple[list[Clip], list[tuple[str, Landmarks]]]:
    """The near-continuous runs of the right-handed interpreter, and all his signs one by one; without depth or face."""
    packed = np.load(data / "proteinas_instances.npz", allow_pickle=False)
    parts = {name: packed[name] for name in packed.files}
    instances = []
    by_start: dict[float, int] = {}
    for number, gloss in enumerate(parts["gloss"]):
        frames = slice(int(parts["start"][number]), int(parts["start"][number + 1]))
        arrays = [_with_depth(parts[name][frames]) for name in ("pose", "left_hand", "right_hand")]
        instances.append((str(gloss), _flat_landmarks(*arrays)))
        by_start[round(float(parts["start_s"][number]), 3)] = number
    runs = json.loads((data / "proteinas_runs.truth.json").read_text(encoding="utf-8"))
    clips = []
    for name, run in runs.items():
        numbers = [_nearest(by_start, sign["src_start_s"]) for sign in run["signs"]]
        arrays = [
            np.concatenate([_parts(instances[n][1])[part] for n in numbers]) for part in range(3)
        ]  # body, left hand, right hand
        signs = _signs((sign["gloss"], sign["start_s"], sign["end_s"]) for sign in run["signs"])
        clips.append(Clip(name, _flat_landmarks(*arrays), signs))
    return clips, instances


def make_corpus(folder: Path, clips: Sequence[Clip], exemplars: Sequence[tuple[str, Landmarks]], signer: str) -> Corpus:
    """Write clips, subtitles of their glosses, truth, splits, and a dictionary of the words that both sides have."""
    layout = Layout(folder)
    signed = {sign.word for clip in clips for sign in clip.signs}
    counts: defaultdict[str, int] = defaultdict(int)
    for gloss, landmarks in exemplars:
        word = word_of(gloss)
        if word in signed and _is_usable(landmarks):
            counts[word] += 1
            write_landmarks(landmarks, folder / "dictionary" / word.replace("/", " ") / f"{signer}-{counts[word]}.pose")
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


def measure(folder: Path, part: str, encoders: Sequence[str], counts: Sequence[int], seed: int) -> Iterator[str]:
    """Rows of a Markdown table, one per encoder and number of exemplars."""
    corpus = open_corpus(folder)
    if part != "all":
        videos = corpus.in_split({"dev": "train", "test": "test"}[part])
        corpus = replace(corpus, videos={video.id: replace(video, split="test") for video in videos})
    whole = corpus.dictionary()
    yield "| encoder | exemplars | words | best location right | chance | mAP | recall | precision | signs |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in encoders:
        spotter = load(name)
        for count in counts:
            dictionary = few_exemplars(whole, count, seed)
            located = measure_localisation(spotter, corpus, dictionary)
            scores = evaluate_corpus(spotter, corpus, list(dictionary), SpotOptions(), dictionary=dictionary)
            yield _row(name, count, located, scores)


def _row(name: str, count: int, located: Localisation, scores: CorpusScores) -> str:
    assert scores.spotting is not None
    spotting = scores.spotting
    cells = (
        name,
        count,
        scores.words,
        f"{located.right} of {located.questions}",
        f"{located.chance:.2f}",
        spotting.mean_average_precision,
        spotting.recall,
        spotting.precision,
        spotting.signs,
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _signs(rows: Iterator[tuple[str, float, float]]) -> tuple[Sign, ...]:
    words = ((word_of(gloss), start, end) for gloss, start, end in rows)
    return tuple(Sign(word, Segment(start, end)) for word, start, end in words if word is not None)


def _with_depth(points: NDArray[np.float16]) -> NDArray[np.float32]:
    """(T, P, 2) points as (T, P, 3): depth is not known, and 0 stands for it."""
    return np.concatenate([points, np.where(np.isfinite(points[..., :1]), 0, np.nan)], axis=-1).astype(np.float32)


def _flat_landmarks(body: NDArray[np.float32], left: NDArray[np.float32], right: NDArray[np.float32]) -> Landmarks:
    frames = len(body)
    visibility = np.isfinite(body[..., :1]).astype(np.float32)
    face = np.full((frames, len(FACE_POINTS), 3), np.nan, np.float32)
    return Landmarks(
        np.concatenate([body, visibility], axis=-1), left, right, face, np.arange(frames) / FPS, (1000, 1000)
    )


def _parts(landmarks: Landmarks) -> tuple[NDArray[np.float32], ...]:
    return landmarks.body[..., :3], landmarks.left_hand, landmarks.right_hand


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
    measuring = commands.add_parser("measure")
    measuring.add_argument("corpus", type=Path)
    measuring.add_argument("--part", choices=("dev", "test", "all"), default="dev")
    measuring.add_argument("--encoder", action="append", required=True)
    measuring.add_argument("--exemplars", type=int, nargs="+", default=[1, 3])
    measuring.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.command == "measure":
        for row in measure(given.corpus, given.part, given.encoder, given.exemplars, given.seed):
            print(row, flush=True)
        return
    alegria = read_alegria(given.data)
    proteinas, instances = read_proteinas(given.data)
    own = [(sign.word, clip.landmarks.between(sign.segment)) for clip in alegria for sign in clip.signs]
    for name, clips, exemplars, signer in (
        ("ira_alegria", alegria, instances, "proteinas"),
        ("proteinas", proteinas, own, "alegria"),
    ):
        corpus = make_corpus(given.out / name, clips, exemplars, signer)
        print(f"{given.out / name}: {len(corpus.videos)} clips, {len(corpus.dictionary())} words")


if __name__ == "__main__":
    main()
