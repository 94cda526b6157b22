"""Jobs by which two versions are compared: `python tools/compare_versions.py OLD NEW --jobs benchmarks/jobs.py`.

Each makes ready what it needs and returns the work that is timed. What a user of either version waits for comes with
the shipped encoder and default options, whatever these are.
"""

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signspot.spotting.options import MatchBy

Work = Callable[[], object]

_FILMED = 2.0  # seconds of film, repeated where more is wanted
_POSE = 120.0  # seconds of landmarks
_SIDE = 320  # pixels


def prepare(folder: Path) -> None:
    """The files that both versions work on: film, landmarks, and a small corpus of landmarks with a dictionary."""
    from dataclasses import replace

    from benchmarks.material import film
    from benchmarks.sizes import FULL
    from signspot_synthetic.corpus_writer import make_corpus
    from signspot_synthetic.plan import CorpusOptions

    film(replace(FULL, footage=_FILMED, short=_FILMED, long=_POSE, side=_SIDE), folder)
    make_corpus(CorpusOptions(words=60, hours=0.05, seed=7, video_seconds=60), folder / "corpus")


def synthetic_landmarks(folder: Path) -> Work:
    """Synthetic signing: three minutes of landmarks."""
    from dataclasses import replace

    from benchmarks.material import SEED
    from signspot_synthetic.performance import perform_video
    from signspot_synthetic.plan import CorpusOptions, CorpusPlan

    corpus = CorpusPlan(CorpusOptions(words=20, seed=SEED))
    plan = corpus.videos[0]
    perform_video(corpus, replace(plan, seconds=5.0))
    return lambda: f"{len(perform_video(corpus, replace(plan, seconds=180.0)).footage.exact):,} frames"


def synthetic_video(folder: Path) -> Work:
    """Synthetic signing: two seconds of film, 256 × 256."""
    from benchmarks.synthetic import render

    return lambda: f"{render(2.0, 256, 1)['filmed']:g} s"


def synthetic_corpus(folder: Path) -> Work:
    """Synthetic signing: a corpus of three minutes of landmarks, 20 words."""
    from benchmarks.synthetic import fill

    return lambda: f"{fill(0.05, 20)['videos']} videos"


def loss_of_the_appendix(folder: Path) -> Work:
    """A step of the loss, bags of the appendix, 1,408 clips × 1,436 exemplars × 256."""
    return _loss("appendix")


def loss_as_released(folder: Path) -> Work:
    """A step of the loss, bags as released, the same size."""
    return _loss("released")


def trunk_dense(folder: Path) -> Work:
    """Landmark trunk and MLP, random weights: 2,000 windows in a dense pass."""
    return _trunk("encoder dense")


def trunk_in_batches(folder: Path) -> Work:
    """The same, sliding windows in batches of 64."""
    return _trunk("encoder batched")


def i3d_stem_shared(folder: Path) -> Work:
    """I3D, 112 × 112: 4 windows of stride 1 with a shared stem."""
    return _i3d("shared")


def i3d_in_batches(folder: Path) -> Work:
    """I3D, 112 × 112: 4 windows in a batch."""
    return _i3d("batched")


def search_of_few(folder: Path) -> Work:
    """An hour of track → spottings of 20 words × 3 exemplars, as shipped."""
    return _search(3600.0, 20, 3)


def search_of_few_by_embedding(folder: Path) -> Work:
    """The same by embeddings, no decoys."""
    return _search(3600.0, 20, 3, match="embedding", decoys=False)


def search_of_many(folder: Path) -> Work:
    """Two minutes of track → spottings of 1,000 words × 2 exemplars, as shipped."""
    return _search(120.0, 1000, 2)


def search_of_many_by_embedding(folder: Path) -> Work:
    """A quarter of an hour of track → spottings of 1,000 words × 2 exemplars by embeddings, no decoys."""
    return _search(900.0, 1000, 2, match="embedding", decoys=False)


def video_to_frames(folder: Path) -> Work:
    """Two minutes of film → frames."""
    from benchmarks.stages import decode

    return lambda: f"{decode(str(folder / 'long.mp4'))['frames']:,} frames"


def video_to_landmarks(folder: Path) -> Work:
    """Two seconds of film → landmarks by MediaPipe."""
    from benchmarks.stages import estimate

    return lambda: f"{estimate(str(folder / 'short.mp4'))['frames']} frames"


def chunks_to_track(folder: Path) -> Work:
    """Two minutes of landmarks in chunks → track, as shipped."""
    from benchmarks.stages import embed_stream

    return lambda: f"{embed_stream(str(folder / 'long.pose'), 1)['frames']:,} frames"


def pose_to_track(folder: Path) -> Work:
    """A `.pose` file of two minutes → track, as shipped."""
    from signspot.embedding.windows import embed
    from signspot.models.checkpoints import load_encoder

    encoder = load_encoder()
    return lambda: f"{embed(encoder, folder / 'long.pose').grid.frames:,} frames"


def video_to_spottings(folder: Path) -> Work:
    """The whole pipeline: two seconds of film → spottings of 20 words × 3 exemplars, as shipped."""
    from benchmarks.stages import spot

    return lambda: f"{spot(str(folder / 'short.mp4'), 20)['frames']} frames"


def exemplars_to_gallery(folder: Path) -> Work:
    """A dictionary of 60 words in `.pose` files → gallery, as shipped."""
    from signspot.dictionary.opening import open_dictionary
    from signspot.spotting.spotter import load

    spotter, dictionary = load(cache=False), open_dictionary(folder / "corpus" / "dictionary")
    return lambda: f"{len(spotter.gallery(dictionary).exemplars)} exemplars"


def annotation(folder: Path) -> Work:
    """Three minutes of `.pose` files with subtitles, 60 words → store, in one process, as shipped."""
    from signspot.annotation.engines import HereEngine

    return lambda: _annotate(folder, HereEngine())


def annotation_of_tracks(folder: Path) -> Work:
    """The same with tracks and exemplars in the cache."""
    from signspot.annotation.engines import HereEngine

    _annotate(folder, HereEngine(), folder / "kept-new")
    return lambda: _annotate(folder, HereEngine(), folder / "kept-new")


def annotation_but_for_the_search(folder: Path) -> Work:
    """The same without workers' work: subtitles, plan, store."""
    known = _Known()
    _annotate(folder, known, folder / "known-new")
    return lambda: _annotate(folder, known, folder / "known-new")


def help_text(folder: Path) -> Work:
    """`signspot --help`."""
    return lambda: _signspot("--help")


def spot_again(folder: Path) -> Work:
    """`signspot spot` of one word in two minutes, the second time."""
    arguments = "spot", str(folder / "long.pose"), str(folder / "corpus" / "dictionary"), "apple"
    _signspot(*arguments)
    return lambda: _signspot(*arguments)


def spot_all_again(folder: Path) -> Work:
    """`signspot spot` of all 60 words in two minutes, the second time."""
    arguments = "spot", str(folder / "long.pose"), str(folder / "corpus" / "dictionary")
    _signspot(*arguments)
    return lambda: _signspot(*arguments)


def _loss(bags: Any) -> Work:
    from benchmarks.loss import make_batch
    from signspot.losses.watch_read_lookup import watch_read_lookup

    batch = make_batch(128, 1436)

    def step() -> str:
        batch.clips.grad = batch.exemplars.grad = None
        loss = watch_read_lookup(batch, bags=bags)
        loss.backward()  # type: ignore[no-untyped-call]
        return f"{loss.item():.5f}"

    return step


def _trunk(how: str) -> Work:
    import torch

    from signspot.models.landmark_trunk import LandmarkTrunk
    from signspot.models.registry import build

    torch.manual_seed(0)
    module = build("landmark").eval()
    trunk = module.trunk
    assert isinstance(trunk, LandmarkTrunk)
    x = torch.randn(2000 + trunk.frames - 1, trunk.joints, trunk.channels)
    clips = x.unfold(0, trunk.frames, 1).permute(0, 3, 1, 2)
    batches = [clips[start : start + 64].contiguous() for start in range(0, len(clips), 64)]
    blocks = [x[None, start : start + 512 + trunk.frames - 1] for start in range(0, len(clips), 512)]

    def work() -> None:
        with torch.inference_mode():
            for block in blocks if how == "encoder dense" else ():
                module.mlp(trunk.dense(block))
            for batch in batches if how == "encoder batched" else ():
                module(batch)

    return work


def _i3d(how: str) -> Work:
    import torch

    from signspot.models.encoder import make_encoder
    from signspot.models.inception import I3D, WindowEmbedder
    from signspot.models.registry import build

    torch.manual_seed(0)
    frames = torch.rand(4 + 15, 3, 112, 112) - 0.5
    clips = torch.stack([frames[at : at + 16].transpose(0, 1) for at in range(4)])
    trunk, shared = make_encoder("i3d", build("i3d")).module.trunk, WindowEmbedder(I3D().eval())

    def work() -> None:
        with torch.inference_mode():
            _ = shared(frames, range(4)) if how == "shared" else trunk(clips)

    return work


def _search(seconds: float, words: int, each: int, match: "MatchBy" = "auto", *, decoys: bool = True) -> Work:
    from dataclasses import replace

    from benchmarks.material import landmark_encoder, random_gallery, random_track
    from signspot.spotting.decoys import ScoreCalibration
    from signspot.spotting.spotter import Spotter

    encoder = landmark_encoder()
    track = random_track(encoder, seconds)
    gallery = random_gallery(words, each, encoder, track)

    def work() -> str:
        spotter = Spotter(encoder)
        if not decoys:
            spotter.__dict__["_calibration"] = ScoreCalibration(
                spotter._calibration.scale
            )  # as of an encoder that comes without
        once = replace(track, embeddings=track.embeddings.view())  # as a track that was not searched before
        return f"{len(spotter.spot(once, gallery, match=match)):,} spottings"

    return work


class _Known:
    """An engine that does each item once, and knows the result from then on."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}

    def run(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            name = f"{type(item).__name__} {getattr(item, 'id', item)}"
            if name not in self.done:
                self.done[name] = work(item)
            yield item, self.done[name]

    def __enter__(self) -> "_Known":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _annotate(folder: Path, engine: Any, cache: Path | None = None) -> str:
    from signspot.annotation.options import AnnotateOptions
    from signspot.annotation.run import AnnotationJob, annotate

    with TemporaryDirectory() as place:
        out, corpus = Path(place), folder / "corpus"
        job: AnnotationJob = AnnotationJob(corpus, corpus / "dictionary", out, cache=cache or out)
        report = annotate(job, AnnotateOptions(), engine)
        return f"{report.queries:,} queries, {report.candidates:,} candidates"


def _signspot(*arguments: str) -> None:
    command = [sys.executable, "-m", "signspot", *arguments]
    subprocess.run(command, check=True, capture_output=True)
