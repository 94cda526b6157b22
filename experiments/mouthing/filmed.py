"""The mouthing spotter on filmed faces: `python -m experiments.mouthing.filmed` prints what MediaPipe costs.

Synthetic signers mouth words before a camera that stands close. First tables say how lips on film follow the exact
ones, shape by shape. Then the same clips are read several times: from exact landmarks, from landmarks with synthetic
faults of an estimator, and from the video through MediaPipe, by its network of faces that looks at lips a second
time, as users' videos are read, and by its usual one; and are asked the same questions.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.mouthing.clips import LipClip, Vocabulary, read_vocabulary
from experiments.mouthing.evaluation import MouthingScore, score
from experiments.mouthing.real_faces import PIECE, as_text, describe_lips
from experiments.mouthing.tables import score_table
from experiments.mouthing.trials import WINDOW, Trial, answer, draw_trials
from signspot.errors import LandmarksError, OptionsError
from signspot.io.files import atomic_write
from signspot.landmarks.estimators import estimating_with
from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.lips import CHANNELS, FPS, SHAPES, LipTrack, follow_lips, read_lips
from signspot.mouthing.model import MouthingModel, load_mouthing, shipped
from signspot.mouthing.spotter import LEAST, MouthingSpotter
from signspot.types import Segment
from signspot_synthetic.body.motion import talking
from signspot_synthetic.body.mouthing import MouthedWord, MouthHabits, habits_of, say
from signspot_synthetic.body.signers import Role, Signer, make_signer
from signspot_synthetic.camera.estimator import for_lips, observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.corpus_writer import GENERATOR_VERSION
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

SIZE = (640, 480)  # pixels
_CLOSE = 0.8  # metres from the upper to the lower edge of the image: head and shoulders
_FACE = (0.0, -0.06)  # where the camera aims: somewhat below the chin
_MOUTHED = 0.6  # share of the signs
BLAMED = {
    "openings": ("opening", "opening_beside", "height"),
    "widths": ("width", "inner_width"),
    "thickness": ("upper_lip", "lower_lip"),
    "places, corners, chin, slant": ("upper_place", "lower_place", "corners", "chin", "slant"),
    "depth": ("protrusion", "depth"),
    "thickness and depth": ("upper_lip", "lower_lip", "protrusion", "depth"),
}


@dataclass(frozen=True, slots=True)
class FilmedClip:
    """One signer's lips, as several ways of looking give them."""

    exact: LipClip
    estimated: LipClip
    filmed: LipClip  # nothing is seen in it where MediaPipe finds no face
    usual: LipClip | None = None  # the same by the estimator that other verbs use; None: nobody looked


def film_clips(
    count: int,
    seconds: float,
    seed: int,
    folder: Path,
    lips: float = 1.0,
    *,
    usual: bool = False,
    role: Role = Role.TEST,
) -> list[FilmedClip]:
    """Let signers mouth words before a camera, and look.

    Args:
        count: how many clips, each of another signer.
        seconds: of each; at least as long as a question's window.
        seed: of all chance.
        folder: of the videos and of what MediaPipe sees in them; what is there already is not made again.
        lips: how hard to read, as the generator's knob of that name.
        usual: look with the usual estimator, too.
        role: people to train on mouth words that may be trained on, all others such as never are.
    """
    if seconds < WINDOW:
        raise OptionsError(f"a clip lasts at least {WINDOW:g} s, as long as a question's window; got {seconds:g}")
    vocabulary = read_vocabulary(unseen=role is not Role.TRAIN)
    folder.mkdir(parents=True, exist_ok=True)
    ways = (None, "mediapipe") if usual else (None,)
    people = [make_signer(f"filmed {number}", seed, role) for number in range(count)]
    return [
        _film(number, person, seconds, seed, (lips, vocabulary), folder, ways) for number, person in enumerate(people)
    ]


def _film(
    number: int,
    signer: Signer,
    seconds: float,
    seed: int,
    said: tuple[float, Vocabulary],
    folder: Path,
    estimators: Sequence[str | None],
) -> FilmedClip:
    lips, vocabulary = said
    rng = named_rng(seed, "filmed", number)
    words = _talk(seconds, habits_of(signer, lips), vocabulary, rng)
    motion = talking(words, seconds, signer, rng, lips)
    marks = project(motion, replace(signer.camera, height=_CLOSE, aim=_FACE), SIZE)
    path = folder / f"{seed}-{number}-{seconds:g}-{lips:g}-{GENERATOR_VERSION}.mp4"
    if not path.is_file():
        with atomic_write(path) as temporary:
            render_video(marks, make_appearance(seed + number), temporary, SIZE, FPS)
    ordered = tuple(sorted(words, key=lambda word: word.segment.end))
    seen = observe(marks, rng, for_lips(1.0, lips))
    tracks = [follow_lips([marks]), follow_lips([seen]), *(_read(path, marks, folder, name) for name in estimators)]
    return FilmedClip(*(LipClip(track, ordered, signer.id) for track in tracks))


def _talk(seconds: float, habits: MouthHabits, vocabulary: Vocabulary, rng: np.random.Generator) -> list[MouthedWord]:
    """Words on some of the signs that follow each other."""
    words, now = [], 0.5
    while now < seconds - 1.0:
        lasts = float(np.clip(np.exp(rng.normal(-0.95, 0.4)), 0.16, 1.3))
        if rng.random() < _MOUTHED:
            word = vocabulary.words[int(rng.integers(len(vocabulary.words)))]
            words.append(say(word, Segment(now, now + lasts), habits, rng))
        now += lasts + float(rng.uniform(0.06, 0.45))
    return words


def _read(video: Path, marks: Landmarks, cache: Path, estimator: str | None) -> LipTrack:
    """The lips that an estimator sees; where it finds no face, as long a track in which nothing is seen."""
    try:
        with estimating_with(estimator) if estimator else nullcontext():
            return read_lips(video, cache)
    except LandmarksError:
        return LipTrack(np.zeros((len(marks), CHANNELS), np.float32))


def measure_filmed(
    models: Sequence[MouthingModel], clips: Sequence[FilmedClip], seed: int, each: int = 12
) -> list[MouthingScore]:
    """Ask each spotter the same questions of all ways of looking."""
    looks = {
        "exact landmarks": [clip.exact for clip in clips],
        "landmarks with synthetic estimator errors": [clip.estimated for clip in clips],
        "video through MediaPipe": [clip.filmed for clip in clips],
        "video through MediaPipe's usual face": [clip.usual for clip in clips if clip.usual],
    }
    trials = ask_once(looks["exact landmarks"], seed, each)
    return [
        row
        for model in models
        for name, seen in looks.items()
        if seen
        for row in score((model.name, name), trials, answer(MouthingSpotter(model), seen, trials))
    ]


def ask_once(clips: Sequence[LipClip], seed: int, each: int) -> list[Trial]:
    """Up to so many questions to each clip, none twice: a clip as long as a window has few words to ask for."""
    return list(dict.fromkeys(draw_trials(clips, read_vocabulary(unseen=True), seed, each=each)))


def shape_table(pairs: Sequence[tuple[LipClip, LipClip]], title: str = "shape") -> str:
    """Correlation and slope of each filmed lip shape against the exact one, over all frames, in Markdown.

    Args:
        pairs: exact and filmed lips of each clip.
        title: of the first column.
    """
    lines = [f"| {title} | correlation | slope | exact, spread | filmed, spread |", "|---|---|---|---|---|"]
    values = [(exact.lips.values, filmed.lips.values) for exact, filmed in pairs]
    exact, filmed = (np.concatenate([pair[side][: min(map(len, pair))] for pair in values]) for side in (0, 1))
    seen = (exact[:, -2] > 0) & (filmed[:, -2] > 0)
    for number, name in enumerate(SHAPES):
        x, y = exact[seen, number], filmed[seen, number]
        if len(x) < 2 or not x.std() or not y.std():
            continue
        alike = float(np.corrcoef(x, y)[0, 1])
        numbers = (alike, alike * float(y.std() / x.std()), float(x.std()), float(y.std()))
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(f'{value:.2f}' for value in numbers)} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class BlameRow:
    """The cost of some shapes: mouthed words that are found, at any probability and at that of a label."""

    spotter: str
    shapes: str
    exact_here: tuple[int, int]  # on film, but with these shapes as they really were: at the right place, labels
    filmed_here: tuple[int, int]  # in exact landmarks, but with these shapes as they are on film


def blame_shapes(model: MouthingModel, clips: Sequence[FilmedClip], seed: int, each: int = 12) -> list[BlameRow]:
    """Exchange shapes between film and truth, one group after the other: which of them does a spotter miss on film?"""
    trials = ask_once([clip.exact for clip in clips], seed, each)
    spotter = MouthingSpotter(model)

    def ask(exact: Sequence[int]) -> tuple[int, int]:
        """Right answers where these shapes are exact and the others filmed."""
        answers = answer(spotter, [_exchanged(clip, exact) for clip in clips], trials)
        return int(answers.right.sum()), int((answers.right & (answers.sure >= LEAST)).sum())

    every = range(len(SHAPES))
    rows = [BlameRow(model.name, "none", ask(()), ask(every))]
    for name, shapes in BLAMED.items():
        here = [SHAPES.index(shape) for shape in shapes]
        rows.append(BlameRow(model.name, name, ask(here), ask([shape for shape in every if shape not in here])))
    return rows


def _exchanged(clip: FilmedClip, exact: Sequence[int]) -> LipClip:
    """The film's lips with some shapes as they really were."""
    truth, values = clip.exact.lips.values, clip.filmed.lips.values.copy()
    count = min(len(truth), len(values))
    seen = values[:count, -2:-1] > 0
    values[:count, list(exact)] = np.where(seen, truth[:count, list(exact)], 0.0)
    return replace(clip.filmed, lips=replace(clip.filmed.lips, values=values))


def blame_table(rows: Sequence[BlameRow]) -> str:
    """Shapes that are missed, in Markdown: right places, and labels from 0.5 on."""
    lines = ["| spotter | shapes | film, these exact | exact, these from film |", "|---|---|---|---|"]
    for row in rows:
        cells = (f"{places} places, {labels} labels" for places, labels in (row.exact_here, row.filmed_here))
        lines.append(f"| {row.spotter} | {row.shapes} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _pieces(clips: Sequence[LipClip]) -> list[LipTrack]:
    """Clips cut to what an isolated sign lasts, so that their ranges compare with those of real faces."""
    frames = round(PIECE * FPS)
    return [
        LipTrack(clip.lips.values[first : first + frames])
        for clip in clips
        for first in range(0, len(clip.lips) - frames + 1, frames)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print precision and recall of each way of looking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each clip")
    parser.add_argument("--questions", type=int, default=12, help="to each clip")
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--out", type=Path, required=True, help="folder of videos and landmarks, made once")
    parser.add_argument("--model", action="append", help="name or file of a mouthing spotter; repeatable; all shipped")
    parser.add_argument("--usual", action="store_true", help="look with MediaPipe's usual network of faces, too")
    parser.add_argument("--blame", action="store_true", help="say which shapes cost how many words, and nothing else")
    chosen = parser.parse_args(arguments)
    clips = film_clips(chosen.clips, chosen.seconds, chosen.seed, chosen.out, usual=chosen.usual)
    models = [load_mouthing(name) for name in chosen.model or shipped()]
    if chosen.blame:
        blamed = [row for model in models for row in blame_shapes(model, clips, chosen.seed, chosen.questions)]
        sys.stdout.write(blame_table(blamed))
        return
    looks = {"synthetic, exact": [clip.exact for clip in clips], "synthetic, filmed": [clip.filmed for clip in clips]}
    sys.stdout.write(as_text([describe_lips(name, _pieces(seen)) for name, seen in looks.items()]) + "\n")
    sys.stdout.write(shape_table([(clip.exact, clip.filmed) for clip in clips], "shape, as lips are read"))
    if chosen.usual:
        pairs = [(clip.exact, clip.usual) for clip in clips if clip.usual]
        sys.stdout.write("\n" + shape_table(pairs, "shape, MediaPipe's usual face"))
    sys.stdout.write("\n" + score_table(measure_filmed(models, clips, chosen.seed, chosen.questions)))


if __name__ == "__main__":
    main()
