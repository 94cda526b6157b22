"""New exemplars from unlabelled footage: the best spottings of a word first, and different from each other."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from signspot.applications.sign_comparison import write_exemplar_page
from signspot.dictionary.build import file_name
from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.dictionary.json_file import save_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError, OutputError
from signspot.io.checks import check_numbers
from signspot.io.progress import Progress, silent
from signspot.landmarks.pose_file import is_pose_file, open_landmarks, write_landmarks
from signspot.models.frame_coder import stretched
from signspot.plots.curves import clock, playable
from signspot.spotting.matching import warping_costs
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Spotter
from signspot.spotting.track_search import SearchResult
from signspot.types import Exemplar, Segment, Spotting, Track
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter

_AROUND = 0.4  # seconds before and after a sign, in its clip
_VIDEO_COUNTS = 0.5  # what another video is worth, against a performance that differs by a whole sign


@dataclass(frozen=True, slots=True)
class MineOptions:
    """Options of mining: the number of new exemplars, and their diversity."""

    most: int = 20
    diversity: float = 0.3  # 0: the best scores alone; 1: the most different alone

    def __post_init__(self) -> None:
        check_numbers(self, "most", least=1)
        check_numbers(self, "diversity", least=0, most=1)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place in footage that may serve as an exemplar."""

    spotting: Spotting
    novelty: float  # from 0, like one that was chosen before, to 1
    rank: int  # in the order of choice, from 1


def find_exemplars(
    spotter: Spotter,
    gallery: Gallery,
    footage: Sequence[str | Path | Track],
    options: MineOptions | None = None,
    spotting: SpotOptions | None = None,
    progress: Progress = silent,
) -> list[Candidate]:
    """Find new exemplars of one word, in order of choice.

    Each next one weighs its score against how like it is to those that were chosen before: the same video, and the
    same way of signing, cost.

    Args:
        spotter: with an encoder.
        gallery: of one word, as `Spotter.gallery` makes it.
        footage: videos, `.pose` files or tracks.
        options: how many and how diverse.
        spotting: how to decide what is a spotting at all.
        progress: receives the videos that are searched.

    Raises:
        OptionsError: the gallery is of several words, or there is no footage.
    """
    chosen = options or MineOptions()
    if len(gallery.words) != 1:
        raise OptionsError(f"one word is mined at a time; got {len(gallery.words)}")
    if not footage:
        raise OptionsError("there is no footage to mine. Name videos, .pose files or tracks")
    candidates: list[Spotting] = []
    codes: list[NDArray[np.float32] | None] = []
    for done, source in enumerate(footage):
        progress(done, len(footage))
        result = spotter.search(source, gallery, spotting)
        candidates += result.spottings
        codes += [_codes(result, candidate) for candidate in result.spottings]
    progress(len(footage), len(footage))
    return _choose(candidates, _dissimilarity(candidates, codes), chosen)


def _codes(result: SearchResult, spotting: Spotting) -> NDArray[np.float32] | None:
    """(16, C) frame codes of a place in a track."""
    if result.track.codes is None:
        return None
    grid = result.track.grid
    first, last = ((time - grid.origin) * grid.fps for time in (spotting.start, spotting.end))
    whole = torch.from_numpy(np.asarray(result.track.codes, np.float32))
    return np.asarray(stretched(whole, first, last).numpy())


def _dissimilarity(candidates: Sequence[Spotting], codes: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float64]:
    """(N, N) the dissimilarity of two segments, from 0 to 1: by their videos and by how they are signed."""
    videos = np.array([code.video for code in candidates])
    dissimilar: NDArray[np.float64] = _VIDEO_COUNTS * (videos[:, None] != videos[None]).astype(np.float64)
    present = [code for code in codes if code is not None]
    if present and len(present) == len(candidates):
        stacked = np.stack(present)
        costs = warping_costs(stacked, stacked)
        dissimilar += (1 - _VIDEO_COUNTS) * np.clip(costs / max(float(costs.max()), 1e-6), 0, 1)
    return dissimilar


def _choose(candidates: Sequence[Spotting], dissimilar: NDArray[np.float64], options: MineOptions) -> list[Candidate]:
    scores = np.array([candidate.score for candidate in candidates])
    novelty = np.ones(len(candidates))
    left = list(range(len(candidates)))
    chosen: list[Candidate] = []
    while left and len(chosen) < options.most:
        value = (1 - options.diversity) * scores[left] + options.diversity * novelty[left]
        best = left.pop(int(value.argmax()))
        chosen.append(Candidate(candidates[best], float(novelty[best]), len(chosen) + 1))
        novelty = np.minimum(novelty, dissimilar[best])
    return chosen


def write_dictionary(mined: Sequence[Candidate], folder: str | Path, progress: Progress = silent) -> Dictionary:
    """Cut the clips out of the footage, into a dictionary folder with where each sign is.

    Raises:
        OutputError: the folder is not empty, or a track has no video behind it any more.
    """
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        raise OutputError(f"{target} is not empty. Name a new folder for the new exemplars")
    exemplars = []
    for done, candidate in enumerate(mined):
        progress(done, len(mined))
        spotting = candidate.spotting
        stem = f"{candidate.rank:03d}-{file_name(Path(spotting.video).stem)}@{spotting.start:.2f}"
        exemplars.append(_cut(spotting, target / "media" / file_name(spotting.word), stem))
    dictionary = Dictionary(Contents(tuple(exemplars)), target)
    save_dictionary(dictionary, target)
    progress(len(mined), len(mined))
    return dictionary


def write_spottings_page(
    spotter: Spotter, spottings: Sequence[Spotting], path: str | Path, title: str, missing: Sequence[str] = ()
) -> Path:
    """Write a page with a clip of every spotting, by word; one whose video is not there is named.

    `missing` are words that were searched without being found: they are named, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        exemplars = []
        for number, spotting in enumerate(spottings, 1):
            where = f"{Path(spotting.video).name} at {clock(spotting.time, 1)}"
            name = f"{where}, {spotting.score:.2f} {spotting.confidence}".rstrip()
            has_file = is_pose_file(spotting.video) or playable(spotting.video) is not None
            if has_file and Path(spotting.video).is_file():
                exemplars.append(replace(_cut(spotting, Path(folder), f"{number:03d}"), id=name))
            else:
                exemplars.append(Exemplar(spotting.word, name))
        return write_exemplar_page(spotter, exemplars, path, title, missing)


def _cut(spotting: Spotting, folder: Path, stem: str) -> Exemplar:
    segment = Segment(spotting.start, spotting.end)
    around = segment.padded(_AROUND)
    sign = Segment(segment.start - around.start, segment.end - around.start)
    exemplar = Exemplar(
        spotting.word, f"{spotting.word}/{stem}", source=spotting.video, variant=spotting.variant, segment=sign
    )
    if is_pose_file(spotting.video):
        landmarks = open_landmarks(spotting.video).between(around)
        path = folder / f"{stem}.pose"
        write_landmarks(replace(landmarks, times=landmarks.times - landmarks.times[0]), path)
        return replace(exemplar, path=path)
    video = playable(spotting.video)
    if video is None:
        raise OutputError(f"cannot cut a clip out of {spotting.video}: there is no video. Write spottings with --out")
    path = folder / f"{stem}.mp4"
    with open_video(video) as opened, VideoWriter(path, 25.0) as writer:
        for frame in opened.resampled(25.0, around):
            writer.add(frame.image)
    return replace(exemplar, path=path)


def videos_in(paths: Sequence[Path]) -> Iterator[str]:
    """Videos, `.pose` files and tracks that paths name: files themselves, and all media in folders.

    Raises:
        OptionsError: a folder holds none, or a path leads nowhere.
    """
    from signspot.embedding.tracks import SUFFIX
    from signspot.video import MEDIA_SUFFIXES

    suffixes = {*MEDIA_SUFFIXES, SUFFIX}
    for path in paths:
        if not path.exists():
            raise OptionsError(f"there is no file or folder {path}")
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in suffixes) if path.is_dir() else [path]
        if not files:
            raise OptionsError(f"there is no video, .pose file or track in {path}")
        yield from map(str, files)
