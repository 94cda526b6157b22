"""Mutations guided by coverage, with Atheris, where it is installed: inputs that reach new lines of a reader are kept.

The same readers, and the same judgement, as the part `readers`. Each runs in a process of its own for some seconds.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.attack import AttackOptions, Outcome
from tools.attack.trials import SECONDS

_MEGABYTES = 2048  # of the whole process, with what is loaded and Atheris itself
_RUNS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_NEW = re.compile(r"stat::new_units_added:\s*(\d+)")


def attack(options: AttackOptions) -> Iterator[Outcome]:
    """Attack every reader for `options.count` seconds."""
    if find_spec("atheris") is None:
        yield Outcome("Atheris", remarks="not installed: pip install atheris")
        return
    from tools.attack.targets import targets

    for target in targets():
        if not options.only or target.name in options.only:
            yield _attack_reader(target.name, options)


def _attack_reader(name: str, options: AttackOptions) -> Outcome:
    folder = options.folder / name.replace(" ", "-")
    folder.mkdir(parents=True)
    limits = [f"-max_total_time={options.count}", f"-timeout={4 * SECONDS:.0f}", f"-rss_limit_mb={_MEGABYTES}"]
    more = ["-print_final_stats=1", f"-seed={options.seed + 1}", f"-artifact_prefix={folder}/found-"]
    program = [sys.executable, "-m", "tools.attack.guided", name, str(folder), str(folder / "seeds"), *limits, *more]
    done = subprocess.run(program, capture_output=True, text=True, errors="replace", check=False)
    runs, new = (int(found[1]) if (found := form.search(done.stderr)) else 0 for form in (_RUNS, _NEW))
    outcome = Outcome(name, runs, remarks=f"{new:,} inputs reached something new")
    if done.returncode or not runs:
        told = [line for line in (done.stdout + done.stderr).splitlines() if "Error" in line or "ERROR" in line]
        kept = [path.rename(Path.cwd() / f"guided-{path.name}").name for path in folder.glob("found-*")]
        outcome.failures.append(f"{'; '.join(told[:3]) or f'exit code {done.returncode}'}; input {kept}")
    return outcome


def main() -> None:
    """In the other process: hand the reader to Atheris, which ends the process."""
    atheris: Any = import_module("atheris")

    name, folder, *rest = sys.argv[1:]
    with atheris.instrument_imports(include=["signspot"]):
        from tools.attack.readers import _try
        from tools.attack.targets import targets
    target = next(each for each in targets() if each.name == name)
    path = Path(folder) / target.file
    path.parent.mkdir(parents=True, exist_ok=True)
    (Path(folder) / "seeds").mkdir(exist_ok=True)
    for number, seed in enumerate(target.prepare(Path(folder))):
        (Path(folder) / "seeds" / str(number)).write_bytes(seed)

    def test(data: bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        problem = _try(target, path)
        if problem:
            raise RuntimeError(problem)

    atheris.Setup([sys.argv[0], *rest], test)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
