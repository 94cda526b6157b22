"""The mouthing spotter on video: `python -m experiments.mouthing_video --out FOLDER` prints what MediaPipe costs.

Synthetic signers mouth words before a camera that stands close. The first table says how lips in video follow the
exact ones, shape by shape. Then the same clips are read three times and are asked the same questions: from exact
landmarks, from landmarks with synthetic faults of an estimator, and from the video through MediaPipe, as users' videos
are read.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.markdown import head, row
from signspot.corpus.truth import MouthingTruth
from signspot.errors import LandmarksError, OptionsError
from signspot.evaluation.mouthing import MouthingScore, score, score_table
from signspot.io.files import atomic_write
from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.lips import CHANNELS, FPS, SHAPES, LipTrack, follow_lips, read_lips
from signspot.mouthing.mouthing_spotter import MouthingSpotter
from signspot.mouthing.network import MouthingModel, load_mouthing, shipped
from signspot.mouthing.trials import WINDOW, LipClip, Trial, Vocabulary, answer, draw_trials, read_vocabulary
from signspot.types import Segment
from signspot_synthetic.body.motion import talking
from signspot_synthetic.body.mouthing import MouthedWord, MouthHabits, habits_of, say
from signspot_synthetic.body.signers import Role, Signer, make_signer
from signspot_synthetic.corpus_writer import GENERATOR_VERSION
from signspot_synthetic.observation import for_lips, observe, project
from signspot_synthetic.random_streams import named_rng
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

SIZE = (640, 480)  # pixels
_CLOSE = 0.8  # metres from the upper to the lower edge of the image: head and shoulders
_FACE = (0.0, -0.06)  # where the camera aims: somewhat below the chin
_MOUTHED = 0.6  # share of the signs


@dataclass(frozen=True, slots=True)
class VideoClip:
    """One signer's lips, as three ways of reading give them."""

    exact: LipClip
    estimated: LipClip  # with synthetic faults of an estimator
    video: LipClip  # through MediaPipe; nothing is seen in it where no face is found


def make_video_clips(count: int, seconds: float, seed: int, folder: Path, lips: float = 1.0) -> list[VideoClip]:
    """Let signers mouth words that are never trained on before a camera, and read their lips.

    Args:
        count: how many clips, each of another signer.
        seconds: of each; at least as long as a question's window.
        seed: of all chance.
        folder: of the videos and of MediaPipe's landmarks; what is there already is not made again.
        lips: how hard to read, as the generator's knob of that name.
    """
    if seconds < WINDOW:
        raise OptionsError(f"a clip lasts at least {WINDOW:g} s, as long as a question's window; got {seconds:g}")
    folder.mkdir(parents=True, exist_ok=True)
    people = [make_signer(f"filmed {number}", seed, Role.TEST) for number in range(count)]
    return [_make(number, person, seconds, seed, lips, folder) for number, person in enumerate(people)]


def _make(number: int, signer: Signer, seconds: float, seed: int, lips: float, folder: Path) -> VideoClip:
    rng = named_rng(seed, "filmed", number)
    words = _talk(seconds, habits_of(signer, lips), read_vocabulary(unseen=True), rng)
    motion = talking(words, seconds, signer, rng, lips)
    marks = project(motion, replace(signer.camera, height=_CLOSE, aim=_FACE), SIZE)
    path = folder / f"{seed}-{number}-{seconds:g}-{lips:g}-{GENERATOR_VERSION}.mp4"
    if not path.is_file():
        with atomic_write(path) as temporary:
            render_video(marks, make_appearance(seed + number), temporary, SIZE, FPS)
    observed = observe(marks, rng, for_lips(1.0, lips))
    ordered = sorted(words, key=lambda word: word.segment.end)
    truth = tuple(
        MouthingTruth(path.stem, word.word, word.segment.start, word.segment.end, word.phonemes, word.share)
        for word in ordered
    )
    return VideoClip(
        *(LipClip(track, truth) for track in (follow_lips([marks]), follow_lips([observed]), _read(path, marks)))
    )


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


def _read(video: Path, marks: Landmarks) -> LipTrack:
    """The lips that MediaPipe sees; where it finds no face, as long a track in which nothing is seen."""
    try:
        return read_lips(video, video.parent)
    except LandmarksError:
        return LipTrack(np.zeros((len(marks), CHANNELS), np.float32))


def measure_video(
    models: Sequence[MouthingModel], clips: Sequence[VideoClip], seed: int, questions: int = 12
) -> list[MouthingScore]:
    """Ask each spotter the same questions of all ways of reading."""
    ways = {
        "exact landmarks": [clip.exact for clip in clips],
        "landmarks with synthetic estimator errors": [clip.estimated for clip in clips],
        "video through MediaPipe": [clip.video for clip in clips],
    }
    trials = ask_once(ways["exact landmarks"], seed, questions)
    return [
        row
        for model in models
        for name, lips in ways.items()
        for row in score((model.name, name), trials, answer(MouthingSpotter(model), lips, trials))
    ]


def ask_once(clips: Sequence[LipClip], seed: int, questions: int) -> list[Trial]:
    """Up to so many questions to each clip, none twice: a clip as long as a window has few words to ask for."""
    return list(dict.fromkeys(draw_trials(clips, read_vocabulary(unseen=True), seed, per_clip=questions)))


def shape_table(pairs: Sequence[tuple[LipClip, LipClip]], title: str = "shape") -> str:
    """Correlation and slope of each filmed lip shape against the exact one, over all frames, in Markdown.

    Args:
        pairs: exact and filmed lips of each clip.
        title: of the first column.
    """
    lines = [head(title, "correlation", "slope", "exact, spread", "filmed, spread")]
    values = [(exact.lips.values, filmed.lips.values) for exact, filmed in pairs]
    exact, filmed = (np.concatenate([pair[side][: min(map(len, pair))] for pair in values]) for side in (0, 1))
    in_both = (exact[:, -2] > 0) & (filmed[:, -2] > 0)
    for number, name in enumerate(SHAPES):
        x, y = exact[in_both, number], filmed[in_both, number]
        if len(x) < 2 or not x.std() or not y.std():
            continue
        alike = float(np.corrcoef(x, y)[0, 1])
        numbers = (alike, alike * float(y.std() / x.std()), float(x.std()), float(y.std()))
        lines.append(row(name.replace("_", " "), *(f"{value:.2f}" for value in numbers)))
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print precision and recall of each way of reading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each clip")
    parser.add_argument("--questions", type=int, default=12, help="to each clip")
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--out", type=Path, required=True, help="folder of videos and landmarks, made once")
    parser.add_argument("--model", action="append", help="name or file of a mouthing spotter; repeatable; all shipped")
    options = parser.parse_args(arguments)
    clips = make_video_clips(options.clips, options.seconds, options.seed, options.out)
    models = [load_mouthing(name) for name in options.model or shipped()]
    sys.stdout.write(shape_table([(clip.exact, clip.video) for clip in clips], "shape, as lips are read"))
    sys.stdout.write("\n" + score_table(measure_video(models, clips, options.seed, options.questions)))


if __name__ == "__main__":
    main()
