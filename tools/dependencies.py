"""Everything that signspot leads to among what is installed here; nothing is fetched.

    python tools/dependencies.py list > dependencies.md     each with version, licence and who needs it: `make sbom`
    python tools/dependencies.py link signspot-1.0-py3-none-any.whl EMPTY/lib/python3.11/site-packages

`link` puts what a wheel asks for, and no more, into an environment: what the wheel forgot to name is missing there, as
it would be for users.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("annotate", "parquet", "postgres", "ray", "signers", "text")
_LONGEST = 60  # letters of a licence that are shown; some packages give the whole text


@dataclass(frozen=True, slots=True)
class Needed:
    """A distribution that something asks for."""

    requirement: Requirement
    installed: Distribution | None  # None: it is not installed here
    needed_by: str


def needed(requirements: Sequence[tuple[Requirement, str]]) -> Iterator[Needed]:
    """The distributions that requirements lead to, each once, with their extras and markers."""
    waiting = list(requirements)
    followed: set[tuple[str, str]] = set()
    while waiting:
        requirement, needed_by = waiting.pop(0)
        name = canonicalize_name(requirement.name)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            installed = None
        if (name, "") not in followed:
            yield Needed(requirement, installed, needed_by)
        for extra in {"", *requirement.extras} - {extra for followed_name, extra in followed if followed_name == name}:
            followed.add((name, extra))
            waiting += [(other, name) for other in stated(installed.requires if installed else (), extra)]


def stated(lines: Sequence[str] | None, extra: str = "") -> list[Requirement]:
    """The requirements of a distribution that hold here, or those that one of its extras adds."""
    requirements = [Requirement(line) for line in lines or ()]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    ]


def of_wheel(wheel: Path) -> list[tuple[Requirement, str]]:
    """The requirements of a wheel without any extra."""
    with ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        lines = opened.read(name).decode("utf-8").partition("\n\n")[0].splitlines()
    requirements = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    return [(requirement, wheel.name) for requirement in stated(requirements)]


def licence_of(package: Distribution) -> str:
    """The licence of a distribution as it states it: the expression, the classifiers, or the first line of the text."""
    facts = {name: package.metadata.get_all(name, []) for name in ("License-Expression", "Classifier", "License")}
    classified = [line.rpartition(" :: ")[2] for line in facts["Classifier"] if line.startswith("License")]
    text = " ".join(facts["License-Expression"]) or ", ".join(classified) or " ".join(facts["License"])
    return (text or "not stated").strip().split("\n")[0][:_LONGEST]


def table(root: str = "signspot", extras: Sequence[str] = EXTRAS) -> Iterator[str]:
    """The rows of the list, by name."""
    of_extras = [(one, f"{root}[{extra}]") for extra in extras for one in stated(distribution(root).requires, extra)]
    core = [(one, root) for one in stated(distribution(root).requires)]
    rows = {canonicalize_name(one.requirement.name): one for one in needed([*core, *of_extras])}
    yield "| distribution | version | licence | needed by |\n|---|---|---|---|"
    for name, one in sorted(rows.items()):
        licence = "not installed here" if one.installed is None else licence_of(one.installed).replace("|", "/")
        yield f"| {name} | {one.installed.version if one.installed else '–'} | {licence} | {one.needed_by} |"


def link(dependency: Needed, site: Path) -> None:
    """Link, or copy where that cannot be, the files of a distribution below another site-packages.

    It ends the program where the distribution is missing, or of another version than is asked for.
    """
    if dependency.installed is None:
        sys.exit(f"{dependency.requirement} is not installed here")
    if not dependency.requirement.specifier.contains(dependency.installed.version, prereleases=True):
        sys.exit(f"{dependency.requirement} is asked for, {dependency.installed.version} is installed here")
    for file in dependency.installed.files or ():
        source, target = Path(str(file.locate())), site / file
        if ".." not in file.parts and source.is_file() and not target.exists():  # no programs, no manual pages
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:
                shutil.copy2(source, target)


if __name__ == "__main__":
    if sys.argv[1:2] == ["link"]:
        for each in needed(of_wheel(Path(sys.argv[2]))):
            link(each, Path(sys.argv[3]))
    else:
        print("# Dependencies\n", *table(), sep="\n")
