"""Teaches an embedding MLP on a frozen trunk, with any loss of the paper (Sec. 3.3, Optimization).

The loop can be stopped at any epoch and goes on to the very same weights: batch i follows from the seed and i, and
the state (weights, momentum, curve) is saved beside the result.
"""

import csv
import logging
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from signspot.errors import CheckpointError, SignspotError
from signspot.files import write_beside
from signspot.losses.watch_read_lookup import classification, info_nce, watch_lookup, watch_read_lookup
from signspot.models.mlp import EmbeddingMlp, MlpOptions
from signspot.progress import Progress, silent
from signspot.training.embedding_config import EmbeddingConfig
from signspot.training.embedding_data import EmbeddingData, FeatureBatch, Standard

logger = logging.getLogger(__name__)


def train_embedding(
    config: EmbeddingConfig, data: EmbeddingData, folder: str | PathLike[str], progress: Progress = silent
) -> EmbeddingMlp:
    """Train an embedding MLP.

    Args:
        config: all that the training follows from, besides the data.
        data: batches of trunk features.
        folder: where state, curve.csv and curve.png are kept; a training that was stopped there goes on.
        progress: told the steps done.

    Returns:
        The MLP, for the trunk's features as they are.

    Raises:
        SignspotError: the loss is no number; the batch is saved for inspection.
        CheckpointError: the folder holds a state that does not fit.
    """
    home = Path(folder)
    torch.manual_seed(config.seed)
    mlp = EmbeddingMlp(data.features.dimension, _options(config, len(data.words)))
    optimiser = torch.optim.SGD(mlp.parameters(), config.rate, config.momentum)
    standard = data.standard()
    epoch, curve = _resume(home, mlp, optimiser, config)
    mlp.train()
    for epoch in range(epoch, config.epochs):  # noqa: B020 - from where it was stopped
        for group in optimiser.param_groups:
            group["lr"] = config.rate_at(epoch)
        losses = []
        for step in range(epoch * len(data), (epoch + 1) * len(data)):
            batch = data[step]
            loss = loss_of(mlp, batch, standard, config)
            _guard(loss, batch, home, step)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.item())
            progress(step + 1, config.epochs * len(data))
        curve.append(float(np.mean(losses)))
        _save(home, mlp, optimiser, config, curve)
    _draw_curve(home, curve, config)
    return folded(mlp, standard).eval()


def loss_of(mlp: EmbeddingMlp, batch: FeatureBatch, standard: Standard, config: EmbeddingConfig) -> Tensor:
    """The loss of one batch."""
    features = (torch.cat([batch.clips, batch.exemplars]) - standard.mean) / standard.scale
    if config.loss == "classification":
        assert mlp.logits is not None, "a classifier is built with logits"
        words = torch.cat([torch.from_numpy(batch.places.clip_word), batch.exemplar_words])
        return classification(mlp.logits(mlp.adaptor(features + mlp.res(features))), words)
    embedded = mlp(features)
    made = batch.embedded(embedded[: len(batch.clips)], embedded[len(batch.clips) :])
    if config.loss == "info_nce":
        return info_nce(made, config.temperature)
    if config.loss == "watch_lookup":
        return watch_lookup(made, config.temperature)
    return watch_read_lookup(made, config.temperature, config.bags)


@torch.no_grad()
def folded(mlp: EmbeddingMlp, standard: Standard) -> EmbeddingMlp:
    """The same MLP for features that are not standardised; exact, as a leaky ReLU is linear in a scale above 0."""
    inner, outer = mlp.res[0], mlp.adaptor[0]
    assert isinstance(inner, nn.Linear), "as EmbeddingMlp is built"
    assert isinstance(outer, nn.Linear), "as EmbeddingMlp is built"
    inner.bias.mul_(standard.scale).sub_(inner.weight @ standard.mean)
    outer.bias.sub_(outer.weight @ standard.mean / standard.scale)
    outer.weight.div_(standard.scale)
    return mlp


def _options(config: EmbeddingConfig, words: int) -> MlpOptions:
    return MlpOptions(dimension=config.dimension, mlp_classes=words if config.loss == "classification" else None)


def _guard(loss: Tensor, batch: FeatureBatch, home: Path, step: int) -> None:
    """Stop at a loss that is no number, with the batch saved for inspection."""
    if torch.isfinite(loss):
        return
    path = home / f"bad-batch-{step}.npz"
    with write_beside(path) as beside:
        np.savez(
            beside,
            clips=batch.clips.numpy(),
            clip_word=batch.places.clip_word,
            exemplars=batch.exemplars.numpy(),
            exemplar_word=batch.exemplar_words.numpy(),
            videos=np.array(batch.places.videos),
        )
    raise SignspotError(f"the loss at step {step} is {loss.item()}; its batch is saved in {path}")


def _save(home: Path, mlp: EmbeddingMlp, optimiser: Any, config: EmbeddingConfig, curve: list[float]) -> None:
    state = {"config": config.as_dict(), "mlp": mlp.state_dict(), "optimiser": optimiser.state_dict(), "curve": curve}
    with write_beside(home / "state.pt") as beside:
        torch.save(state, beside)
    with write_beside(home / "curve.csv") as beside, beside.open("w", newline="") as file:
        csv.writer(file).writerow(("epoch", "rate", "loss"))
        csv.writer(file).writerows((i + 1, f"{config.rate_at(i):g}", f"{loss:.6f}") for i, loss in enumerate(curve))


def _resume(home: Path, mlp: EmbeddingMlp, optimiser: Any, config: EmbeddingConfig) -> tuple[int, list[float]]:
    """Load a saved state; give the epoch to go on from, and the curve so far."""
    path = home / "state.pt"
    if not path.is_file():
        return 0, []
    try:
        state = torch.load(path, weights_only=True)
        before, curve = state["config"], [float(loss) for loss in state["curve"]]
        if before == config.as_dict():
            mlp.load_state_dict(state["mlp"])
            optimiser.load_state_dict(state["optimiser"])
    except Exception as error:  # whatever a damaged file makes torch raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CheckpointError(f"cannot go on from {path}: {reason}. Remove it to start anew.") from error
    for name, value in config.as_dict().items():
        if before.get(name) != value:
            raise CheckpointError(
                f"{path} was trained with {name} {before.get(name)!s:.60}, not {value!s:.60}. Name another folder."
            )
    logger.info("going on from epoch %d", len(curve))
    return len(curve), curve


def _draw_curve(home: Path, curve: list[float], config: EmbeddingConfig) -> None:
    """The loss over epochs, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.add_subplot(xlabel="epoch", ylabel="loss", title=config.loss.replace("_", " "))
    axes.plot(range(1, len(curve) + 1), curve)
    with write_beside(home / "curve.png") as beside:
        figure.savefig(beside, dpi=100)
