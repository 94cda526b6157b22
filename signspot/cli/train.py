"""`signspot train`: from a configuration to weights: frame codes, a trunk, or an embedding on either."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signspot.cli.console import bar, log, open_outputs, print_line, refuse_pixels
from signspot.cli.options import settings

if TYPE_CHECKING:
    from signspot.corpus.corpus import Corpus
    from signspot.io.progress import Stage
    from signspot.models.encoder import Encoder
    from signspot.training.item_batches import EmbeddingConfig
    from signspot.training.landmark_encoder import FrameCodesConfig, WarpingConfig
    from signspot.training.mouthing import MouthingConfig
    from signspot.training.recogniser import RecogniserConfig
    from signspot.training.rgb_clips import RgbConfig
    from signspot.training.run_folder import Run


def train(
    config: Annotated[Path, typer.Argument(help="TOML file, such as configs/landmark.toml.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; an interrupted run resumes there.")] = Path("runs"),
    corpus: Annotated[
        Path | None, typer.Option(help="Corpus to learn from; all kinds but frame_codes and warping need one.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the corpus's subtitles and words.")] = "en",
    encoder: Annotated[
        str | None, typer.Option(help="Name or file of the encoder whose trunk is frozen, or trained further.")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Folder of trunk features or images that runs can share. [default: in --out]")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FOLDER: folder of a source of frame_codes, instead of the config's; repeatable."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes that make batches (frame_codes and rgb).")] = 1,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a value of the configuration; repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the configuration, sizes and the time of a step; do not train.")
    ] = False,
) -> None:
    """Train an encoder. Ctrl-C saves the state, and the same command resumes.

    The key `kind` of the configuration says what is trained: "frame_codes", a coder of landmarks like the shipped
    encoders; "warping", the same without learning; "embedding", an MLP on a frozen trunk; "rgb", a trunk that sees
    pixels; "recogniser", a classifier of words; "mouthing", a spotter of mouthed words. Several processes can share
    the work, one per GPU with --device cuda:
    torchrun --standalone --nproc-per-node 4 -m signspot train …

    Example: signspot train configs/embedding.toml --corpus corpus/ --out runs/embedding
    """
    from signspot.training.configuration import read_training
    from signspot.training.distributed import join_group
    from signspot.training.rgb_clips import RgbConfig
    from signspot.training.run_folder import Run

    chosen = read_training(config, training_kinds(), overrides or [])
    folders = _named_folders(source or [])
    refuse_pixels({"the folder of a training of the kind rgb": isinstance(chosen, RgbConfig)})
    if dry_run:
        with TemporaryDirectory() as nowhere:
            run = Run(Path(nowhere), features or out / "features", device=settings().device)
            _print_step(chosen, lambda: _train(chosen, run, corpus, language, encoder, folders))
        return
    outputs = open_outputs(config, corpus, encoder, *chain.from_iterable(folders.values()))
    outputs.claim(out / f"{chosen.name}.safetensors")
    outputs.claim(out / f"{chosen.name}.json")
    run = Run(out, features, command(), settings().device, workers)
    with join_group(run.device), resume_hint(out), outputs:
        _train(chosen, run, corpus, language, encoder, folders)


def _train(
    config: Any,
    run: "Run",
    folder: Path | None,
    language: str,
    encoder: str | None,
    sources: dict[str, list[str]],
) -> None:
    """Train what a configuration says; `folder` is the corpus, the others are the command's options."""
    from signspot.corpus.corpus import open_corpus
    from signspot.errors import OptionsError
    from signspot.training.item_batches import EmbeddingConfig
    from signspot.training.landmark_encoder import FrameCodesConfig, WarpingConfig
    from signspot.training.recogniser import RecogniserConfig
    from signspot.training.rgb_clips import RgbConfig

    if isinstance(config, FrameCodesConfig | WarpingConfig):
        _train_codes(config, run, sources)
        return
    if folder is None:
        raise OptionsError("this training learns from a corpus. Name its folder with --corpus")
    corpus = open_corpus(folder, language)
    if isinstance(config, EmbeddingConfig):
        _train_embedding(config, run, corpus, encoder)
    elif isinstance(config, RgbConfig):
        _train_rgb(config, run, corpus, encoder)
    elif isinstance(config, RecogniserConfig):
        _train_recogniser(config, run, corpus)
    else:
        _train_mouthing(config, run, corpus)


def _print_step(config: Any, start: Callable[[], None]) -> None:
    """Print a configuration with all its defaults, and the sizes and time of a step of its training.

    Raises:
        OptionsError: nothing is learned step by step.
    """
    from signspot.errors import OptionsError
    from signspot.io.checks import quoted
    from signspot.training.loop import StepMeasuredError, dry_run

    print_line(json.dumps(asdict(config), indent=1, ensure_ascii=False))
    with dry_run():
        try:
            start()
        except StepMeasuredError as error:
            measured = error.measured
        else:
            raise OptionsError(f"{quoted(config.name)} is made without steps, so there is none to measure")
    print_line(f"weights that are trained: {measured.weights:,}")
    print_line(f"a batch: {measured.batch_bytes / 1e6:,.1f} MB, made in {measured.batch_seconds:.3f} s by one process")
    print_line(f"the state: {measured.state_bytes / 1e6:,.1f} MB")
    hours = measured.steps * measured.step_seconds / 3600
    print_line(f"a step: {measured.step_seconds:.3f} s on {settings().device}; {measured.steps:,} steps: {hours:.2f} h")


@contextmanager
def resume_hint(out: Path) -> Iterator[None]:
    """Say, when a training is interrupted, how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / "state.pt").is_file():
            log(f"the state is saved in {out}. Resume with: {command()}")
        raise


def command() -> str:
    """The command as it was typed."""
    return shlex.join(["signspot", *sys.argv[1:]])


def _stage() -> "Stage":
    """Progress bars, in the first of several processes."""
    from signspot.io.progress import quiet

    return bar if _is_first() else quiet


def _is_first() -> bool:
    """Whether this process writes and reports: of several that train together, one does."""
    from signspot.training.distributed import current_group

    return current_group().is_first


def training_kinds() -> dict[str, type[Any]]:
    """Every kind of training that a TOML file may name, with the record that it is read into."""
    from signspot.training.item_batches import EmbeddingConfig
    from signspot.training.landmark_encoder import FrameCodesConfig, WarpingConfig
    from signspot.training.mouthing import MouthingConfig
    from signspot.training.recogniser import RecogniserConfig
    from signspot.training.rgb_clips import RgbConfig

    return {
        "recogniser": RecogniserConfig,
        "frame_codes": FrameCodesConfig,
        "warping": WarpingConfig,
        "embedding": EmbeddingConfig,
        "rgb": RgbConfig,
        "mouthing": MouthingConfig,
    }


def _named_folders(texts: list[str]) -> dict[str, list[str]]:
    """Folders by the names of sources, from texts such as `wlasl=data/wlasl`; a source may have several."""
    from signspot.errors import OptionsError

    pairs = [text.partition("=") for text in texts]
    for name, _, folder in pairs:
        if not name or not folder:
            raise OptionsError(f"a source is NAME=FOLDER, such as wlasl=data/wlasl; got '{name}'")
    return {name: [folder for other, _, folder in pairs if other == name] for name, _, _ in pairs}


def _train_codes(config: "FrameCodesConfig | WarpingConfig", run: "Run", sources: dict[str, list[str]]) -> None:
    from signspot.training.landmark_encoder import WarpingConfig, make_warping, train_frame_codes, with_folders

    chosen = replace(config, sources=with_folders(config.sources, sources))
    if isinstance(chosen, WarpingConfig):
        _save(make_warping(chosen), run, half=True)
        return
    with _stage()("training") as progress:
        encoder = train_frame_codes(chosen, run.out, progress, workers=run.workers, device=run.device)
    _save(encoder, run, half=True)


def _train_recogniser(config: "RecogniserConfig", run: "Run", corpus: "Corpus") -> None:
    from signspot.recognition.recogniser import save_recogniser
    from signspot.training.recogniser import train_recogniser_on_corpus

    trained, scores = train_recogniser_on_corpus(config, corpus, run.out, stage=_stage(), device=run.device)
    if not _is_first():
        return
    target = save_recogniser(trained, run.out / f"{config.name}.safetensors")
    print_line(f"{target}: {config.name}, {len(trained.words):,} words")
    for scored in scores:
        print_line(str(scored))
    log(f"use it with: signspot identify CLIP {shlex.quote(str(target))}")


def _train_mouthing(config: "MouthingConfig", run: "Run", corpus: "Corpus") -> None:
    from signspot.mouthing.network import save_mouthing
    from signspot.training.mouthing import train_mouthing

    with _stage()("training") as progress:
        model = train_mouthing(config, corpus, run.out, progress, run.command, run.device)
    if not _is_first():
        return
    target = run.out / f"{config.name}.safetensors"
    save_mouthing(model, target)
    print_line(f"{target}: {model.name}")
    log(f"measure it with: signspot evaluate mouthing CORPUS --model {shlex.quote(str(target))}")


def _train_embedding(config: "EmbeddingConfig", run: "Run", corpus: "Corpus", trunk: str | None) -> None:
    from signspot.models.checkpoints import load_encoder
    from signspot.training.embedding_mlp import train_embedding_on_corpus

    _save(train_embedding_on_corpus(config, load_encoder(trunk), corpus, run, _stage()), run)


def _train_rgb(config: "RgbConfig", run: "Run", corpus: "Corpus", start: str | None) -> None:
    from signspot.models.checkpoints import load_encoder
    from signspot.training.rgb import train_rgb_on_corpus

    origin = load_encoder(start) if start is not None else None
    encoder, tested = train_rgb_on_corpus(config, corpus, run, origin, _stage())
    if not _is_first():
        return
    first, last = (encoder.card["metrics"]["loss_by_epoch"][epoch] for epoch in (0, -1))
    print_line(f"loss: {first:.3f} in the first epoch, {last:.3f} in the last")
    if tested is not None:
        print_line(
            f"held-out clips ({tested.clips}): {tested.top_1:.1%} right, {tested.top_5:.1%} among the best five; "
            f"chance is {1 / tested.words:.1%}"
        )
    _save(encoder, run)


def _save(encoder: "Encoder", run: "Run", *, half: bool = False) -> None:
    from signspot.models.checkpoints import save_encoder

    if not _is_first():
        return
    target = run.out / f"{encoder.name}.safetensors"
    saved = save_encoder(encoder, target, half=half)
    print_line(f"{target}: {saved.name} ({saved.hash})")
    log("its default threshold is not calibrated yet. Calibrate it with: signspot calibrate --footage … --dictionary …")
