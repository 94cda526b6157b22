"""From a corpus of videos to an encoder that sees pixels: pictures kept once, training, accuracy on held-out clips."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.models.batch_norm import reinitialise_batch_norm
from signspot.models.checkpoints import load_encoder
from signspot.models.encoder import Encoder, SignEncoder, make_encoder
from signspot.progress import Stage, quiet
from signspot.training.embedding.on_corpus import Run, claim
from signspot.training.embedding.trunk_features import trunk_features
from signspot.training.rgb.batches import RgbBatches
from signspot.training.rgb.config import RgbConfig
from signspot.training.rgb.signs import PictureStore, RgbSigns, SignReader, collect_rgb_signs, with_targets
from signspot.training.rgb.training import HeldOut, held_out, new_trunk, start_from, train_rgb
from signspot.training.subset import TrainingSubset, find_training_subset


def train_rgb_on_corpus(
    config: RgbConfig, corpus: Corpus, run: Run, start: Encoder | None = None, stage: Stage = quiet
) -> tuple[Encoder, HeldOut | None]:
    """Teach an RGB trunk.

    Args:
        config: how to learn.
        corpus: with videos, labels and a dictionary of videos; landmarks, too, where there is a teacher.
        run: the folder; a run that was stopped there goes on.
        start: an encoder whose trunk is trained further; its batch norms start anew, if the configuration says so.
        stage: shows the progress of each stage.

    Returns:
        The encoder, and its accuracy on the labelled clips of the corpus's test videos; None where there are none.

    Raises:
        OptionsError: the corpus cannot be learned from, or the folder holds another run.
    """
    subset = find_training_subset(corpus, config.words, filmed=True)
    origin = start.hash if start is not None else None
    claim(run, {"corpus": subset.describe(), "start": origin, "config": config.as_dict()})
    teacher = _teacher(config)
    shape = new_trunk(config, 2).contract(fps=config.fps)
    assert shape.image_size is not None, "an rgb trunk has one"
    store = PictureStore(run.features or run.out / "pictures", config.fps, shape.image_size)
    reader = SignReader(store, shape.frames, config.batch)
    with stage("pictures") as progress:
        signs = collect_rgb_signs(subset, reader, progress)
    if teacher is not None:
        with stage("what the teacher sees") as progress:
            seen = trunk_features(teacher, subset.corpus, run.out / "teacher", progress)
        signs = with_targets(signs, teacher, seen, reader)
    module = new_trunk(config, len(signs.words), teacher)
    if start is not None:
        start_from(module, start)
        if config.reinitialise and not config.dictionary_from:
            reinitialise_batch_norm(module.trunk)
    with stage("training") as progress:
        batches = RgbBatches(signs, config, shape.frames, shape.image_size)
        train_rgb(config, module, batches, run.out, progress, run.device)
    with stage("held-out clips"):
        tested = _held_out(module, corpus, subset, signs, reader)
    return make_encoder(config.name, module, fps=config.fps, card=_card(config, subset, signs, run, tested)), tested


def _teacher(config: RgbConfig) -> Encoder | None:
    if not config.distil:
        return None
    teacher = load_encoder(config.teacher)
    if teacher.contract.kind != "landmarks":
        raise OptionsError(f"the teacher must be a landmark encoder; '{config.teacher}' sees pixels")
    return teacher


def _held_out(
    module: SignEncoder, corpus: Corpus, subset: TrainingSubset, signs: RgbSigns, reader: SignReader
) -> HeldOut | None:
    """Accuracy on the labels of the test videos, of the words that were learned."""
    videos = {video.id: video for video in corpus.in_split("test")}
    number = {word: index for index, word in enumerate(signs.words)}
    labels = [label for label in corpus.labels(list(videos), reader.options.least) if label.word in number]
    if not labels:
        return None
    tested = reader.continuous(replace(subset.corpus, videos=videos), labels, number)
    return held_out(module, replace(signs, continuous=tuple(tested)), reader.frames, reader.store.image_size)


def _card(
    config: RgbConfig, subset: TrainingSubset, signs: RgbSigns, run: Run, tested: HeldOut | None
) -> dict[str, Any]:
    counts = {"words": len(signs.words), "clips": len(signs.continuous), "exemplars": len(signs.dictionary)}
    sentence = f"{counts['clips']:,} labelled clips and {counts['exemplars']:,} exemplars of {counts['words']:,} words."
    rows = [row.split(",") for row in Path(run.out / "curve.csv").read_text().splitlines()[1:]]
    return {
        "licence": config.licence,
        "data": config.data or sentence,
        "config": {"kind": "rgb", **config.as_dict(), "corpus": {**subset.describe(), **counts}},
        "metrics": {
            "held_out": None if tested is None else asdict(tested),
            "loss_by_epoch": [float(row[2]) for row in rows],
            "accuracy_by_epoch": [float(row[3]) for row in rows],
        },
        "command": run.command,
    }
