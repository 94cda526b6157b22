"""Promised against counted false alarms, on backgrounds of several kinds in which no word looked for is signed.

    python -m experiments.promised_false_alarms --lsa64 FOLDER --wlasl FOLDER --encoder landmark --half second

Streams are joined of isolated signs of some words; exemplars are of other words. Every spotting is false. The constants
in `signspot.spotting.false_alarms` were chosen with the first half of the words and with the corpus of seed 77.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from signspot.corpus.isolated import IsolatedClip, read_isolated
from signspot.evaluation.streams import StreamMaterial, StreamOptions, material_of_clips, measure_streams
from signspot.spotting.spotter import Spotter, load
from signspot_synthetic.isolated_signs import isolated_clips

SEEDS = {"first": 77, "second": 78}  # seeds
_WORDS, _SIGNERS = 100, 8
_SPLIT = 5  # seed of the order of words in which every other one is of the second half


def half_of(clips: Sequence[IsolatedClip], half: str) -> list[IsolatedClip]:
    """The clips of every other word, in a random order that never changes."""
    order = np.random.default_rng(_SPLIT).permutation(sorted({clip.word for clip in clips})).tolist()
    words = set(order[0 if half == "first" else 1 :: 2])
    return [clip for clip in clips if clip.word in words]


def backgrounds(folders: Sequence[Path], half: str, each: int, seed: int) -> list[StreamMaterial]:
    """Streams of every corpus, and of synthetic signs, in which the words looked for are not signed.

    Of synthetic signs twice: with minimal pairs, of which one is looked for where the other is signed, and without.
    """
    options = StreamOptions(signs=700, signs_per_stream=each, signed=False, seed=seed)
    materials = [material_of_clips(folder.name, half_of(read_isolated(folder), half), options) for folder in folders]
    for name, share in (("synthetic", 0.2), ("synthetic without minimal pairs", 0.0)):
        clips = isolated_clips(_WORDS, _SIGNERS, SEEDS[half], share)
        materials.append(material_of_clips(name, clips, options))
    return materials


def keep_promises(spotter: Spotter, material: StreamMaterial) -> list[tuple[str, ...]]:
    """Rows of a table: background, exemplars, promised, counted, their ratio, and how much was searched."""
    return [
        (
            *(spotter.encoder.name, material.name, str(scores.exemplars), f"{alarms.promised:g}"),
            *(f"{alarms.counted:.1f}", f"{alarms.counted / alarms.promised:.2f}", f"{scores.word_hours:.1f}"),
        )
        for scores in measure_streams(spotter, material)
        for alarms in scores.alarms
    ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", action="append", help="repeatable; the shipped one if not given")
    parser.add_argument("--lsa64", type=Path)
    parser.add_argument("--wlasl", type=Path)
    parser.add_argument("--half", choices=sorted(SEEDS), default="second", help="of the words")
    parser.add_argument("--each", type=int, default=140, help="signs in a stream: how long videos are")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    folders = [folder for folder in (chosen.lsa64, chosen.wlasl) if folder]
    heads = ("encoder", "background", "exemplars per word", "promised", "counted", "ratio", "word hours")
    _tell(heads)
    _tell(["---"] * len(heads))
    materials = backgrounds(folders, chosen.half, chosen.each, chosen.seed)
    for encoder in chosen.encoder or [None]:
        spotter = load(encoder, cache=False)
        for material in materials:
            for row in keep_promises(spotter, material):
                _tell(row)


def _tell(cells: Sequence[str]) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
