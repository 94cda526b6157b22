"""Adapting an encoder to subtitled footage: minutes, cross-validation included."""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.isolation import Call, fastest, run
from benchmarks.material import landmark_encoder
from benchmarks.rows import Comparison, rounded
from benchmarks.sizes import Sizes
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation import adapt
from signspot.training.adaptation_data import AdaptOptions
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus


def adapting_rows(sizes: Sizes) -> list[Comparison]:
    """One row: from landmarks, subtitles and a dictionary to the answer."""
    options = {"hours": sizes.adapted, "words": sizes.adapted_words, "steps": sizes.adapting_steps}
    done = run(Call("adapting:learn", options), apart=sizes.apart)
    seconds, footage = done.values["adapting"], 3600 * sizes.adapted
    return [
        Comparison(
            "Adapting",
            f"{rounded(footage / 60)} min of landmarks with subtitles, {sizes.adapted_words} words, "
            f"{sizes.adapting_steps} steps for each of 4 parts held out: the footage against its adapting",
            f"{rounded(footage / 60)} against {rounded(seconds / 60)} min; at most {rounded(done.peak)} MB",
            footage / seconds,
        )
    ]


def learn(hours: float, words: int, steps: int) -> dict[str, float]:
    """Seconds of adapting on a synthetic corpus, landmarks given."""
    with TemporaryDirectory() as folder:
        options = CorpusOptions(words=words, hours=hours, seed=5, video_seconds=36.0, exemplars=2.0, variants=1)
        corpus = make_corpus(options, Path(folder, "corpus"))
        spotter, chosen = Spotter(landmark_encoder()), AdaptOptions(steps=steps)

        def whole() -> None:
            adapt(spotter, corpus, corpus.dictionary(), Path(folder, "mine"), chosen)

        return fastest(1, {"adapting": whole})
