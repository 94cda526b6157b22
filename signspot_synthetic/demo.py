"""The main job on material that it makes itself: film signs of the world, estimate landmarks, spot, write results."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from signspot.dictionary.opening import open_dictionary
from signspot.formats.formats import write
from signspot.io.files import write_beside
from signspot.io.processes import results, run_each
from signspot.io.progress import Progress
from signspot.landmarks.cache import default_cache
from signspot.landmarks.estimate import PoseJob, estimate_files
from signspot.plots.curves import view_of
from signspot.plots.plot import plot
from signspot.plots.report import report
from signspot.spotting.spotter import load
from signspot.types import Segment, Spotting
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Role, Signer, make_signer
from signspot_synthetic.camera.projection import project
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import Lexicon, LexiconOptions, make_lexicon
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

WORDS = ("apple", "friend", "language", "name", "science")  # the dictionary
OTHERS = ("coffee", "house", "river", "yesterday", "music", "teacher", "garden", "winter")  # also signed
SIGNED = (
    *("coffee", "apple", "house", "friend", "river", "language"),
    *("yesterday", "name", "music", "apple", "teacher", "science", "garden", "friend", "winter"),
)
TWICE = WORDS[:2]  # words with two exemplars
RESULTS = (*(f"spottings{suffix}" for suffix in (".eaf", ".vtt", ".csv", ".jsonl")), "spottings.png", "report.html")
SIZE = (288, 288)
SEED = 7

Stage = Callable[[str], AbstractContextManager[Progress]]  # a progress bar with a title


@dataclass(frozen=True, slots=True)
class Demo:
    """Files and spottings of the demo."""

    folder: Path
    truth: tuple[tuple[str, Segment], ...]  # the dictionary's words as they were signed
    spottings: tuple[Spotting, ...]
    files: tuple[Path, ...]  # written results

    @property
    def found(self) -> int:
        """The number of signed words that have a spotting whose time is in their segment, ±0.2 s."""
        return sum(any(s.word == w and s.time in seg.padded(0.2) for s in self.spottings) for w, seg in self.truth)

    @property
    def false_alarms(self) -> int:
        """The number of spottings where their word was not signed."""
        return sum(not any(s.word == w and s.time in seg.padded(0.2) for w, seg in self.truth) for s in self.spottings)


@dataclass(frozen=True, slots=True)
class _Take:
    """One video that is to be filmed: an exemplar of a word, or the sentence."""

    path: Path
    signs: tuple[str, ...]
    signer: Signer
    seed: int


def run_demo(folder: Path, stage: Stage, workers: int = 2, device: str = "cpu") -> Demo:
    """Film a dictionary and a continuous video, find the dictionary's words in it, and write what was found.

    Args:
        folder: where everything goes; videos that are there from an earlier run are not filmed again.
        stage: gives a progress reporter for each stage of the work.
        workers: processes that film and estimate.
        device: where the encoder runs.
    """
    spotter = load(device=device)
    footage, signs = folder / "sentence.mp4", folder / "dictionary"
    takes = _takes(footage, signs)
    with stage("filming") as progress:
        truth = _film(takes, progress, workers)
    with stage("landmarks") as progress:
        list(estimate_files([PoseJob(take.path) for take in takes], workers, progress, cache=default_cache()))
    dictionary = open_dictionary(signs)
    with stage("spotting") as progress:
        gallery = spotter.gallery(dictionary, progress=progress)
        found = spotter.search(footage, gallery)
    *tables, picture, page = results = [folder / name for name in RESULTS]
    for path in tables:
        write(found.spottings, path)
    view = view_of(found)
    plot(view, picture)
    report(view, page)
    known = tuple((word, segment) for word, segment in truth if word in WORDS)
    return Demo(folder, known, found.spottings, tuple(results))


def _takes(footage: Path, signs: Path) -> list[_Take]:
    """The long video first, so that no worker is left alone with it at the end."""
    takes = [_Take(footage, SIGNED, make_signer("interpreter", SEED, Role.TEST, left_share=0, webcam_share=0), SEED)]
    for word in WORDS:
        for number in (1, 2) if word in TWICE else (1,):
            signer = make_signer(f"dictionary-{number}", SEED, Role.DICTIONARY, left_share=0, webcam_share=0)
            takes.append(_Take(signs / word / f"{word}_{number}.mp4", (word,), signer, SEED + number))
    return takes


def _film(takes: Sequence[_Take], progress: Progress, workers: int) -> list[tuple[str, Segment]]:
    progress(0, len(takes))
    truths: list[list[tuple[str, Segment]]] = []
    for truth in results(run_each(_film_one, takes, workers, ordered=True)):
        truths.append(truth)
        progress(len(truths), len(takes))
    return truths[0]


def _film_one(take: _Take) -> list[tuple[str, Segment]]:
    """Film one take unless it is there; give the segments of its signs."""
    rng = named_rng(take.seed, "demo", take.path.name)
    lexicon, signer = _lexicon(), take.signer
    if len(take.signs) > 1:
        motion, segments = continuous([lexicon[word].variants[0] for word in take.signs], signer, rng)
    else:
        motion, segment = isolated(lexicon[take.signs[0]].variants[0], signer, rng, word=take.signs[0])
        segments = [segment]
    truth = list(zip(take.signs, segments, strict=True))
    if not take.path.is_file():
        take.path.parent.mkdir(parents=True, exist_ok=True)
        exact = project(motion, Camera(height=1.15), SIZE)
        render_video(exact, make_appearance(signer.appearance_seed), take.path, SIZE)
        if len(take.signs) > 1:
            with write_beside(take.path.with_suffix(".truth.json")) as beside:
                beside.write_text(json.dumps([[word, seg.start, seg.end] for word, seg in truth], indent=1))
    return truth


def _lexicon() -> Lexicon:
    return make_lexicon(
        LexiconOptions(
            words=(*WORDS, *OTHERS),
            seed=SEED,
            minimal_pair_share=0,
            synonym_share=0,
            fingerspelled_share=0,
            variant_shares=(1.0,),
        )
    )
