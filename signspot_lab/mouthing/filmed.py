"""The mouthing spotter on filmed faces: `python -m signspot_lab.mouthing.filmed` prints what MediaPipe costs.

Signers of the world mouth words before a camera that stands close. A first table says how lips on film follow the exact
ones, shape by shape. Then the same clips are read three times: from exact
landmarks, from landmarks with the world's faults of an estimator, and from the video through MediaPipe; and are asked
the same questions.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from signspot.errors import LandmarksError, OptionsError
from signspot.files import write_beside
from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.checkpoints import MouthingModel, load_mouthing, shipped
from signspot.mouthing.lips import CHANNELS, FPS, SHAPES, LipTrack, follow_lips
from signspot.mouthing.reading import read_lips
from signspot.mouthing.spotter import MouthingSpotter
from signspot.timeline import Segment
from signspot_lab.mouthing.clips import LipClip, Vocabulary, read_vocabulary
from signspot_lab.mouthing.evaluation import MouthingScore, score
from signspot_lab.mouthing.tables import score_table
from signspot_lab.mouthing.trials import WINDOW, answer, draw_trials
from signspot_world.body.motion import talking
from signspot_world.body.mouthing import MouthedWord, MouthHabits, habits_of, say
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.estimator import observe
from signspot_world.camera.faults import for_lips
from signspot_world.camera.projection import project
from signspot_world.corpus_writer import WORLD_VERSION
from signspot_world.knobs import named_rng
from signspot_world.render.appearance import make_appearance
from signspot_world.render.render import render_video

SIZE = (640, 480)  # pixels
_CLOSE = 0.8  # metres from the upper to the lower edge of the image: head and shoulders
_FACE = (0.0, -0.06)  # where the camera aims: somewhat below the chin
_MOUTHED = 0.6  # share of the signs


@dataclass(frozen=True, slots=True)
class FilmedClip:
    """One signer's lips, as three ways of looking give them."""

    exact: LipClip
    estimated: LipClip
    filmed: LipClip  # nothing is seen in it where MediaPipe finds no face


def film_clips(count: int, seconds: float, seed: int, folder: Path, lips: float = 1.0) -> list[FilmedClip]:
    """Let signers mouth words before a camera, and look.

    Args:
        count: how many clips, each of another signer.
        seconds: of each; at least as long as a question's window.
        seed: of all chance.
        folder: of the videos and of what MediaPipe sees in them; what is there already is not made again.
        lips: how hard to read, as the world's knob of that name.
    """
    if seconds < WINDOW:
        raise OptionsError(f"a clip lasts at least {WINDOW:g} s, as long as a question's window; got {seconds:g}")
    vocabulary = read_vocabulary(unseen=True)
    folder.mkdir(parents=True, exist_ok=True)
    return [_film(number, seconds, seed, lips, vocabulary, folder) for number in range(count)]


def _film(number: int, seconds: float, seed: int, lips: float, vocabulary: Vocabulary, folder: Path) -> FilmedClip:
    rng = named_rng(seed, "filmed", number)
    signer = make_signer(f"filmed {number}", seed, Role.TEST)
    words = _talk(seconds, habits_of(signer, lips), vocabulary, rng)
    motion = talking(words, seconds, signer, rng, lips)
    marks = project(motion, replace(signer.camera, height=_CLOSE, aim=_FACE), SIZE)
    path = folder / f"{seed}-{number}-{seconds:g}-{lips:g}-{WORLD_VERSION}.mp4"
    if not path.is_file():
        with write_beside(path) as beside:
            render_video(marks, make_appearance(seed + number), beside, SIZE, FPS)
    ordered = tuple(sorted(words, key=lambda word: word.segment.end))
    seen = observe(marks, rng, for_lips(1.0, lips))
    tracks = (follow_lips([marks]), follow_lips([seen]), _read(path, marks, folder))
    exact, estimated, filmed = (LipClip(track, ordered, signer.id) for track in tracks)
    return FilmedClip(exact, estimated, filmed)


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


def _read(video: Path, marks: Landmarks, cache: Path) -> LipTrack:
    """The lips that MediaPipe sees; where it finds no face, as long a track in which nothing is seen."""
    try:
        return read_lips(video, cache)
    except LandmarksError:
        return LipTrack(np.zeros((len(marks), CHANNELS), np.float32))


def measure_filmed(
    models: Sequence[MouthingModel], clips: Sequence[FilmedClip], seed: int, each: int = 12
) -> list[MouthingScore]:
    """Ask each spotter the same questions of all three ways of looking."""
    looks = {
        "exact landmarks": [clip.exact for clip in clips],
        "landmarks with the world's faults": [clip.estimated for clip in clips],
        "video through MediaPipe": [clip.filmed for clip in clips],
    }
    trials = draw_trials(looks["exact landmarks"], read_vocabulary(unseen=True), seed, each=each)
    return [
        row
        for model in models
        for name, seen in looks.items()
        for row in score((model.name, name), trials, answer(MouthingSpotter(model), seen, trials))
    ]


def shape_table(clips: Sequence[FilmedClip]) -> str:
    """Correlation and slope of each filmed lip shape against the exact one, over all frames, in Markdown."""
    lines = ["| shape | correlation | slope | exact, spread | filmed, spread |", "|---|---|---|---|---|"]
    pairs = [(clip.exact.lips.values, clip.filmed.lips.values) for clip in clips]
    exact, filmed = (np.concatenate([pair[side][: min(map(len, pair))] for pair in pairs]) for side in (0, 1))
    seen = (exact[:, -2] > 0) & (filmed[:, -2] > 0)
    for number, name in enumerate(SHAPES):
        x, y = exact[seen, number], filmed[seen, number]
        if len(x) < 2 or not x.std() or not y.std():
            continue
        alike = float(np.corrcoef(x, y)[0, 1])
        numbers = (alike, alike * float(y.std() / x.std()), float(x.std()), float(y.std()))
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(f'{value:.2f}' for value in numbers)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print precision and recall of each way of looking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each clip")
    parser.add_argument("--questions", type=int, default=12, help="to each clip")
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--out", type=Path, required=True, help="folder of videos and landmarks, made once")
    parser.add_argument("--model", action="append", help="name or file of a mouthing spotter; repeatable; all shipped")
    chosen = parser.parse_args(arguments)
    clips = film_clips(chosen.clips, chosen.seconds, chosen.seed, chosen.out)
    models = [load_mouthing(name) for name in chosen.model or shipped()]
    sys.stdout.write(shape_table(clips))
    sys.stdout.write("\n" + score_table(measure_filmed(models, clips, chosen.seed, chosen.questions)))


if __name__ == "__main__":
    main()
