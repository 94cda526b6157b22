"""From a video to spottings: frames per second and peak memory of every stage, on a long video and a short one."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.isolation import Call, Measurement, run
from benchmarks.material import Filmed, landmark_encoder, render_footage
from benchmarks.rows import Comparison, against, rounded
from benchmarks.sizes import Sizes
from signspot_synthetic.body.motion import FPS

ALLOWANCE = 8.0  # MB by which peak memory may grow beside the track
ESTIMATOR_SHARE = 0.1  # of the estimator's time, that encoder and search may add
_SPEED, _MEMORY = "The pipeline, speed", "The pipeline, peak memory"

STAGES = {
    "decode": "video → frames",
    "estimate": "video → landmarks",
    "embed_stream": "landmarks in chunks → track",
    "embed_file": "`.pose` file → track",
    "spot": "video → spottings, the whole pipeline",
}
_TRACKLESS = ("decode", "estimate")


def pipeline_rows(sizes: Sizes) -> list[Comparison]:
    """All rows of the pipeline."""
    with TemporaryDirectory() as folder:
        footage = render_footage(sizes, Path(folder))
        measured = [_measure_all(length, footage[0], sizes) for length in footage]
    speed = [_speed(name, measured[1][name], measured[0][name], footage) for name in STAGES]
    memory = [_memory(name, measured[1][name], measured[0][name], footage) for name in STAGES]
    return [*speed, _added(measured[1]["spot"], footage[1], sizes), *memory]


def _measure_all(footage: Filmed, short: Filmed, sizes: Sizes) -> dict[str, Measurement]:
    video, pose = {"video": str(footage.video)}, {"pose": str(footage.pose)}
    options: dict[str, dict[str, Any]] = {
        "decode": video,
        "estimate": video,
        "embed_stream": {"pose": str(short.pose), "times": round(footage.seconds / short.seconds)},
        "embed_file": pose,
        "spot": {**video, "words": sizes.words},
    }
    return {name: run(Call(f"stages:{name}", options[name]), apart=sizes.apart) for name in STAGES}


def _speed(name: str, long: Measurement, short: Measurement, footage: tuple[Filmed, Filmed]) -> Comparison:
    for measurement, length in zip((short, long), footage, strict=True):
        assert measurement.values["frames"] == length.frames, (
            f"{name}: {measurement.values['frames']} of {length.frames} frames"
        )
    rates = long.values["rate"], short.values["rate"]
    return Comparison(_SPEED, _lengths(name, footage), against(*rates, "frames per second"), rates[0] / rates[1])


def _memory(name: str, long: Measurement, short: Measurement, footage: tuple[Filmed, Filmed]) -> Comparison:
    track = 0.0 if name in _TRACKLESS else (footage[1].frames - footage[0].frames) * _bytes_per_frame() / 2**20
    grown = long.peak - short.peak
    allowed = f"{rounded(track)} MB of track + {rounded(ALLOWANCE)} MB" if track else f"{rounded(ALLOWANCE)} MB"
    return Comparison(
        _MEMORY,
        _lengths(name, footage),
        f"{against(long.peak, short.peak, 'MB')}: {grown:+.1f} MB",
        long.peak / short.peak,
        f"grows by at most {allowed}",
        grown <= track + ALLOWANCE,
    )


def _bytes_per_frame() -> int:
    """Bytes of a track per frame: an embedding and a code of 16-bit numbers."""
    contract = landmark_encoder().contract
    return 2 * (contract.dimension + contract.codes)


def _added(spot: Measurement, footage: Filmed, sizes: Sizes) -> Comparison:
    """The share of encoder and search beside the estimator, within one run of the whole pipeline."""
    whole, estimator = spot.values["seconds"], spot.values["estimator"]
    added = whole - estimator
    return Comparison(
        _SPEED,
        f"all but the estimator: encoder, alignment of {sizes.words} words × 3 exemplars and of decoys, against "
        f"decoding and the estimator, {_length(footage)} of video",
        f"{against(added, estimator, 's')}; the whole pipeline at {rounded(footage.frames / FPS / whole)} × real time",
        added / estimator,
        f"below {rounded(ESTIMATOR_SHARE)}",
        added / estimator < ESTIMATOR_SHARE,
    )


def _lengths(name: str, footage: tuple[Filmed, Filmed]) -> str:
    return f"{STAGES[name]}: {_length(footage[1])} against {_length(footage[0])}"


def _length(footage: Filmed) -> str:
    return f"{footage.seconds / 60:.2g} min" if footage.seconds >= 60 else f"{footage.seconds:g} s"
