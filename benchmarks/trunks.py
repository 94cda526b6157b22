"""Windows that share their work against windows one by one: the landmark trunk's dense pass, and I3D."""

import torch
from torch import Tensor

from benchmarks.isolation import Call, fastest, run
from benchmarks.material import landmark_encoder
from benchmarks.rows import Comparison, against, at_least
from benchmarks.sizes import Sizes
from signspot.models.encoder_network import make_encoder
from signspot.models.inception import I3D, WindowEmbedder
from signspot.models.landmark_trunk import LandmarkTrunk
from signspot.models.registry import build

_GROUP = "Windows"
_DENSE_LEAST = 8.0
_BLOCK = 512  # windows a dense pass, as in embedding
_BATCH = 64  # landmark windows at once, where they are batched
_RGB_BATCH = 8  # I3D windows at once, as in embedding


def trunk_rows(sizes: Sizes) -> list[Comparison]:
    """Dense against naive, and I3D shared against plain."""
    options = {"windows": sizes.windows, "rounds": sizes.rounds}
    seconds = run(Call("trunks:landmark", options), apart=sizes.apart).values
    rates = {name: sizes.windows / value for name, value in seconds.items()}
    rows = [_landmark_row(rates, *names) for names in _LANDMARK_PAIRS]
    seconds = run(Call("trunks:frame_coder", options), apart=sizes.apart).values
    rates = {name: sizes.windows / value for name, value in seconds.items()}
    rows += [_landmark_row(rates, *names) for names in _CODER_PAIRS]
    options = {"windows": sizes.rgb_windows, "side": sizes.rgb_side, "rounds": 1}
    seconds = run(Call("trunks:i3d", options), apart=sizes.apart).values
    rates = {name: sizes.rgb_windows / value for name, value in seconds.items()}
    size = f"16 × {sizes.rgb_side} × {sizes.rgb_side}, random weights"
    for name, manner in (("shared", "stem shared by windows"), ("batched", f"batches of {_RGB_BATCH}")):
        compared = f"I3D, {size}, stride 1: {manner} against a plain loop over windows"
        numbers = against(rates[name], rates["loop"], "windows per second")
        rows.append(Comparison(_GROUP, compared, numbers, rates[name] / rates["loop"]))
    return rows


_LANDMARK_PAIRS = (
    ("trunk dense", "trunk batched", "landmark trunk: dense pass against sliding windows in batches"),
    ("trunk dense", "trunk loop", "landmark trunk: dense pass against sliding windows one by one"),
    ("encoder dense", "encoder batched", "trunk and MLP: dense pass against sliding windows in batches"),
)

_CODER_PAIRS = (
    ("coder dense", "coder batched", "frame coder, as shipped: every frame coded once against windows in batches"),
    ("coder dense", "coder loop", "frame coder, as shipped: every frame coded once against windows one by one"),
)


def _landmark_row(rates: dict[str, float], dense: str, naive: str, compared: str) -> Comparison:
    ratio = rates[dense] / rates[naive]
    limit = at_least(ratio, _DENSE_LEAST) if naive.endswith(" loop") else ("", None)
    return Comparison(
        _GROUP, f"{compared}, stride 1", against(rates[dense], rates[naive], "windows per second"), ratio, *limit
    )


def landmark(windows: int, rounds: int) -> dict[str, float]:
    """Seconds for so many windows of landmark features, dense and naive."""
    module = build("landmark").eval()
    trunk = module.trunk
    assert isinstance(trunk, LandmarkTrunk)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(windows + trunk.frames - 1, trunk.joints, trunk.channels, generator=generator)
    clips = x.unfold(0, trunk.frames, 1).permute(0, 3, 1, 2)  # (N, F, J, C), no copy
    batches = [clips[start : start + _BATCH].contiguous() for start in range(0, windows, _BATCH)]
    blocks = [x[None, start : start + _BLOCK + trunk.frames - 1] for start in range(0, windows, _BLOCK)]
    with torch.inference_mode():
        return fastest(
            rounds,
            {
                "trunk dense": lambda: [trunk.dense(block) for block in blocks],
                "trunk batched": lambda: [trunk(batch) for batch in batches],
                "trunk loop": lambda: [trunk(clip[None]) for clip in clips],
                "encoder dense": lambda: [module.mlp(trunk.dense(block)) for block in blocks],
                "encoder batched": lambda: [module(batch) for batch in batches],
            },
        )


def frame_coder(windows: int, rounds: int) -> dict[str, float]:
    """Seconds for so many windows of landmark features by the shipped encoder, each frame coded once and naively."""
    trunk = landmark_encoder().module.trunk
    compute = trunk.window_features()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(windows + trunk.frames - 1, *trunk.input_shape().values(), generator=generator)
    clips = x.unfold(0, trunk.frames, 1).permute(0, 3, 1, 2)  # (N, F, J, C), no copy
    batches = [clips[start : start + _BATCH].contiguous() for start in range(0, windows, _BATCH)]
    blocks = [x[start : start + _BLOCK + trunk.frames - 1] for start in range(0, windows, _BLOCK)]
    with torch.inference_mode():
        return fastest(
            rounds,
            {
                "coder dense": lambda: [compute(block, range(len(block) - trunk.frames + 1)) for block in blocks],
                "coder batched": lambda: [trunk(batch) for batch in batches],
                "coder loop": lambda: [trunk(clip[None]) for clip in clips],
            },
        )


def i3d(windows: int, side: int, rounds: int) -> dict[str, float]:
    """Seconds for so many RGB windows: one by one, in batches as embedding does, and with a shared stem."""
    torch.manual_seed(0)
    plain = I3D().eval()
    batched = make_encoder("i3d", build("i3d")).module.trunk
    shared = WindowEmbedder(plain)
    frames = torch.rand(windows + 15, 3, side, side) - 0.5

    def clips(start: int, count: int) -> Tensor:
        last = min(start + count, windows)
        return torch.stack([frames[at : at + 16].transpose(0, 1) for at in range(start, last)])

    with torch.inference_mode():
        return fastest(
            rounds,
            {
                "loop": lambda: [plain(clips(at, 1)) for at in range(windows)],
                "batched": lambda: [batched(clips(at, _RGB_BATCH)) for at in range(0, windows, _RGB_BATCH)],
                "shared": lambda: shared(frames, range(windows)),
            },
        )
