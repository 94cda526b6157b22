"""The videos and landmarks that are measured on: a little signing of the world, filmed once and repeated."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av

from benchmarks.sizes import Sizes
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import PoseWriter
from signspot_world.body.motion import FPS, continuous
from signspot_world.body.signers import Role, make_signer
from signspot_world.camera.estimator import observe
from signspot_world.camera.projection import project
from signspot_world.geometry.framing import Camera
from signspot_world.knobs import named_rng
from signspot_world.language.lexicon import LexiconOptions, make_lexicon
from signspot_world.render.appearance import make_appearance
from signspot_world.render.render import render_video

SEED = 7


@dataclass(frozen=True, slots=True)
class Footage:
    """One length of it."""

    seconds: float
    video: Path
    pose: Path

    @property
    def frames(self) -> int:
        """At 25 frames a second."""
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


def film(sizes: Sizes, folder: Path) -> tuple[Footage, Footage]:
    """Make the shorter and the longer footage."""
    size = (sizes.side, sizes.side)
    exact = sign(sizes.footage, size)
    exact = replace(exact, times=exact.times - exact.times[0])
    take = render_video(exact, make_appearance(SEED), folder / "take.mp4", size)
    seen = observe(exact, named_rng(SEED, "estimator"))
    made = []
    for name, seconds in (("short", sizes.short), ("long", sizes.long)):
        footage = Footage(seconds, folder / f"{name}.mp4", folder / f"{name}.pose")
        times = round(seconds / sizes.footage)
        repeat_video(take, footage.video, times)
        with PoseWriter(footage.pose) as writer:
            for again in repeat_landmarks(seen, times):
                writer.add(again)
        made.append(footage)
    return made[0], made[1]


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
