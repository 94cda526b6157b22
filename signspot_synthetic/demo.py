"""The demo: render videos of synthetic signing, estimate landmarks, spot, write results.

A signer signs a sentence clearly. The seed is chosen by a rule, so that the demo says the same on every machine: it is
the first one of which every sign is found and nothing else, also with a threshold `MARGIN` lower or higher than the
shipped one (`python -m tools.choose_demo` prints the search). So the demo tells nothing about accuracy.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from signspot.dictionary.open_dictionary import open_dictionary
from signspot.formats.formats import write
from signspot.io.files import atomic_write
from signspot.io.processes import results, run_each
from signspot.io.progress import Progress
from signspot.landmarks.cache import default_cache
from signspot.landmarks.video_estimation import PoseJob, estimate_files
from signspot.plots.curves import view_of
from signspot.plots.plot import plot
from signspot.plots.result_page import report
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import load
from signspot.types import Segment, Spotting
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Camera, Role, Signer, make_signer
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.lexicon import Lexicon, LexiconOptions, make_lexicon
from signspot_synthetic.observation import project
from signspot_synthetic.random_streams import named_rng
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

WORDS = ("apple", "friend", "language", "name", "science")  # the dictionary
OTHERS = ("coffee", "house", "river", "yesterday", "music", "teacher", "garden", "winter")  # also signed
SIGNED = (
    *("coffee", "apple", "house", "friend", "river", "language"),
    *("yesterday", "name", "music", "apple", "teacher", "science", "garden", "friend", "winter"),
)
EXEMPLARS = 2  # of each word, by different signers
RESULTS = (*(f"spottings{suffix}" for suffix in (".eaf", ".vtt", ".csv", ".jsonl")), "spottings.png", "report.html")
CLEARLY = Knobs(coarticulation=0.5, speed=0.5)  # signed more clearly and slowly than in conversation
SIZE = (288, 288)
SEED = 1
MARGIN = 0.02  # of scores: rounding and video coding differ between machines by much less

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
    """One video to render: an exemplar of a word, or the sentence."""

    path: Path
    signs: tuple[str, ...]
    signer: Signer
    seed: int  # of the signing
    language: int  # seed of the synthetic language


def run_demo(
    folder: Path, stage: Stage, workers: int = 2, device: str = "cpu", seed: int = SEED, threshold: float | None = None
) -> Demo:
    """Render a dictionary and a continuous video, find the dictionary's words in it, and write the results.

    Args:
        folder: where everything goes; videos that are there from an earlier run are not rendered again.
        stage: gives a progress reporter for each stage of the work.
        workers: processes that render and estimate landmarks.
        device: where the encoder runs.
        seed: of the language, the signers and the signing.
        threshold: least score; None: the encoder's own.
    """
    spotter = load(device=device)
    footage, signs = folder / "sentence.mp4", folder / "dictionary"
    takes = _takes(footage, signs, seed)
    with stage("rendering") as progress:
        truth = _render(takes, progress, workers)
    with stage("landmarks") as progress:
        list(estimate_files([PoseJob(take.path) for take in takes], workers, progress, cache=default_cache()))
    dictionary = open_dictionary(signs)
    with stage("spotting") as progress:
        gallery = spotter.gallery(dictionary, progress=progress)
        result = spotter.search(footage, gallery, SpotOptions(threshold=threshold))
    *tables, image, page = files = [folder / name for name in RESULTS]
    for path in tables:
        write(result.spottings, path)
    view = view_of(result)
    plot(view, image)
    report(view, page)
    signed = tuple((word, segment) for word, segment in truth if word in WORDS)
    return Demo(folder, signed, result.spottings, tuple(files))


def _takes(footage: Path, signs: Path, seed: int) -> list[_Take]:
    """The long video first, so that no worker is left alone with it at the end."""
    interpreter = make_signer("interpreter", seed, Role.TEST, left_share=0, webcam_share=0)
    takes = [_Take(footage, SIGNED, interpreter, seed, seed)]
    for word in WORDS:
        for number in range(1, EXEMPLARS + 1):
            signer = make_signer(f"dictionary-{number}", seed, Role.DICTIONARY, left_share=0, webcam_share=0)
            takes.append(_Take(signs / word / f"{word}_{number}.mp4", (word,), signer, seed + number, seed))
    return takes


def _render(takes: Sequence[_Take], progress: Progress, workers: int) -> list[tuple[str, Segment]]:
    progress(0, len(takes))
    truths: list[list[tuple[str, Segment]]] = []
    for truth in results(run_each(_render_one, takes, workers, ordered=True)):
        truths.append(truth)
        progress(len(truths), len(takes))
    return truths[0]


def _render_one(take: _Take) -> list[tuple[str, Segment]]:
    """Render one take unless its video is there; give the segments of its signs."""
    rng = named_rng(take.seed, "demo", take.path.name)
    lexicon, signer = _lexicon(take.language), take.signer
    if len(take.signs) > 1:
        motion, segments = continuous([lexicon[word].variants[0] for word in take.signs], signer, rng, CLEARLY)
    else:
        motion, segment = isolated(lexicon[take.signs[0]].variants[0], signer, rng, word=take.signs[0])
        segments = [segment]
    truth = list(zip(take.signs, segments, strict=True))
    if not take.path.is_file():
        take.path.parent.mkdir(parents=True, exist_ok=True)
        exact = project(motion, Camera(height=1.15), SIZE)
        render_video(exact, make_appearance(signer.appearance_seed), take.path, SIZE)
        if len(take.signs) > 1:
            with atomic_write(take.path.with_suffix(".truth.json")) as temporary:
                temporary.write_text(json.dumps([[word, seg.start, seg.end] for word, seg in truth], indent=1))
    return truth


def _lexicon(seed: int) -> Lexicon:
    return make_lexicon(
        LexiconOptions(
            words=(*WORDS, *OTHERS),
            seed=seed,
            minimal_pair_share=0,
            synonym_share=0,
            fingerspelled_share=0,
            variant_shares=(1.0,),
        )
    )
