"""Kills at random moments of build, fetch, export, train, annotate and serve: nothing lost, nothing doubled, no litter.

A command runs in a forked process, which is killed (SIGKILL) at a random moment and started again in the same folder,
up to eight times; then it may finish. What it leaves is compared with what an undisturbed run left. Two runs of it in
one folder at once come to the same, or one of them is refused.
"""

import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import torch

from signspot.errors import SignspotError
from tools.attack import AttackOptions, Outcome
from tools.attack.commands import COMMANDS, Command

MOST_KILLS = 8  # of one run, before it may finish
PATIENCE = 300.0  # seconds within which a run must end
_REFUSED = 3  # exit code of a run that was told what is wrong


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Kill every command `options.count` times, and run it twice at once a twentieth as often."""
    torch.set_num_threads(1)  # threads do not survive a fork
    for command in COMMANDS:
        if not options.only or command.name in options.only:
            yield from attack_command(command, options)


def attack_command(command: Command, options: AttackOptions) -> Iterator[Outcome]:
    """Kill one command again and again; then run it twice at once."""
    folder = options.folder / command.name.replace(" ", "-")
    inputs, whole = folder / "inputs", folder / "whole"
    inputs.mkdir(parents=True)
    os.environ["SIGNSPOT_CACHE"] = str(folder / "cache")
    with ExitStack() as stack:
        command.prepare(inputs, stack)
        command.run(inputs, folder / "warm")  # here, so that no child loads modules
        start = monotonic()
        ended = _run(command, inputs, whole, PATIENCE)
        usual = monotonic() - start
        if ended != "finished":
            yield Outcome(command.name, 0, [f"an undisturbed run {ended}"])
            return
        wanted = command.state(whole)
        yield _kill_often(command, options, folder, wanted, usual)
        yield _run_together(command, options, folder, wanted)


def _kill_often(command: Command, options: AttackOptions, folder: Path, wanted: object, usual: float) -> Outcome:
    """Kill a command `options.count` times; an undisturbed run takes `usual` seconds."""
    outcome, chance, runs = Outcome(command.name), random.Random(f"{options.seed} {command.name}"), 0
    inputs, out, kills = folder / "inputs", folder / "run-0", 0
    while outcome.tried < options.count or kills:  # the last run finishes, too
        may_kill = kills < MOST_KILLS and outcome.tried < options.count
        moment = chance.uniform(0, usual) * chance.choice((0.1, 0.5, 1.0)) if may_kill else PATIENCE
        start = monotonic()
        ended = _run(command, inputs, out, moment)
        outcome.worst_seconds = max(outcome.worst_seconds, monotonic() - start)
        if ended == "was killed":
            outcome.tried, kills = outcome.tried + 1, kills + 1
            _judge(outcome, partial(command.check, inputs, out), f"after kill {outcome.tried}")
            continue
        if ended != "finished":
            outcome.failures.append(f"after kill {outcome.tried}, the next run {ended}")
        _judge(outcome, partial(_compare, command.state, wanted, out), f"run {runs}, after {kills} kills")
        runs, kills = runs + 1, 0
        out = folder / f"run-{runs}"
    outcome.remarks = f"{runs} runs finished, an undisturbed one takes {usual:.2f} s"
    return outcome


def _run_together(command: Command, options: AttackOptions, folder: Path, wanted: object) -> Outcome:
    """Two runs into one folder at once: both finish, or one is refused; the folder is as one run leaves it."""
    outcome = Outcome(f"{command.name}, two at once", max(1, options.count // 20))
    inputs, refused = folder / "inputs", 0
    for number in range(outcome.tried):
        out = folder / f"together-{number}"
        both = [_start(command, inputs, out, folder / f"trace-{place}.txt") for place in range(2)]
        ends = [_end(process, folder / f"trace-{place}.txt", PATIENCE) for place, process in enumerate(both)]
        refused += sum(end.startswith("was refused") for end in ends)
        outcome.failures += [
            f"round {number}: a run {end}" for end in ends if not end.startswith(("fin", "was refused"))
        ]
        if "finished" not in ends:
            outcome.failures.append(f"round {number}: neither finished: {ends}")
        _judge(outcome, partial(_compare, command.state, wanted, out), f"round {number}")
    outcome.remarks = f"{refused} of {2 * outcome.tried} were refused"
    return outcome


def _run(command: Command, inputs: Path, out: Path, moment: float) -> str:
    """Run a command in a forked process; kill it after `moment` seconds."""
    told = out.parent / "trace.txt"
    return _end(_start(command, inputs, out, told), told, moment)


def _start(command: Command, inputs: Path, out: Path, told: Path) -> int:
    """Start a command in a forked process, which writes down what it dies of."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
                command.run(inputs, out)
            code = 0
        except SignspotError as error:
            told.write_text(f"{type(error).__name__}: {error}")
            code = _REFUSED
        except BaseException:
            told.write_text(traceback.format_exc())
        finally:
            os._exit(code)
    return process


def _end(process: int, told: Path, moment: float) -> str:
    """Wait for a process for `moment` seconds, then kill it; tell how it ended."""
    deadline = monotonic() + moment
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
        if monotonic() >= deadline:
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            break
        sleep(min(0.002, max(0.0, deadline - monotonic())))
    if os.WIFSIGNALED(status):
        return "was killed" if moment < PATIENCE else f"did not end in {PATIENCE:g} s"
    code = os.WEXITSTATUS(status)
    words = {0: "finished", _REFUSED: "was refused"}.get(code, "failed")
    return words if code == 0 else f"{words}: {told.read_text().strip().splitlines()[-1]}"


def _judge(outcome: Outcome, check: Callable[[], None], when: str) -> None:
    try:
        check()
    except Exception as error:
        outcome.failures.append(f"{when}: {type(error).__name__}: {error}")


def _compare(state: Callable[[Path], object], wanted: object, out: Path) -> None:
    found = state(out)
    litter = [str(path.relative_to(out)) for path in out.rglob("*signspot-part*")]
    assert not litter, f"litter: {litter[:3]}"
    if isinstance(found, dict) and isinstance(wanted, dict):
        names = {name for name in {*found, *wanted} if found.get(name) != wanted.get(name)}
        assert not names, f"other than undisturbed: {sorted(map(str, names))[:5]}"
    assert found == wanted, "other than undisturbed"
