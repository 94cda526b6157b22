"""The steps of the pipeline, each to be measured in a process of its own: frames, and frames per second."""

from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

from benchmarks.isolation import rate
from benchmarks.material import landmark_encoder, random_gallery, repeat_landmarks
from signspot.embedding import inputs
from signspot.embedding.windows import SourceEmbedder, embed
from signspot.landmarks.features import FeatureStream
from signspot.landmarks.pose_file import open_landmarks
from signspot.landmarks.video_estimation import MAX_SIDE, stream_landmarks
from signspot.spotting.spotter import Spotter
from signspot.types import Grid, Track
from signspot.video.reader import open_video

_FPS = 25.0
_CHUNK = 64  # frames, as the estimator gives them


def decode(video: str) -> dict[str, float]:
    """Video → frames."""
    with open_video(video, max_side=MAX_SIDE) as opened:
        return _told(rate(1 for _ in opened.resampled(_FPS)))


def estimate(video: str) -> dict[str, float]:
    """Video → landmarks, in chunks that are let go."""
    return _told(rate(len(chunk) for chunk in stream_landmarks(video, _FPS)))


def embed_stream(pose: str, times: int) -> dict[str, float]:
    """Landmarks that arrive in chunks → features → track, as behind the estimator; the file's, several times."""
    encoder, landmarks = landmark_encoder(), open_landmarks(pose)
    stream, dense = FeatureStream(), SourceEmbedder(encoder, 1)

    def counts() -> Iterator[int]:
        for again in repeat_landmarks(landmarks, times):
            for start in range(0, len(again), _CHUNK):
                dense.push(stream.push(again[start : start + _CHUNK]))
                yield len(again[start : start + _CHUNK])
        dense.push(stream.finish())
        embedded = dense.finish()
        Track(embedded.rows, Grid(_FPS, encoder.contract.frames, 1, embedded.frames), encoder.hash)
        yield 0  # what was left over takes time, too

    return _told(rate(counts()))


def embed_file(pose: str) -> dict[str, float]:
    """A `.pose` file → track, in one call."""
    encoder = landmark_encoder()
    start = process_time()
    track = embed(encoder, pose)
    return _told((track.grid.frames, track.grid.frames / (process_time() - start)))


def spot(video: str, words: int) -> dict[str, float]:
    """Video → spottings of so many words with decoys: the whole pipeline, and how much the estimator takes."""
    spotter = Spotter(landmark_encoder())
    gallery = random_gallery(words, 3, spotter.encoder)
    clock = _EstimatorClock()
    with patch.object(inputs, "stream_source", clock.timed):
        start = process_time()
        spotter.spot(Path(video), gallery)
        seconds = process_time() - start
    assert clock.frames, "the estimator was not timed"
    return {"frames": clock.frames, "rate": clock.frames / seconds, "estimator": clock.seconds, "seconds": seconds}


class _EstimatorClock:
    """Times the estimator inside the pipeline; decoding counts with it."""

    def __init__(self) -> None:
        self.frames, self.seconds = 0, 0.0

    def timed(self, video: Path, *arguments: Any, **named: Any) -> Iterator[Any]:
        chunks = stream_landmarks(video, *arguments, **named)
        while True:
            start = process_time()
            chunk = next(chunks, None)
            self.seconds += process_time() - start
            if chunk is None:
                return
            self.frames += len(chunk)
            yield chunk


def _told(counted: tuple[int, float]) -> dict[str, float]:
    return {"frames": counted[0], "rate": counted[1]}
