"""The material that is measured: an encoder, a little filmed signing that is repeated, random galleries and tracks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from benchmarks.sizes import Sizes
from signspot.embedding.exemplars import Gallery
from signspot.errors import CheckpointError
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import PoseWriter
from signspot.models.encoder import Encoder
from signspot.spotting.decoys import alignment_scale
from signspot.types import Exemplar, Grid, Track
from signspot_synthetic.body.motion import FPS, continuous
from signspot_synthetic.body.signers import Camera, Role, make_signer
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.observation import observe, project
from signspot_synthetic.random_streams import named_rng
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

SEED = 7


@dataclass(frozen=True, slots=True)
class Filmed:
    """One length of it."""

    seconds: float
    video: Path
    pose: Path

    @property
    def frames(self) -> int:
        """At 25 frames per second."""
        return round(self.seconds * FPS)


def sign(seconds: float, size: tuple[int, int]) -> Landmarks:
    """So many seconds of signing before a camera, exactly known."""
    lexicon = make_lexicon(LexiconOptions(words=40, seed=SEED))
    signer = make_signer("interpreter", SEED, Role.TEST, left_share=0, webcam_share=0)
    signs = [entry.variants[0] for entry in lexicon.values()]
    count = int(2 * seconds) + 2
    motion, segments = continuous([signs[i % len(signs)] for i in range(count)], signer, named_rng(SEED, "benchmark"))
    exact = project(motion, Camera(height=1.15), size)
    first, frames = round(segments[0].start * FPS), round(seconds * FPS)  # before, the hands are down
    assert len(exact) >= first + frames, f"{count} signs last less than {seconds} s"
    return exact[first : first + frames]


def render_footage(sizes: Sizes, folder: Path) -> tuple[Filmed, Filmed]:
    """Make the shorter and the longer footage."""
    size = (sizes.side, sizes.side)
    exact = sign(sizes.footage, size)
    exact = replace(exact, times=exact.times - exact.times[0])
    take = render_video(exact, make_appearance(SEED), folder / "take.mp4", size)
    observed = observe(exact, named_rng(SEED, "estimator"))
    footages = []
    for name, seconds in (("short", sizes.short), ("long", sizes.long)):
        footage = Filmed(seconds, folder / f"{name}.mp4", folder / f"{name}.pose")
        times = round(seconds / sizes.footage)
        repeat_video(take, footage.video, times)
        with PoseWriter(footage.pose) as writer:
            for again in repeat_landmarks(observed, times):
                writer.add(again)
        footages.append(footage)
    return footages[0], footages[1]


def repeat_video(take: Path, target: Path, times: int) -> None:
    """Write the packets of a video again and again: nothing is decoded or encoded."""
    with av.open(str(take)) as source, av.open(str(target), "w") as out:
        stream = source.streams.video[0]
        copy = out.add_stream_from_template(stream)
        length = round(stream.frames / Fraction(stream.average_rate) / stream.time_base)
        for turn in range(times):
            source.seek(0)
            for packet in source.demux(stream):
                if packet.dts is None or packet.pts is None:
                    continue  # the end of the file
                packet.pts += turn * length
                packet.dts += turn * length
                packet.stream = copy
                out.mux(packet)


def repeat_landmarks(landmarks: Landmarks, times: int) -> Iterator[Landmarks]:
    """Landmarks again and again, later each time."""
    for turn in range(times):
        yield replace(landmarks, times=landmarks.times + turn * len(landmarks) / FPS)


def landmark_encoder() -> Encoder:
    """The shipped encoder, or an untrained one of the same architecture: just as fast."""
    import torch  # here: the memory of what needs no network is measured without it

    from signspot.models.checkpoints import load_encoder
    from signspot.models.encoder_network import make_encoder
    from signspot.models.registry import build

    try:
        return load_encoder()
    except CheckpointError:
        torch.manual_seed(0)
        return make_encoder("random weights", build("landmark"))


def describe(encoder: Encoder) -> str:
    """Its name and its size."""
    weights = sum(parameter.numel() for parameter in encoder.module.parameters())
    return f"{encoder.name}, {weights:,} parameters"


def random_gallery(words: int, each: int, encoder: Encoder, track: Track | None = None, seed: int = 1) -> Gallery:
    """`words` with `each` exemplars, and their mirror images; near random places of `track`, where one is given.

    So there is about one spotting per exemplar, and peaks are looked for as they are in earnest.
    """
    rng, dimension = np.random.default_rng(seed), encoder.contract.dimension
    exemplars = tuple(Exemplar(f"word {word}", f"{word}-{turn}") for word in range(words) for turn in range(each))
    embeddings = rng.standard_normal((len(exemplars), 2, dimension), dtype=np.float32) / dimension**0.5
    codes = None
    if encoder.contract.codes:
        from signspot.models.frame_coder import SIGN_FRAMES

        shape = (len(exemplars), 2, SIGN_FRAMES, encoder.contract.codes)
        codes = rng.standard_normal(shape, dtype=np.float32) * _spread(encoder) / encoder.contract.codes**0.5
    if track is not None:
        near = rng.integers(len(track), size=len(exemplars))
        embeddings[:, 0] = track.embeddings[near] + 0.5 * embeddings[:, 0]
        if codes is not None and track.codes is not None:
            codes[:, 0] = track.codes[near[:, None] + np.arange(SIGN_FRAMES)] + 0.1 * codes[:, 0]
    return Gallery.of(exemplars, _unit(embeddings), codes)


def random_track(encoder: Encoder, seconds: float, seed: int = 2) -> Track:
    """A track whose windows and codes are like their neighbours, as overlapping windows are."""
    contract = encoder.contract
    grid = Grid(contract.fps, contract.frames, 1, round(seconds * contract.fps))
    rng = np.random.default_rng(seed)
    embeddings = _smooth_rows(rng, grid.count, contract.dimension, contract.frames)
    codes = _smooth_rows(rng, grid.frames, contract.codes, 2 * encoder.module.trunk.code_reach + 1) * _spread(encoder)
    return Track(embeddings, grid, encoder.hash, "random", codes=codes.astype(np.float16) if contract.codes else None)


def _spread(encoder: Encoder) -> float:
    """The length of random codes: two of them are as far apart as the encoder's typical cost, a score of a half."""
    return alignment_scale(encoder) / 2**0.5


def _smooth_rows(rng: np.random.Generator, rows: int, dimension: int, reach: int) -> NDArray[np.float16]:
    """(rows, dimension) random rows of unit norm; rows less than `reach` apart are alike."""
    smoothed = np.empty((rows, dimension), np.float16)
    for start in range(0, rows if dimension else 0, 4096):
        count = min(4096, rows - start)
        sums = np.cumsum(rng.standard_normal((count + reach, dimension)), axis=0)
        smoothed[start : start + count] = _unit(sums[reach:] - sums[:-reach])
    return smoothed


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)
