"""Puts what a wheel asks for, and no more, into an environment, from what is installed here: nothing is fetched.

    python tools/link_dependencies.py signspot-1.0-py3-none-any.whl EMPTY/lib/python3.11/site-packages

Follows the wheel's requirements, and theirs, with their extras and markers; a distribution that none of them names is
not in that environment, so that a dependency which the wheel forgot to name is missing there, as it would be for users.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def wheel_requirements(wheel: Path) -> list[Requirement]:
    """The requirements of a wheel without any extra."""
    with ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        lines = opened.read(name).decode("utf-8").partition("\n\n")[0].splitlines()
    stated = [Requirement(line.removeprefix("Requires-Dist: ")) for line in lines if line.startswith("Requires-Dist: ")]
    return [requirement for requirement in stated if _applies(requirement, "")]


def needed(wanted: list[Requirement]) -> Iterator[Distribution]:
    """The installed distributions that requirements lead to; one that is missing or of another version ends it all."""
    waiting = list(wanted)
    followed: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            sys.exit(f"{requirement} is not installed here")
        if not requirement.specifier.contains(installed.version, prereleases=True):
            sys.exit(f"{requirement} is asked for, {installed.version} is installed here")
        if (name, "") not in followed:
            yield installed
        for extra in {"", *requirement.extras}:
            if (name, extra) not in followed:
                followed.add((name, extra))
                stated = [Requirement(line) for line in installed.requires or ()]
                waiting += [requirement for requirement in stated if _applies(requirement, extra)]


def link(installed: Distribution, site: Path) -> None:
    """Link, or copy where that cannot be, the files of a distribution below another site-packages."""
    for file in installed.files or ():
        if ".." in file.parts:  # programs, manual pages
            continue
        source, target = Path(str(file.locate())), site / file
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:
                shutil.copy2(source, target)


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def main() -> None:
    """Link everything; say what."""
    wheel, site = Path(sys.argv[1]), Path(sys.argv[2])
    linked = list(needed(wheel_requirements(wheel)))
    for installed in linked:
        link(installed, site)
    print(f"{len(linked)} distributions: {', '.join(sorted(installed.name for installed in linked))}")


if __name__ == "__main__":
    main()
