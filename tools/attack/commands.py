"""Kills of commands at random moments: nothing lost, nothing doubled, no stale files.

A command is killed (SIGKILL) at a random moment and run again in the same folder, up to eight times; then it may
finish. Its files are compared with those of an undisturbed run. Runs in one folder and with one fresh cache at once
give the same files, or some of them are refused. Where no file may grow, a command is refused, and the next finishes.
"""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from signspot.annotation.store import FILE, dump, open_store
from signspot.dictionary.open_dictionary import open_dictionary
from signspot.errors import DictionaryError, StoreError
from signspot.formats.formats import read_spottings, write
from signspot.landmarks.pose_file import write_landmarks
from signspot.models.checkpoints import read_state, save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.types import Spotting
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.corpus_writer import make_corpus
from tests.fixtures.servers import make_videos, versions
from tools.attack import PROGRAM, AttackOptions, Outcome, make_landmarks

MOST_KILLS = 8  # of one run, before it may finish
TIMEOUT = 1200.0  # seconds within which a run must end, on the busiest machine
AT_ONCE = 4  # runs in one folder
FILE_SIZE = 10_000  # bytes that a file may have where none may grow
TRAINING = 'kind = "embedding"\nname = "mine"\nepochs = 3\ndimension = 32\nbatch.items = 4\nbatch.clips = 2\n'


@dataclass(frozen=True)
class Command:
    """A command under attack: it runs in a folder of its own beside `inputs`, and writes into `out`."""

    arguments: str
    prepare: Callable[[Path, ExitStack], None]  # makes the inputs; what it starts ends with the stack
    check: Callable[[Path], None]  # raises where a killed run left in `out` what it may not
    skipped: tuple[str, ...] = ()  # beginnings of file names in `out` whose bytes depend on the history


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Kill every command `options.count` times; run it several times at once, and where no file may grow."""
    for name in options.only or COMMANDS:
        yield attack_command(name, options)


def attack_command(name: str, options: AttackOptions) -> Outcome:
    """Attack one command."""
    command, outcome, folder = COMMANDS[name], Outcome(name), options.folder / name.replace(" ", "-")
    (folder / "inputs").mkdir(parents=True)
    chance, killed, kills, runs = random.Random(f"{options.seed} {name}"), 0, 0, 0
    with ExitStack() as stack:
        command.prepare(folder / "inputs", stack)
        start = monotonic()
        end = _end(_start(command, folder / "whole"), TIMEOUT)
        usual, expected = monotonic() - start, _read_results(command, folder / "whole")
        with outcome.timed("undisturbed"):
            assert end == 0, f"ended with {end}: {(folder / 'whole' / 'log').read_text()[-500:]}"
        if outcome.failures:
            return outcome
        while killed < options.count or kills:  # the last run finishes, too
            run, may_kill = folder / f"run-{runs}", kills < MOST_KILLS and killed < options.count
            moment = usual * chance.uniform(*chance.choice(((0, 0.5), (0.5, 1)))) if may_kill else TIMEOUT
            end = _end(_start(command, run), moment)
            if end == -9 and may_kill:
                killed, kills = killed + 1, kills + 1
                with outcome.timed(f"after kill {killed}"):
                    command.check(run / "out")
                continue
            _compare(command, outcome, run, expected, [end])
            runs, kills = runs + 1, 0
        run = folder / "at-once"
        processes = [_start(command, run) for _ in range(AT_ONCE)]
        _compare(command, outcome, run, expected, [_end(process, TIMEOUT) for process in processes])
        run = folder / "limited"
        end = _end(_start(command, run, FILE_SIZE), TIMEOUT)
        with outcome.timed("where no file may grow"):
            assert end in (0, 1), end
            _check_log_and_files(run)
        _compare(command, outcome, run, expected, [_end(_start(command, run), TIMEOUT)])
    return outcome


def _start(command: Command, run: Path, file_size: int = resource.RLIM_INFINITY) -> "subprocess.Popen[bytes]":
    if not run.is_dir():
        run.mkdir()
        if (start := run.parent / "inputs" / "out").is_dir():  # what the command changes in place
            shutil.copytree(start, run / "out")
    environment = {
        **os.environ,
        "SIGNSPOT_CACHE": "cache",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    line = [sys.executable, "-c", PROGRAM, *command.arguments.split()]
    with (run / "log").open("a") as log:
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
        return subprocess.Popen(line, cwd=run, env=environment, stdout=log, stderr=log, preexec_fn=limit)


def _end(process: "subprocess.Popen[bytes]", moment: float) -> int:
    """Wait for a process for `moment` seconds, then kill it; give its exit code."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(moment)
    process.kill()
    return process.wait()


def _compare(command: Command, outcome: Outcome, run: Path, expected: dict[str, Any], ends: list[int]) -> None:
    """One run finished, others were refused; the results are those of an undisturbed run."""
    with outcome.timed(f"{run.name}, after {outcome.tried} attacks"):
        assert 0 in ends, f"ended with {ends}: {(run / 'log').read_text()[-300:]}"
        assert set(ends) <= {0, 1, 2}, ends  # 1 and 2: refused
        _check_log_and_files(run)
        results = _read_results(command, run)
        names = sorted(name for name in {*results, *expected} if results.get(name) != expected.get(name))
        assert not names, f"other than undisturbed: {names[:5]}"
        outcome.accepted += 1


def _check_log_and_files(run: Path) -> None:
    assert "Traceback" not in (run / "log").read_text(), (run / "log").read_text()[-500:]
    stale = [path.name for path in run.rglob("*signspot-part*")]
    assert not stale, f"stale temporary files: {stale[:3]}"


def _read_results(command: Command, run: Path) -> dict[str, Any]:
    out = run / "out"
    files = {str(path.relative_to(out)): path for path in sorted(out.rglob("*")) if path.is_file()}
    results: dict[str, Any] = {n: p.read_bytes() for n, p in files.items() if not n.startswith(command.skipped)}
    if FILE in files:
        with open_store(out) as store:
            results["store"] = tuple(dump(store))
    if "fetched.jsonl" in files:
        rows = map(json.loads, files["fetched.jsonl"].read_text().splitlines())
        results["notes"] = sorted((row["name"], row["sha256"]) for row in rows)
    return results


def prepare_annotation(inputs: Path, stack: ExitStack) -> None:
    """A small encoder, a synthetic corpus, and a configuration of a training."""
    torch.manual_seed(0)
    encoder = make_encoder("small", build("landmark", width=32, hand_width=16, part_width=8, last_width=32))
    save_encoder(encoder, inputs / "encoder.safetensors")
    options = CorpusOptions(words=8, hours=0.006, seed=3, video_seconds=6, dictionary_signers=2, exemplars=1.7)
    make_corpus(options, inputs / "corpus")
    (inputs / "training.toml").write_text(TRAINING)


def _check_annotation(out: Path) -> None:
    """A killed run's store opens and holds whole videos."""
    if (out / FILE).is_file():
        with suppress(StoreError), open_store(out, timeout=0) as store:
            marks = store.keys()
            done = {video for video, _ in marks}
            assert {query.video for query in store.queries()} <= done, "queries of a video that is not done"


def _check_training(out: Path) -> None:
    """The state opens; every run resumed where a state was saved before."""
    if (out / "state.pt").is_file():
        steps = len(read_state(out / "state.pt")["curve"])
        begun = [json.loads(line)["step"] for line in (out / "events.jsonl").read_text().splitlines()]
        assert begun == sorted(begun), f"runs began at {begun}"
        assert begun[-1] <= steps, f"a run began at step {begun[-1]}; the state is of step {steps}"


def _prepare_build(inputs: Path, stack: ExitStack) -> None:
    for word in range(12):
        for take in range(2):
            write_landmarks(make_landmarks(3 + word), inputs / "signs" / f"word {word}" / f"{take}.pose")


def _check_build(out: Path) -> None:
    """An unfinished folder is refused as such; it never passes for a dictionary of fewer words."""
    if out.is_dir() and any(out.rglob("*.pose")):
        try:
            assert len(open_dictionary(out)) == 12
        except DictionaryError as error:
            if "unfinished" not in str(error):
                raise


def _prepare_convert(inputs: Path, stack: ExitStack) -> None:
    """Many spottings, and the old ones that they replace."""
    for name, count in (("new.csv", 2000), ("out/x.eaf", 60)):
        (inputs / name).parent.mkdir(exist_ok=True)
        write([Spotting("apple", "news.mp4", n + 0.5, n, n + 0.9, 0.9) for n in range(count)], inputs / name)


def _check_convert(out: Path) -> None:
    """The file is the old one or the new one, whole."""
    assert len(read_spottings(out / "x.eaf")) in (60, 2000), "cut off"


def _prepare_fetch(inputs: Path, stack: ExitStack) -> None:
    (video,) = make_videos(inputs, 1)
    (inputs / "sent.mp4").write_bytes(video)
    address = stack.enter_context(versions([video], 0, slow=0.01, breaks=False))
    words = {f"w{n}": {"exemplars": [{"id": f"w{n}", "url": f"{address}/{n}.mp4"}]} for n in range(4)}
    (inputs / "out").mkdir()
    text = json.dumps({"format": "signspot-dictionary", "version": 1, "words": words})
    (inputs / "out" / "dictionary.json").write_text(text)


def _check_fetch(out: Path) -> None:
    """What has the name of a video is the video that was sent."""
    sent = (out.parent.parent / "inputs" / "sent.mp4").read_bytes()
    assert all(path.read_bytes() == sent for path in out.rglob("*.mp4")), "a video is not what was sent"


def _prepare_spot(inputs: Path, stack: ExitStack) -> None:
    """A dictionary, and a video in which it is searched; what is embedded goes into the cache."""
    _prepare_build(inputs, stack)
    write_landmarks(make_landmarks(400), inputs / "news.pose")


def _check_spot(out: Path) -> None:
    """The file is whole, or is not there."""
    if (out / "x.csv").is_file():
        read_spottings(out / "x.csv")


COMMANDS = {
    "spot": Command(
        "spot ../inputs/news.pose ../inputs/signs --threshold 0.8 --out out/x.csv", _prepare_spot, _check_spot
    ),
    "dictionary build": Command("dictionary build ../inputs/signs out --no-embed", _prepare_build, _check_build),
    "dictionary fetch": Command("dictionary fetch out --delay 0", _prepare_fetch, _check_fetch, (".fetch", "fetched")),
    "convert": Command("convert ../inputs/new.csv out/x.eaf", _prepare_convert, _check_convert),
    "train": Command(
        "train ../inputs/training.toml --corpus ../inputs/corpus --encoder ../inputs/encoder.safetensors --out out",
        prepare_annotation,
        _check_training,
        ("state.pt", "events.jsonl"),
    ),
    "annotate": Command(
        "annotate ../inputs/corpus --dictionary ../inputs/corpus/dictionary --encoder ../inputs/encoder.safetensors"
        " --out out --threshold 0.6 --export out/spottings.csv",
        prepare_annotation,
        _check_annotation,
        ("annotations.sqlite", "digests.jsonl"),
    ),
}
