"""Commands that are killed: what each needs, how it runs, and what it may leave behind when it is killed."""

import hashlib
import json
import multiprocessing
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from signspot.annotation.options import AnnotateOptions
from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.statistics import spottings
from signspot.annotation.store import FILE, SqlStore, dump, open_store
from signspot.dictionary.build import build_dictionary
from signspot.dictionary.download import Download, DownloadOptions, fetch
from signspot.dictionary.opening import open_dictionary
from signspot.errors import DictionaryError, StoreError
from signspot.formats.formats import FORMATS, write
from signspot.io.files import Outputs, atomic_write
from signspot.io.processes import Failure, attempt
from signspot.models.checkpoints import save_encoder
from signspot.models.encoder import make_encoder
from signspot.models.registry import build
from signspot.training.embedding import train_embedding
from signspot.training.item_batches import EmbeddingConfig, EmbeddingData, ItemBatchOptions
from signspot.training.items import Item
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Label, Segment, Spotting
from signspot_synthetic.corpus_writer import make_corpus
from signspot_synthetic.options import CorpusOptions
from tools.attack import serving
from tools.attack.servers import make_films, versions

_FILMS = 4  # that are fetched


@dataclass(frozen=True)
class Command:
    """A command under attack."""

    name: str
    prepare: Callable[[Path, ExitStack], None]  # makes the inputs; what it starts ends with the stack
    run: Callable[[Path, Path], None]  # given the inputs and the folder of results
    state: Callable[[Path], object]  # what the folder holds, to be compared
    check: Callable[[Path, Path], None]  # raises where a killed run left what it may not


def _tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class _HereEngine:
    """Works in this process, one item after the other."""

    def run(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any | Failure]]:
        for item in items:
            yield item, attempt(work, item)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be ended."""


def _prepare_annotation(inputs: Path, stack: ExitStack) -> None:
    torch.manual_seed(0)
    encoder = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    save_encoder(encoder, inputs / "encoder.safetensors")
    options = CorpusOptions(words=8, hours=0.006, seed=3, video_seconds=6, dictionary_signers=2, exemplars=1.7)
    make_corpus(options, inputs / "corpus")


def _annotate(inputs: Path, out: Path) -> None:
    """As the verb does: annotate, then export what is stored."""
    corpus, encoder = inputs / "corpus", str(inputs / "encoder.safetensors")
    outputs = Outputs([corpus])
    outputs.claim(out / "spottings.csv")
    job = AnnotationJob(corpus, corpus / "dictionary", out, encoder=encoder, cache=out / "cache")
    report = annotate(job, AnnotateOptions(keep=0.0, negatives=2), _HereEngine())
    assert not report.failed, str(report.failed[0])
    with open_store(out) as store, outputs:
        write([candidate.as_spotting() for candidate in spottings(store, 0.6)], out / "spottings.csv")


def _annotation_state(out: Path) -> dict[str, object]:
    with open_store(out) as store:
        assert isinstance(store, SqlStore)
        lines = tuple(dump(store))
    skipped = ("annotations.sqlite", "digests.jsonl")  # their bytes tell the history; the lines tell the content
    files = {name: content for name, content in _tree(out).items() if not name.startswith(skipped)}
    return {"store": lines, **files}


def _check_annotation(inputs: Path, out: Path) -> None:
    """A killed run's store opens and holds whole videos."""
    if (out / FILE).is_file():
        with suppress(StoreError), open_store(out, timeout=0) as store:
            marks = store.keys()
            done = {video for video, _ in marks}
            assert {query.video for query in store.queries()} <= done, "queries of a video that is not done"


def _prepare_build(inputs: Path, stack: ExitStack) -> None:
    from tools.attack.targets import landmarks_file

    for word in range(12):
        for take in range(2):
            landmarks_file(inputs / f"word {word}" / f"{take}.pose", frames=3 + word)


def _build(inputs: Path, out: Path) -> None:
    build_dictionary(inputs, out)


def _check_build(inputs: Path, out: Path) -> None:
    """An unfinished folder says so; it never passes for a dictionary of other words."""
    if not out.is_dir() or not any(out.iterdir()):
        return
    try:
        words = list(open_dictionary(out))
    except DictionaryError as error:
        said = str(error)
    else:
        said = "" if words == list(open_dictionary(inputs)) else f"opens as {words}"
    assert not said or "unfinished" in said or not any(out.rglob("*.pose")), said


def _versions() -> tuple[list[Spotting], list[Spotting]]:
    old = [Spotting(f"word {n}", "news.mp4", n + 0.5, n, n + 0.9, 0.5, f"e{n}") for n in range(60)]
    return old, [Spotting("apple", "news.mp4", n + 0.5, n, n + 0.9, 0.9) for n in range(100)]


def _prepare_export(inputs: Path, stack: ExitStack) -> None:
    for number, version in enumerate(_versions()):
        for kind in FORMATS:
            write(version, inputs / f"{number}{kind.suffix}")


def _export(inputs: Path, out: Path) -> None:
    """Twice into the same files: the first time the old list, then the new one."""
    for version in _versions():
        outputs = Outputs()
        for kind in FORMATS:
            outputs.claim(out / f"x{kind.suffix}")
        with outputs:
            for kind in FORMATS:
                write(version, out / f"x{kind.suffix}")


def _check_export(inputs: Path, out: Path) -> None:
    """Every file is the old one or the new one, whole."""
    for kind in FORMATS:
        path = out / f"x{kind.suffix}"
        if path.is_file():
            known = [_unnamed(inputs / f"{number}{kind.suffix}") for number in range(2)]
            assert _unnamed(path) in known, f"{path.name} is neither the old nor the new one"


def _unnamed(path: Path) -> bytes:
    """The content of an export without what follows from its own name."""
    content = path.read_bytes()
    return b"" if path.name.endswith(".via.json") and content.endswith(b"}") else content


def _export_state(out: Path) -> dict[str, bytes]:
    return {name: content for name, content in _tree(out).items() if "signspot-part" not in name}


def _training() -> tuple[EmbeddingConfig, EmbeddingData]:
    words = ("apple", "dog", "house", "tree")
    config = EmbeddingConfig(epochs=3, seed=4, dimension=8, batch=ItemBatchOptions(items=4, background=2, clips=2))
    chance = np.random.default_rng(0)
    windows = WindowFeatures(chance.normal(size=(240, 24)).astype(np.float16), Grid(25.0, 16, 1, 255))
    exemplars = tuple(Exemplar(word, f"{word}-{take}") for word in words for take in (1, 2))
    clips = chance.normal(size=(8, 4, 24)).astype(np.float16)
    features = TrunkFeatures("test", {"v": windows}, exemplars, clips)
    items = [
        Item(Label(word, "v", 2.4 * n + 2.5), Segment(2.4 * n + 2.5, 2.4 * n + 4.5), (words[n - 1],))
        for n, word in enumerate(words[:3])
    ]
    return config, EmbeddingData(features, items, config)


def _train(inputs: Path, out: Path) -> None:
    config, data = _training()
    mlp = train_embedding(config, data, out).module
    weights = b"".join(value.numpy().tobytes() for _, value in sorted(mlp.state_dict().items()))
    with atomic_write(out / "weights") as temporary:
        temporary.write_bytes(weights)


def _train_state(out: Path) -> dict[str, bytes]:
    return {name: content for name, content in _tree(out).items() if name != "state.pt"}


def _prepare_fetch(inputs: Path, stack: ExitStack) -> None:
    """A server in a process of its own, so that no thread of it is forked."""
    (film,) = make_films(inputs, 1)
    (inputs / "sent.mp4").write_bytes(film)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    server = context.Process(target=_serve_film, args=(film, there), daemon=True)
    server.start()
    stack.callback(server.join)
    stack.callback(server.terminate)
    (inputs / "address").write_text(here.recv())


def _serve_film(film: bytes, there: Any) -> None:
    with versions([film], 0, slow=0.01, breaks=False) as address:
        there.send(address)
        threading.Event().wait()


def _fetch(inputs: Path, out: Path) -> None:
    address = (inputs / "address").read_text()
    wanted = [Download(f"{address}/{number}.mp4", f"{number}.mp4") for number in range(_FILMS)]
    report = fetch(wanted, out, DownloadOptions(timeout=30.0, delay=0.0, backoff=0.01))
    assert not report.problems, str(report.problems[0])


def _fetch_state(out: Path) -> dict[str, bytes]:
    """The films; and the notes on them without their dates, of which each is there once."""
    files = _tree(out)
    files.pop(".fetch.lock", None)
    lines = files.pop("fetched.jsonl", b"").decode().splitlines()
    notes = sorted((row["name"], row["sha256"]) for row in map(json.loads, lines))
    return {**files, "notes": json.dumps(notes).encode()}


def _check_fetch(inputs: Path, out: Path) -> None:
    """A film that has its name is whole."""
    whole = hashlib.sha256((inputs / "sent.mp4").read_bytes()).hexdigest()
    for path in out.glob("*.mp4"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == whole, f"{path.name} is not what was sent"


def _nothing(inputs: Path, _: Path | ExitStack) -> None:
    """Nothing is needed, or nothing can be said."""


COMMANDS = (
    Command("dictionary build", _prepare_build, _build, _tree, _check_build),
    Command("dictionary fetch", _prepare_fetch, _fetch, _fetch_state, _check_fetch),
    Command("export", _prepare_export, _export, _export_state, _check_export),
    Command("train", _nothing, _train, _train_state, _nothing),
    Command("annotate", _prepare_annotation, _annotate, _annotation_state, _check_annotation),
    Command("serve", serving.prepare, serving.run, serving.state, serving.check),
)
