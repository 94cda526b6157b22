"""Comparison of the backends of an rgb trunk: speed as a ratio to eager PyTorch, and agreement of their features.

    python -m experiments.rgb_backends news.mp4 --side 224 --windows 32
    python -m experiments.rgb_backends news.mp4 --encoder my-i3d.safetensors
    python -m experiments.rgb_backends news.mp4 --encoder my-i3d.safetensors --corpus filmed/

Eager is the plain network over windows one by one, as the authors' tool runs it; all others see the same frames in the
same process. Times are of the processor, on one thread, the fastest of a few rounds. Without an encoder the weights of
the I3D are random: then agreement is numeric only, and says nothing of spottings. `curve` is the correlation of the
similarities of every window with every eighth window, by the backend and by eager PyTorch. With a corpus whose signs
are known, all its words are spotted in its test videos by every backend, as users spot them, and once by the same
network with random weights. int8 is calibrated on frames of the video that is named first.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.markdown import head, row
from signspot.corpus.corpus import open_corpus
from signspot.embedding.windows import read_examples
from signspot.errors import OptionsError
from signspot.evaluation.labelled_corpus import evaluate_corpus, part_to_test
from signspot.models.backends import Backend, find_backend
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Contract
from signspot.models.inception import I3D, I3DOptions, InceptionTrunk, WindowEmbedder
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import load
from signspot.video.clips import squash_and_crop
from signspot.video.reader import open_video

_INT8 = "openvino-int8"
BACKENDS = ("cpu", "cpu-compiled", "openvino", "openvino-bf16", _INT8)
_QUERY = 8  # windows from one query to the next


def read_frames(path: str, side: int, count: int, fps: float = 25.0) -> Tensor:
    """(count, 3, side, side) the first frames of a video, as a trunk sees them."""
    with open_video(path) as video:
        frames = [squash_and_crop(frame.image, side) for frame in islice(video.resampled(fps), count)]
    if len(frames) < count:
        raise OptionsError(f"{path} has {len(frames)} frames; {count} are needed. Ask for fewer windows")
    return torch.from_numpy(np.stack(frames))


def random_trunk(frames: Tensor) -> InceptionTrunk:
    """An I3D of random weights whose batch norms have seen clips of some frames: signals live to the last layer."""
    torch.manual_seed(0)
    return see_clips(I3D(I3DOptions(image_size=frames.shape[-1])), frames)


def see_clips(trunk: InceptionTrunk, frames: Tensor) -> InceptionTrunk:
    """A trunk whose batch norms tell of clips of some frames alone."""
    for unit in trunk.modules():
        if isinstance(unit, nn.BatchNorm3d):
            unit.momentum = 1.0  # what they have seen last counts
    starts = np.linspace(0, len(frames) - trunk.frames, 4).astype(int)
    with torch.no_grad():
        trunk.train()(torch.stack([frames[at : at + trunk.frames].transpose(0, 1) for at in starts]))
    return trunk.eval()


def one_by_one(trunk: InceptionTrunk, frames: Tensor, windows: int) -> Tensor:
    """(windows, D) features by the plain network."""
    with torch.inference_mode():
        clips = (frames[start : start + trunk.frames].transpose(0, 1)[None] for start in range(windows))
        return torch.cat([trunk(clip) for clip in clips])


def measure(trunk: InceptionTrunk, backend: Backend, frames: Tensor, windows: int, rounds: int) -> tuple[Tensor, float]:
    """Features of all windows of stride 1, and the fewest processor seconds of a few rounds after a first one."""
    trunk.backend = backend
    contract, calibration = Contract("rgb", trunk.frames, image_size=trunk.image_size), backend.calibration
    length = trunk.block + trunk.frames - 1
    examples = None if calibration is None else partial(read_examples, calibration, contract, length)
    embed = WindowEmbedder(trunk, examples=examples)
    features = embed(frames, range(windows))
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        features = embed(frames, range(windows))
        spent.append(time.process_time() - began)
    return features, min(spent, default=float("nan"))


def device_of(backend: str, video: str) -> str:
    """The device of a backend's name, calibrated on a video where it has to be."""
    return f"{backend}:{video}" if backend == _INT8 else backend


def agreement(features: Tensor, expected: Tensor) -> tuple[float, float]:
    """The lowest cosine of a window's features, and the mean correlation of similarity curves."""
    normalised, expected_normalised = F.normalize(features), F.normalize(expected)
    curves = [features @ features[::_QUERY].T for features in (normalised, expected_normalised)]
    pairs = zip(curves[0].T.numpy(), curves[1].T.numpy(), strict=True)
    together = [float(np.corrcoef(first, second)[0, 1]) for first, second in pairs]
    return float((normalised * expected_normalised).sum(dim=1).min()), float(np.mean(together))


def spot_corpus(encoder: str, folder: str, device: str, frames: Tensor | None = None) -> list[str]:
    """Scores of spotting, retrieval and localisation in the test videos of a corpus; processor seconds per minute.

    Args:
        encoder: an rgb encoder.
        folder: of the corpus.
        device: by its name.
        frames: by which batch norms start anew; then all weights are random.
    """
    spotter = load(encoder, cache=False, device=device)
    trunk = spotter.encoder.module.trunk
    if not isinstance(trunk, InceptionTrunk):
        raise OptionsError(f"{encoder} is not an rgb encoder")
    if frames is not None:
        torch.manual_seed(0)
        for unit in trunk.modules():
            if isinstance(unit, nn.Conv3d | nn.BatchNorm3d):
                unit.reset_parameters()
        see_clips(trunk, frames)
    corpus, words = part_to_test(open_corpus(folder), "all")
    began = time.process_time()
    scores = evaluate_corpus(spotter, corpus, words, SpotOptions())
    spent = (time.process_time() - began) / (60 * scores.hours)
    if scores.spotting is None:
        raise OptionsError(f"not every sign of {folder} is known. Take a synthetic corpus")
    columns = scores.spotting.mean_average_precision, scores.mean_average_precision, scores.localisation
    return [*map(str, columns), f"{spent:.2f}"]


def spotting_lines(encoder: str, folder: str, devices: Sequence[str], frames: Tensor) -> Iterator[str]:
    """A table of what every backend spots in a corpus."""
    yield "\n" + head("backend", "mAP of spotting", "mAP of retrieval", "localisation", "processor s per minute")
    for device in devices:
        yield row(device.partition(":")[0], *spot_corpus(encoder, folder, device))
    yield row("cpu, random weights", *spot_corpus(encoder, folder, "cpu", frames))


def prepare(video: str, encoder: str | None, side: int, windows: int) -> tuple[InceptionTrunk, Tensor]:
    """A trunk, of an encoder or with random weights, and frames for so many windows."""
    if encoder is None:
        frames = read_frames(video, side, windows + I3DOptions.frames - 1)
        return random_trunk(frames), frames
    trunk = load_encoder(encoder).module.trunk
    if not isinstance(trunk, InceptionTrunk):
        raise OptionsError(f"{encoder} is not an rgb encoder")
    return trunk, read_frames(video, trunk.image_size, windows + trunk.frames - 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every backend over the same windows, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.rgb_backends", description=__doc__)
    parser.add_argument("video")
    parser.add_argument("--encoder", help="an rgb encoder; without, an I3D with random weights")
    parser.add_argument("--side", type=int, default=224, help="pixels, of an I3D with random weights")
    parser.add_argument("--windows", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--corpus", help="of filmed signing whose signs are known; needs --encoder")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="repeatable [default: all]")
    options = parser.parse_args(arguments)
    if options.corpus and not options.encoder:
        parser.error("--corpus needs --encoder")
    torch.set_num_threads(1)
    trunk, frames = prepare(options.video, options.encoder, options.side, options.windows)
    few = max(2, options.windows // 4)  # eager is slow, and its time grows with the windows
    began = time.process_time()
    one_by_one(trunk, frames, few)
    eager = (time.process_time() - began) / few
    lines = [
        f"{options.windows} windows of {trunk.frames} × {trunk.image_size} × {trunk.image_size}; "
        f"eager, one by one: {eager:.3f} s of processor time per window",
        "",
        head("backend", "seconds per window", "times as fast as eager", "lowest cosine", "curve"),
    ]
    expected, _ = measure(trunk, Backend(), frames, options.windows, 0)
    names = options.backend or BACKENDS
    for name in names:
        backend = find_backend(device_of(name, options.video))
        features, spent = measure(trunk, backend, frames, options.windows, options.rounds)
        lowest, curve = agreement(features, expected)
        seconds = spent / options.windows
        label = "cpu, stem shared by windows" if name == "cpu" else name
        lines.append(row(label, f"{seconds:.3f}", f"{eager / seconds:.2f}", f"{lowest:.5f}", f"{curve:.5f}"))
    sys.stdout.write("\n".join(lines) + "\n")
    if options.corpus:
        devices = [device_of(name, options.video) for name in names]
        for line in spotting_lines(options.encoder, options.corpus, devices, frames):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
