"""Training an RGB trunk: a step of the paper's I3D, formats of stored signs, and batches by how many processes."""

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import av
import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.isolation import Call, fastest, run, run_on
from benchmarks.material import SEED, sign
from benchmarks.rows import Comparison, against, rounded
from benchmarks.sizes import Sizes
from signspot.models.encoder_network import SignEncoder
from signspot.training.configuration import Compute, Precision
from signspot.training.loop import autocast, made_batches
from signspot.training.rgb import RgbTask, initial_trunk
from signspot.training.rgb_clips import ImageStore, RgbBatches, RgbBatchOptions, RgbConfig, RgbSign, RgbSigns
from signspot.video.clips import squashed_side
from signspot.video.reader import open_video
from signspot.video.writer import VideoWriter
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

_WORKERS = (1, 2)
_FRAMES = 25  # of a sign
_SIGNS = 24
_FILMED = 100  # frames in which formats are compared
_QUALITIES, _CRFS = (90, 95, 75), (18, 23)  # of JPEGs, of which the first is stored, and of H.264
Images = NDArray[np.uint8]  # (T, H, W, 3)


def feeding_rows(sizes: Sizes) -> list[Comparison]:
    """A step, bytes of a sign against those of its pixels, and clips per second by workers."""
    done = run_on(Call("feeding:feed", {"side": sizes.rgb_side, "batches": 4 * sizes.rounds}), 2, apart=sizes.apart)
    values, clip_size = done.values, f"clips of 16 × {sizes.rgb_side}²"
    rows = [
        Comparison(
            "Training",
            f"a stored sign of {_FRAMES} frames, against its pixels",
            against(values["stored"] / 1e3, values["pixels"] / 1e3, "kB"),
            values["stored"] / values["pixels"],
        )
    ]
    formats = run(Call("feeding:formats", {"side": sizes.rgb_side}), apart=sizes.apart).values
    rows += [
        Comparison(
            "Training",
            f"a sign of {_FRAMES} frames of rendered signing: {name} against JPEG 90, which is what is stored",
            f"{against(formats[f'{name}, bytes'] / 1e3, formats['JPEG 90, bytes'] / 1e3, 'kB')}; decoded in "
            f"{against(formats[f'{name}, ms'], formats['JPEG 90, ms'], 'ms')}; "
            f"off by {against(formats[f'{name}, loss'], formats['JPEG 90, loss'], 'of 255 grey levels')}",
            formats[f"{name}, bytes"] / formats["JPEG 90, bytes"],
        )
        for name in (*(f"JPEG {quality}" for quality in _QUALITIES[1:]), *(f"H.264 of CRF {crf}" for crf in _CRFS))
    ]
    step = run(Call("feeding:step", {"side": sizes.rgb_side, "rounds": min(2, sizes.rounds)}), apart=sizes.apart)
    seconds = step.values
    rows += [
        Comparison(
            "Training",
            f"I3D, a step of 4 {clip_size} on one core: products in bfloat16 against float32",
            f"{against(seconds['bfloat16'], seconds['float32'], 's')}; at most {rounded(step.peak)} MB",
            seconds["bfloat16"] / seconds["float32"],
        ),
    ]
    return rows + [
        Comparison(
            "Training",
            f"{clip_size}, decoded and augmented: {workers} processes that make batches against the one that trains",
            f"{against(values[f'{workers} workers'], values['0 workers'], 'clips per second on the clock')}; "
            f"{rounded(1000 * values['clip'])} ms of a core for each",
            values[f"{workers} workers"] / values["0 workers"],
        )
        for workers in _WORKERS
    ]


def formats(side: int) -> dict[str, float]:
    """Bytes of a sign, milliseconds of a core to decode it, and the mean error of its pixels, by format."""
    edge = squashed_side(side) // 2 * 2  # H.264 wants an even side
    with TemporaryDirectory() as folder:
        video_path = Path(folder, "video.mp4")
        render_video(sign(_FILMED / 25, (320, 240)), make_appearance(SEED), video_path, (320, 240))
        with open_video(video_path) as video:
            images = np.stack([cv2.resize(frame.image, (edge, edge)) for frame in video.resampled(25.0)])
    numbers: dict[str, float] = {}
    for quality in _QUALITIES:
        option = [cv2.IMWRITE_JPEG_QUALITY, quality]
        coded = [cv2.imencode(".jpg", image[..., ::-1], option)[1] for image in images]
        decode = partial(_decode_images, coded)
        numbers |= _described(f"JPEG {quality}", sum(map(len, coded)), decode, images)
    for crf in _CRFS:
        parts = [_as_h264(part, crf) for part in np.split(images, len(images) // _FRAMES)]
        decode = partial(_decode_videos, parts)
        numbers |= _described(f"H.264 of CRF {crf}", sum(map(len, parts)), decode, images)
    return numbers


def _described(name: str, size: int, decode: Callable[[], Images], images: Images) -> dict[str, float]:
    """The numbers of one format for one sign."""
    signs, off = len(images) / _FRAMES, np.abs(decode().astype(np.int16) - images).mean()
    seconds = fastest(3, {"decode": decode})["decode"]
    return {f"{name}, bytes": size / signs, f"{name}, ms": 1000 * seconds / signs, f"{name}, loss": float(off)}


def _decode_images(coded: Sequence[NDArray[np.uint8]]) -> Images:
    images = [cv2.imdecode(code, cv2.IMREAD_COLOR) for code in coded]
    assert all(image is not None for image in images), "coded just now"
    return np.stack(images)[..., ::-1]  # type: ignore[arg-type]


def _decode_videos(parts: Sequence[bytes]) -> Images:
    frames = []
    for part in parts:
        with av.open(BytesIO(part)) as container:
            frames += [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return np.stack(frames)


def _as_h264(images: Images, crf: int) -> bytes:
    """A sign as a video of its own, so that it can be read alone."""
    content = BytesIO()
    with av.open(content, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": str(crf), "preset": "medium"})
        stream.height, stream.width, stream.pix_fmt = *images.shape[1:3], "yuv420p"
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        container.mux(stream.encode())
    return content.getvalue()


def step(side: int, rounds: int) -> dict[str, float]:
    """Seconds of a step of the paper's I3D and batch, forward, backward and change of weights, by precision."""
    with TemporaryDirectory() as folder:
        task = make_task(Path(folder), side, width=1.0)
        batch = task.batch(0)
    optimiser, module = task.optimiser(), task.module.train()

    def train_once(precision: Precision) -> None:
        with autocast(torch.device("cpu"), Compute(precision=precision)):
            loss, _ = task.loss(module, batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return fastest(rounds, {name: partial(train_once, name) for name in ("float32", "bfloat16")})


def feed(side: int, batches: int) -> dict[str, float]:
    """Bytes of a sign, seconds of a core for a clip, and clips per second by workers."""
    with TemporaryDirectory() as folder:
        task = make_task(Path(folder), side)
        (stored,) = (path.stat().st_size for path in Path(folder).glob("*.jpegs"))
        began = process_time()
        task.batch(0)
        clips = task.config.batch.clips
        numbers = {"clip": (process_time() - began) / clips, "stored": stored / _SIGNS}
        numbers["pixels"] = float(_FRAMES * 3 * task.batches.signs.continuous[0].images[:1][0].shape[0] ** 2)
        for workers in (0, *_WORKERS):
            ready, steps = made_batches(task, range(batches + 1), workers, torch.device("cpu")), 0
            next(ready)  # processes are started
            start = perf_counter()
            steps = sum(1 for _ in ready)
            numbers[f"{workers} workers"] = steps * clips / (perf_counter() - start)
    return numbers


def make_task(folder: Path, side: int, width: float = 0.1) -> RgbTask:
    """A task of random signs, of which images are smooth with a little noise, as video is."""
    random = np.random.default_rng(0)
    video_path = folder / "video.mp4"
    with VideoWriter(video_path, 25.0, (320, 240)) as writer:
        for _ in range(_FRAMES * _SIGNS):
            smooth = cv2.resize(random.integers(0, 256, (12, 16, 3), np.uint8), (320, 240))
            writer.add(np.clip(smooth + random.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8))
    store = ImageStore(folder, 25.0, side)
    cut = store.segments(video_path, [number * _FRAMES / 25 for number in range(_SIGNS)], _FRAMES)
    signs = tuple(RgbSign(images, number % 4, 0.0, "video") for number, images in enumerate(cut))
    config = RgbConfig(
        model={"image_size": side, "width": width}, batch=RgbBatchOptions(clips=4, dictionary=0.0), epochs=1
    )
    module: SignEncoder = initial_trunk(config, 4)
    return RgbTask(config, module, RgbBatches(RgbSigns(("a", "b", "c", "d"), signs, ()), config, 16, side))
