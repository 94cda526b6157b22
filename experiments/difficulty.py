"""Difficulty of the world, knob by knob, for matchers that learn nothing.

    OPENBLAS_NUM_THREADS=1 python -m experiments.difficulty --words 150 --minutes 6 --queries 300 --seed 7

The matrices are small: threads would only wait for each other.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from experiments import warping as baseline
from experiments.warping import Floats
from signspot.corpus.truth import MentionTruth
from signspot.io.progress import Progress, silent
from signspot.landmarks.features import features, mirror_features
from signspot.types import Segment
from signspot_synthetic.body.motion import FPS
from signspot_synthetic.body.signers import Signer
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.knobs import Knobs, named_rng
from signspot_synthetic.options import CorpusOptions
from signspot_synthetic.performance import PerformedVideo, perform_exemplar, perform_video
from signspot_synthetic.world import World

CAMERAS = "cameras"  # no knob of signing: the signers are filmed from different places
COARTICULATION = ("coarticulation", "undershoot", "assimilation", "reduction", "weak_drop", "lowering")
SWITCHES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "co-articulation": COARTICULATION,
    "speed": ("speed",),
    "precision": ("precision",),
    "noise": ("noise",),
    "variants": ("variants",),
    "misalignment": ("misalignment",),
    "cameras": (CAMERAS,),
    "everything": (*(item.name for item in fields(Knobs)), CAMERAS),
}
_WIDTHS = (5, 7, 9, 12, 16, 21, 28, 37)  # rows of a window
_PADDING = 0.5  # seconds around a subtitle in which a sign is looked for
_TOLERANCE = 0.2  # seconds by which a found place may lie outside the sign


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Shares of right answers, in [0, 1]: the word of a cut-out sign, and the place of a subtitle word."""

    switched_on: str
    single_cosine: float  # retrieval where the dictionary has one exemplar per word
    retrieval_cosine: float
    retrieval_warping: float
    spotting_cosine: float
    spotting_warping: float
    signs: int  # that were asked for
    mentions: int


@dataclass(frozen=True, slots=True)
class _Shown:
    """The dictionary as the matchers see it: every exemplar as it is, then every one mirrored."""

    signs: Floats  # (2E, F, D)
    words: tuple[str, ...]  # 2E
    centre: Floats  # (D,)

    def of(self, words: frozenset[str]) -> Floats:
        """The exemplars of some words."""
        return self.signs[[word in words for word in self.words]]


def measure_all(options: CorpusOptions, queries: int = 300, progress: Progress = silent) -> list[Difficulty]:
    """Measure every row of the table: nothing, each knob alone, everything."""
    rows: list[Difficulty] = []
    for name in SWITCHES:
        rows.append(measure(options, name, queries))
        progress(len(rows), len(SWITCHES))
    return rows


def measure(options: CorpusOptions, name: str, queries: int = 300) -> Difficulty:
    """Make a small world with one group of knobs on and all others off, and let the matchers loose on it."""
    knobs = Knobs(**{item.name: float(item.name in SWITCHES[name]) for item in fields(Knobs)})
    world = World(replace(options, knobs=knobs))
    cameras = CAMERAS in SWITCHES[name]
    shown = _show_dictionary(world, cameras=cameras)
    plans = [replace(p, signer=_filmed(p.signer, cameras=cameras)) for p in world.videos if p.split == "test"]
    videos = [perform_video(world, plan) for plan in plans]
    rows = [baseline.describe(features(video.footage.observed)) for video in videos]
    rng = named_rng(options.seed, "difficulty")
    retrieval = _retrieval(world, shown, videos, rows, queries, rng)
    spotting = _spotting(world, shown, videos, rows, queries, rng)
    return Difficulty(name, *retrieval[:3], *spotting[:2], int(retrieval[3]), int(spotting[2]))


def table(rows: Sequence[Difficulty]) -> str:
    """The results in Markdown."""
    lines = [
        "| switched on | retrieval, one exemplar | retrieval, cosine | retrieval, warping | spotting, cosine "
        "| spotting, warping |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        retrieval = (row.single_cosine, row.retrieval_cosine, row.retrieval_warping)
        shares = (*retrieval, row.spotting_cosine, row.spotting_warping)
        lines.append(f"| {row.switched_on} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")
    return "\n".join(lines)


def _filmed(signer: Signer, *, cameras: bool) -> Signer:
    """The signer before their own camera, or before the one that all share."""
    return signer if cameras else replace(signer, camera=Camera())


def _show_dictionary(world: World, *, cameras: bool) -> _Shown:
    plain: list[Floats] = []
    mirrored: list[Floats] = []
    for plan in world.exemplars:
        footage, truth = perform_exemplar(world, replace(plan, signer=_filmed(plan.signer, cameras=cameras)))
        seen = features(footage.observed)
        part = baseline.rows_of(truth.segment, FPS, len(seen))
        plain.append(baseline.time_normalised(baseline.describe(seen)[part]))
        mirrored.append(baseline.time_normalised(baseline.describe(mirror_features(seen))[part]))
    signs = np.stack(plain + mirrored)
    words = tuple(plan.word for plan in world.exemplars)
    return _Shown(signs, words * 2, baseline.centre_of(signs))


def _retrieval(
    world: World,
    shown: _Shown,
    videos: Sequence[PerformedVideo],
    rows: Sequence[Floats],
    queries: int,
    rng: np.random.Generator,
) -> tuple[float, float, float, int]:
    """Retrieval of a sign's word: the share of right first answers, for signs cut out exactly."""
    asked = [(i, sign) for i, video in enumerate(videos) for sign in video.signs if sign.listed]
    chosen = [asked[int(k)] for k in rng.permutation(len(asked))[:queries]]
    cuts = [baseline.time_normalised(rows[i][baseline.rows_of(s.segment, FPS, len(rows[i]))]) for i, s in chosen]
    signs = np.stack(cuts)
    similarity = baseline.cosine(signs, shown.signs, shown.centre)
    first = np.array([shown.words.index(word) == i % (len(shown.words) // 2) for i, word in enumerate(shown.words)])
    distance = baseline.warping_distance(signs, shown.signs)
    shares: list[float] = []
    for scores in (np.where(first, similarity, -np.inf), similarity, -distance):
        found = [shown.words[int(i)] for i in scores.argmax(axis=1)]
        right = [word in _same(world, sign.word) for word, (_, sign) in zip(found, chosen, strict=True)]
        shares.append(float(np.mean(right)))
    return shares[0], shares[1], shares[2], len(chosen)


def _spotting(
    world: World,
    shown: _Shown,
    videos: Sequence[PerformedVideo],
    rows: Sequence[Floats],
    queries: int,
    rng: np.random.Generator,
) -> tuple[float, float, int]:
    """Localisation of a subtitle word: the share of right places, for words that are signed."""
    asked = [(i, mention) for i, video in enumerate(videos) for mention in video.mentions if mention.signs]
    chosen = [asked[int(k)] for k in rng.permutation(len(asked))[:queries]]
    windows = [_window(videos[i], mention, len(rows[i])) for i, mention in chosen]
    searched = [rows[i][window] for (i, _), window in zip(chosen, windows, strict=True)]
    exemplars = [shown.of(_same(world, mention.word)) for _, mention in chosen]
    by_cosine = [
        baseline.best_window(part, signs, shown.centre, _WIDTHS)
        for part, signs in zip(searched, exemplars, strict=True)
    ]
    by_warping = baseline.best_warped_windows(searched, exemplars)
    shares: list[float] = []
    for answers in (by_cosine, by_warping):
        middles = [(w.start + first + width / 2) / FPS for w, (first, width) in zip(windows, answers, strict=True)]
        right = [_is_there(world, videos[i], m, time) for (i, m), time in zip(chosen, middles, strict=True)]
        shares.append(float(np.mean(right)))
    return shares[0], shares[1], len(chosen)


def _window(video: PerformedVideo, mention: MentionTruth, count: int) -> slice:
    """The rows in which a subtitle word is looked for."""
    subtitle = video.subtitles[mention.subtitle]
    return baseline.rows_of(Segment(subtitle.start, subtitle.end).padded(_PADDING), FPS, count)


def _is_there(world: World, video: PerformedVideo, mention: MentionTruth, time: float) -> bool:
    words = _same(world, mention.word)
    return any(time in sign.segment.padded(_TOLERANCE) for sign in video.signs if sign.word in words)


def _same(world: World, word: str) -> frozenset[str]:
    return world.same_sign.get(word, frozenset([word]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the table to stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--words", type=int, default=150)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args(arguments)
    hours = chosen.minutes / 60 / 0.8
    options = CorpusOptions(words=chosen.words, hours=hours, seed=chosen.seed, test_share=0.8, video_seconds=90)
    rows = measure_all(options, chosen.queries, lambda done, total: _tell(f"{done}/{total}\n"))
    sys.stdout.write(table(rows) + "\n")


def _tell(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


if __name__ == "__main__":
    main()
