"""Promised against counted false alarms, on backgrounds of three kinds in which no word looked for is signed.

    python -m signspot_lab.promised_alarms --lsa64 FOLDER --wlasl FOLDER --encoder landmark

Streams are joined of isolated signs of some words; exemplars are of the other words. Every spotting is false.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from signspot.embedding.exemplars import Gallery
from signspot.landmarks.landmarks import Landmarks
from signspot.records import Exemplar
from signspot.spotting.search import SpotOptions
from signspot.spotting.spotter import Spotter, load
from signspot_lab.frame_codes.world_clips import world_clips
from signspot_lab.isolated.clips import IsolatedClip
from signspot_lab.isolated.reading import read_isolated
from signspot_lab.lsa64.streams import embed_clips, make_streams

RATES = (3.0, 10.0, 30.0)
EXEMPLARS = (1, 3)  # per word
WORDS = 40  # looked for
SIGNS = 560  # joined into streams
_SHOULDERS = (11, 12)
_SIDE, _MIDDLE, _WIDTH = 1000, (0.5, 0.4), 0.2  # of the picture into which signers are placed alike


@dataclass(frozen=True, slots=True)
class Promise:
    """What was promised and what was counted."""

    background: str
    exemplars: int  # per word
    rate: float  # promised, per hour and word
    counted: float  # per hour and word
    found: int
    hours: float  # searched, of all words together


def placed(landmarks: Landmarks) -> Landmarks:
    """The same signer in the middle of a square picture at one size, so that signers can be joined."""
    width, height = landmarks.size or (1280, 720)
    scale = np.array([width, height, width], np.float64)
    shoulders = landmarks.body[:, _SHOULDERS, :2] * scale[:2]
    middle = np.nanmedian(shoulders.mean(axis=1), axis=0)
    across = float(np.nanmedian(np.linalg.norm(shoulders[:, 0] - shoulders[:, 1], axis=1)))
    zoom = _WIDTH / max(across, 1.0)

    def moved(points: np.ndarray) -> np.ndarray:
        result = points.astype(np.float32, copy=True)
        result[..., :3] = points[..., :3] * scale * zoom
        result[..., :2] += np.array(_MIDDLE) - middle * zoom
        return result

    return replace(
        landmarks,
        size=(_SIDE, _SIDE),
        body=moved(landmarks.body),
        left_hand=moved(landmarks.left_hand),
        right_hand=moved(landmarks.right_hand),
        face=moved(landmarks.face),
    )


def keep_promises(spotter: Spotter, name: str, clips: Sequence[IsolatedClip], seed: int = 0) -> Iterator[Promise]:
    """Search streams of some words for other words.

    Args:
        spotter: what is measured.
        name: of the background.
        clips: of many words by several signers.
        seed: of the draw of words.
    """
    random = np.random.default_rng(seed)
    by_word: dict[str, dict[str, IsolatedClip]] = {}
    for clip in clips:
        by_word.setdefault(clip.word, {}).setdefault(clip.signer, clip)
    enough = sorted(word for word, signers in by_word.items() if len(signers) >= max(EXEMPLARS))
    shown = set(random.permutation(np.array(enough))[: min(WORDS, len(enough) // 2)].tolist())
    others = [clip for clip in clips if clip.word not in shown]
    signed = [others[int(index)] for index in random.permutation(len(others))[:SIGNS]]
    streams = make_streams([replace(clip, landmarks=placed(clip.landmarks)) for clip in signed], seed)
    tracks = [spotter.embed(stream.landmarks) for stream in streams]
    hours = sum(track.grid.frames / track.grid.fps for track in tracks) / 3600
    lent = [clip for word in sorted(shown) for clip in list(by_word[word].values())[: max(EXEMPLARS)]]
    whole = embed_clips(spotter, lent)
    for count in EXEMPLARS:
        gallery = _first(whole, count)
        for rate in RATES:
            options = SpotOptions(false_alarms_per_hour=rate)
            found = sum(len(spotter.search(track, gallery, options).spottings) for track in tracks)
            yield Promise(name, count, rate, found / (hours * len(shown)), found, hours * len(shown))


def _first(gallery: Gallery, count: int) -> Gallery:
    """The first so many exemplars of every word."""
    kept, seen = [], dict[str, int]()
    for number, exemplar in enumerate(gallery.exemplars):
        seen[exemplar.word] = seen.get(exemplar.word, 0) + 1
        if seen[exemplar.word] <= count:
            kept.append(number)
    rows = np.flatnonzero(np.isin(gallery.rows, kept))
    shown: tuple[Exemplar, ...] = tuple(gallery.exemplars[number] for number in kept)
    places = np.searchsorted(kept, gallery.rows[rows])
    codes = None if gallery.codes is None else gallery.codes[rows]
    return Gallery(shown, gallery.embeddings[rows], places, gallery.mirrored[rows], codes)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default=None)
    parser.add_argument("--lsa64", type=Path)
    parser.add_argument("--wlasl", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    spotter = load(chosen.encoder, cache=False)
    backgrounds = [(place.name, read_isolated(place)) for place in (chosen.lsa64, chosen.wlasl) if place]
    backgrounds.append(("world", world_clips(100, 4, 77)))
    heads = ("background", "exemplars per word", "promised", "counted", "spottings", "word hours")
    _tell(heads)
    _tell(["---"] * len(heads))
    for name, clips in backgrounds:
        for each in keep_promises(spotter, name, clips, chosen.seed):
            numbers = f"{each.rate:g}", f"{each.counted:.1f}", str(each.found), f"{each.hours:.2f}"
            _tell((each.background, str(each.exemplars), *numbers))


def _tell(cells: Sequence[str]) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
