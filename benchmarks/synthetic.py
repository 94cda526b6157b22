"""Synthetic signing: how much faster than life it signs and is filmed, and whether a larger one needs more memory."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.isolation import Call, run
from benchmarks.material import SEED, sign
from benchmarks.rows import Comparison, against, at_least, rounded
from benchmarks.sizes import Sizes
from signspot_synthetic.body.motion import FPS
from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.performance import perform_video
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

_GROUP = "Synthetic signing"
_GENERATING_LEAST, _RENDERING_LEAST = 100.0, 1.0  # × real time
_MORE = 4  # times as large is the larger corpus
_ALLOWANCE = 8.0  # MB


def synthetic_rows(sizes: Sizes) -> list[Comparison]:
    """Generating, rendering, and memory."""
    return [_generating(sizes), _rendering(sizes), _memory(sizes)]


def _generating(sizes: Sizes) -> Comparison:
    done = run(Call("synthetic:generate", {"seconds": sizes.signing, "rounds": sizes.rounds}), apart=sizes.apart).values
    ratio = done["signed"] / done["spent"]
    return Comparison(
        _GROUP,
        "sentences, signing, camera and estimator's faults → landmarks, on one core, against real time",
        f"{rounded(done['signed'])} s of landmarks in {rounded(done['spent'])} s",
        ratio,
        *at_least(ratio, _GENERATING_LEAST),
    )


def _rendering(sizes: Sizes) -> Comparison:
    call = Call("synthetic:render", {"seconds": sizes.rendered, "side": sizes.rendered_side})
    spent = run(call, apart=sizes.apart).values["spent"]
    return Comparison(
        _GROUP,
        f"landmarks → H.264 video of {sizes.rendered_side} × {sizes.rendered_side}, on one core, against real time",
        f"{rounded(sizes.rendered)} s of video in {rounded(spent)} s",
        sizes.rendered / spent,
        *at_least(sizes.rendered / spent, _RENDERING_LEAST),
    )


def _memory(sizes: Sizes) -> Comparison:
    hours = sizes.corpus, sizes.corpus * _MORE
    small, large = (
        run(Call("synthetic:fill", {"hours": each, "words": sizes.corpus_words}), apart=sizes.apart) for each in hours
    )
    return Comparison(
        _GROUP,
        f"a corpus of {rounded(hours[1] * 60)} min against one of {rounded(hours[0] * 60)} min: peak memory",
        f"{against(large.peak, small.peak, 'MB')}: {large.peak - small.peak:+.1f} MB",
        large.peak / small.peak,
        f"grows by at most {rounded(_ALLOWANCE)} MB",
        large.peak - small.peak <= _ALLOWANCE,
    )


def generate(seconds: float, rounds: int) -> dict[str, float]:
    """Seconds of signing, and seconds that they take; the lexicon is made before."""
    corpus = CorpusPlan(CorpusOptions(words=20, seed=SEED))
    plan = corpus.videos[0]
    perform_video(corpus, replace(plan, seconds=5.0))
    best, signed = float("inf"), 0.0
    for _ in range(rounds):
        start = process_time()
        performed = perform_video(corpus, replace(plan, seconds=seconds))
        best, signed = min(best, process_time() - start), len(performed.footage.exact) / FPS
    return {"signed": signed, "spent": best}


def render(seconds: float, side: int) -> dict[str, float]:
    """Seconds that filming so many seconds takes."""
    exact = sign(seconds, (side, side))
    with TemporaryDirectory() as folder:
        start = process_time()
        render_video(exact, make_appearance(SEED), Path(folder) / "video.mp4", (side, side))
        return {"spent": process_time() - start}


def fill(hours: float, words: int) -> dict[str, float]:
    """Make a corpus of landmarks; only the memory matters."""
    options = CorpusOptions(words=words, hours=hours, seed=SEED)
    with TemporaryDirectory() as folder:
        return {"videos": len(make_corpus(options, folder).videos)}
