"""Mouthing: candidate windows per minute on one core, and the memory of following lips through a long video."""

from collections.abc import Iterator
from time import process_time

import numpy as np

from benchmarks.isolation import Call, run
from benchmarks.rows import Comparison, against, at_least, rounded
from benchmarks.sizes import Sizes
from signspot.landmarks.landmarks import Landmarks
from signspot.mouthing.lips import CHANNELS, FPS, LipTrack, follow_lips
from signspot.mouthing.mouthing_spotter import MentionWindow, MouthingSpotter
from signspot.mouthing.network import load_mouthing
from signspot.types import Segment
from signspot_synthetic.body.motion import talking
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.observation import project

_WANTED = 1000.0  # windows per minute
_WINDOW = 11.0  # seconds: a subtitle of 3 s, padded by 4 on both sides
_WORDS = ("weather", "tomorrow", "government", "people", "morning", "elephant")
_GROWTH = 1.15  # of peak memory, at most, from a video to one that is four times as long


def mouthing_rows(sizes: Sizes) -> list[Comparison]:
    """Windows per minute, and memory against the length of the video."""
    done = run(Call("mouthing:search", {"windows": sizes.lip_windows}), apart=sizes.apart).values
    limit, is_kept = at_least(done["per minute"], _WANTED)
    peaks = [
        run(Call("mouthing:follow", {"seconds": seconds}), apart=sizes.apart).peak
        for seconds in (sizes.lips, 4 * sizes.lips)
    ]
    growth = peaks[1] / peaks[0]
    return [
        Comparison(
            "Mouthing",
            f"windows of {_WINDOW:g} s with {len(_WORDS)} words each, on one core, against {_WANTED:g} per minute",
            f"{rounded(done['per minute'])} per minute",
            done["per minute"] / _WANTED,
            f"{limit} per minute",
            is_kept,
        ),
        Comparison(
            "Mouthing",
            f"lips of {4 * sizes.lips:g} s against lips of {sizes.lips:g} s: peak memory",
            against(peaks[1], peaks[0], "MB"),
            growth,
            f"grows by at most {_GROWTH:g}",
            growth <= _GROWTH,
        ),
    ]


def search(windows: int) -> dict[str, float]:
    """Look for words in windows of random lips."""
    spotter, random = MouthingSpotter(load_mouthing()), np.random.default_rng(0)
    values = random.normal(0, 1, (round(60 * FPS), CHANNELS)).astype(np.float32)
    values[:, -2:] = (1.0, 0.0)
    lips = LipTrack(values)
    starts = random.uniform(0, 60 - _WINDOW, windows)
    candidates = [MentionWindow(Segment(float(start), float(start) + _WINDOW), _WORDS) for start in starts]
    spotter.search(lips, candidates[:1], "v")
    before = process_time()
    spotter.search(lips, candidates, "v")
    return {"per minute": 60 * windows / (process_time() - before)}


def follow(seconds: float) -> dict[str, float]:
    """Follow lips through landmarks that come second by second."""
    signer = make_signer("one", 1, Role.TEST)
    second = project(talking([], 1.0, signer, np.random.default_rng(0), 0.0), signer.camera)

    def chunks() -> Iterator[Landmarks]:
        for _ in range(round(seconds)):
            yield second

    return {"frames": float(len(follow_lips(chunks())))}
