"""Kills at random moments of build, fetch, export, train and annotate: nothing lost, nothing doubled, no stale files.

A command runs in a forked process, which is killed (SIGKILL) at a random moment and started again in the same folder,
up to eight times; then it may finish. Its result is compared with that of an undisturbed run. Two runs in one folder
at once give the same result, or one of them is refused. Kills of the server are in tests/web.
"""

import json
import multiprocessing
import multiprocessing.connection
import os
import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Self

import numpy as np
import torch

from signspot.annotation.options import AnnotateOptions
from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.statistics import spottings
from signspot.annotation.store import FILE, dump, open_store
from signspot.dictionary.build import build_dictionary
from signspot.dictionary.download import Download, DownloadOptions, fetch
from signspot.dictionary.opening import open_dictionary
from signspot.errors import DictionaryError, SignspotError, StoreError
from signspot.formats.formats import FORMATS, read_spottings, write
from signspot.io.files import Outputs, atomic_write
from signspot.io.processes import Failure, attempt
from signspot.landmarks.pose_file import write_landmarks
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
from tools.attack import AttackOptions, Outcome
from tools.attack.readers import make_landmarks
from tools.attack.servers import make_videos, versions

MOST_KILLS = 8  # of one run, before it may finish
TIMEOUT = 300.0  # seconds within which a run must end
_REFUSED = 3  # exit code of a run that ended with a SignspotError


def _tree(folder: Path) -> dict[str, object]:
    """Every file below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _nothing(*_: object) -> None:
    """Nothing is needed, or nothing can be said."""


@dataclass(frozen=True)
class Command:
    """A command under attack."""

    run: Callable[[Path, Path], None]  # given the inputs and the folder of results
    prepare: Callable[[Path, ExitStack], None] = _nothing  # makes the inputs; what it starts ends with the stack
    state: Callable[[Path], dict[str, object]] = _tree  # what the folder holds, to be compared
    check: Callable[[Path, Path], None] = _nothing  # raises where a killed run left what it may not


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Kill every command `options.count` times, and run it twice at once a twentieth as often."""
    torch.set_num_threads(1)  # threads do not survive a fork
    for name in options.only or COMMANDS:
        yield attack_command(name, options)


def attack_command(name: str, options: AttackOptions) -> Outcome:
    """Kill one command again and again; then run it twice at once."""
    command, outcome, folder = COMMANDS[name], Outcome(name), options.folder / name.replace(" ", "-")
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    os.environ["SIGNSPOT_CACHE"] = str(folder / "cache")
    with ExitStack() as stack:
        command.prepare(inputs, stack)
        command.run(inputs, folder / "warm")  # here, so that no child loads modules
        start = monotonic()
        ended = _end(_start(command, inputs, folder / "whole"), TIMEOUT, folder / "whole")
        usual, wanted = monotonic() - start, command.state(folder / "whole")
        if ended != "finished":
            outcome.failures.append(f"an undisturbed run {ended}")
            return outcome
        _kill_often(command, outcome, options, wanted, usual)
        for number in range(max(1, options.count // 20)):
            _run_twice(command, outcome, folder / f"twice-{number}", wanted)
    return outcome


def _kill_often(command: Command, outcome: Outcome, options: AttackOptions, wanted: object, usual: float) -> None:
    """Kill a command `options.count` times; an undisturbed run takes `usual` seconds."""
    chance, kills = random.Random(f"{options.seed} {outcome.name}"), 0
    folder = options.folder / outcome.name.replace(" ", "-")
    out = folder / "run-0"
    while outcome.tried < options.count or kills:  # the last run finishes, too
        may_kill = kills < MOST_KILLS and outcome.tried < options.count
        moment = chance.uniform(0, usual) * chance.choice((0.1, 0.5, 1.0)) if may_kill else TIMEOUT
        start = monotonic()
        ended = _end(_start(command, folder / "inputs", out), moment, out)
        outcome.worst_seconds = max(outcome.worst_seconds, monotonic() - start)
        if ended == "was killed":
            outcome.tried, kills = outcome.tried + 1, kills + 1
            with _judged(outcome, f"after kill {outcome.tried}"):
                command.check(folder / "inputs", out)
            continue
        _compare(command, outcome, out, wanted, ended)
        outcome.accepted, kills = outcome.accepted + 1, 0
        out = folder / f"run-{outcome.accepted}"


def _run_twice(command: Command, outcome: Outcome, out: Path, wanted: object) -> None:
    """Two runs into one folder at once: both finish, or one is refused; the folder is as one run leaves it."""
    processes = [_start(command, out.parent / "inputs", out) for _ in range(2)]
    ends = [_end(process, TIMEOUT, out) for process in processes]
    good = "finished" in ends and all(end.startswith(("finished", "was refused")) for end in ends)
    _compare(command, outcome, out, wanted, "finished" if good else f"beside another: {ends}")


@contextmanager
def _judged(outcome: Outcome, when: str) -> Iterator[None]:
    """Add an error in the block to the failures of an outcome."""
    try:
        yield
    except Exception as error:
        outcome.failures.append(f"{when}: {type(error).__name__}: {error}")


def _compare(command: Command, outcome: Outcome, out: Path, wanted: Any, ended: str) -> None:
    with _judged(outcome, f"{out.name}, after {outcome.tried} kills"):
        assert ended == "finished", ended
        stale = [str(path.relative_to(out)) for path in out.rglob("*signspot-part*")]
        assert not stale, f"stale temporary files: {stale[:3]}"
        state = command.state(out)
        names = sorted(name for name in {*state, *wanted} if state.get(name) != wanted.get(name))
        assert not names, f"other than undisturbed: {names[:5]}"


def _start(command: Command, inputs: Path, out: Path) -> int:
    """Start a command in a forked process, which writes down its error."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
                command.run(inputs, out)
            code = 0
        except SignspotError:
            code = _REFUSED
        except BaseException:
            out.with_name(f"{out.name}-error.txt").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    return process


def _end(process: int, moment: float, out: Path) -> str:
    """Wait for a process for `moment` seconds, then kill it; give how it ended."""
    handle = os.pidfd_open(process)
    try:
        if not multiprocessing.connection.wait([handle], moment):
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(handle)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code == -signal.SIGKILL:
        return "was killed" if moment < TIMEOUT else f"did not end in {TIMEOUT:g} s"
    if code == 1:
        return f"failed: {out.with_name(f'{out.name}-error.txt').read_text().strip().splitlines()[-1]}"
    return {0: "finished", _REFUSED: "was refused"}.get(code, f"ended with {code}")


class _HereEngine:
    """Works in this process, one item after the other."""

    def run(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any | Failure]]:
        for item in items:
            yield item, attempt(work, item)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be ended."""


def prepare_annotation(inputs: Path, stack: ExitStack) -> None:
    """A small encoder, and a synthetic corpus."""
    torch.manual_seed(0)
    encoder = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    save_encoder(encoder, inputs / "encoder.safetensors")
    options = CorpusOptions(words=8, hours=0.006, seed=3, video_seconds=6, dictionary_signers=2, exemplars=1.7)
    make_corpus(options, inputs / "corpus")


def _annotate(inputs: Path, out: Path) -> None:
    """As the command does: annotate, then export what is stored."""
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
        lines = tuple(dump(store))
    skipped = ("annotations.sqlite", "digests.jsonl")  # their bytes depend on the history; the lines on the content
    return {"store": lines} | {name: data for name, data in _tree(out).items() if not name.startswith(skipped)}


def _check_annotation(inputs: Path, out: Path) -> None:
    """A killed run's store opens and holds whole videos."""
    if (out / FILE).is_file():
        with suppress(StoreError), open_store(out, timeout=0) as store:
            marks = store.keys()
            done = {video for video, _ in marks}
            assert {query.video for query in store.queries()} <= done, "queries of a video that is not done"


def _prepare_build(inputs: Path, stack: ExitStack) -> None:
    for word in range(12):
        for take in range(2):
            write_landmarks(make_landmarks(3 + word), inputs / f"word {word}" / f"{take}.pose")


def _build(inputs: Path, out: Path) -> None:
    build_dictionary(inputs, out)


def _check_build(inputs: Path, out: Path) -> None:
    """An unfinished folder is refused as such; it never passes for a dictionary of other words."""
    if out.is_dir() and any(out.rglob("*.pose")):
        reason = ""
        try:
            words = list(open_dictionary(out))
        except DictionaryError as error:
            reason = str(error)
        assert "unfinished" in reason if reason else words == list(open_dictionary(inputs)), reason or words


def _versions() -> tuple[list[Spotting], list[Spotting]]:
    old = [Spotting(f"word {n}", "news.mp4", n + 0.5, n, n + 0.9, 0.5, f"e{n}") for n in range(60)]
    return old, [Spotting("apple", "news.mp4", n + 0.5, n, n + 0.9, 0.9) for n in range(100)]


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
    for path in (out / f"x{kind.suffix}" for kind in FORMATS):
        if path.is_file():
            assert len(read_spottings(path)) in map(len, _versions()), f"{path.name} is cut off"


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


def _train_state(out: Path) -> dict[str, object]:
    return {name: content for name, content in _tree(out).items() if name not in ("state.pt", "events.jsonl")}


def _prepare_fetch(inputs: Path, stack: ExitStack) -> None:
    """A server in a process of its own, so that no thread of it is forked."""
    (video,) = make_videos(inputs, 1)
    (inputs / "sent.mp4").write_bytes(video)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    server = context.Process(target=_serve_video, args=(video, there), daemon=True)
    server.start()
    stack.callback(server.join)
    stack.callback(server.terminate)
    (inputs / "address").write_text(here.recv())


def _serve_video(video: bytes, there: Any) -> None:
    with versions([video], 0, slow=0.01, breaks=False) as address:
        there.send(address)
        threading.Event().wait()


def _fetch(inputs: Path, out: Path) -> None:
    address = (inputs / "address").read_text()
    wanted = [Download(f"{address}/{number}.mp4", f"{number}.mp4") for number in range(4)]
    report = fetch(wanted, out, DownloadOptions(timeout=30.0, delay=0.0, backoff=0.01))
    assert not report.problems, str(report.problems[0])


def _fetch_state(out: Path) -> dict[str, object]:
    """The videos; and the notes on them without their dates, of which each is there once."""
    files = {name: data for name, data in _tree(out).items() if name not in (".fetch.lock", "fetched.jsonl")}
    rows = map(json.loads, (out / "fetched.jsonl").read_text().splitlines())
    return {**files, "notes": sorted((row["name"], row["sha256"]) for row in rows)}


def _check_fetch(inputs: Path, out: Path) -> None:
    for path in out.glob("*.mp4"):
        assert path.read_bytes() == (inputs / "sent.mp4").read_bytes(), f"{path.name} is not what was sent"


COMMANDS = {
    "dictionary build": Command(_build, _prepare_build, check=_check_build),
    "dictionary fetch": Command(_fetch, _prepare_fetch, _fetch_state, _check_fetch),
    "export": Command(_export, check=_check_export),
    "train": Command(_train, state=_train_state),
    "annotate": Command(_annotate, prepare_annotation, _annotation_state, _check_annotation),
}
