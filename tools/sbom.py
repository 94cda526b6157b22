"""The dependency list: every distribution that signspot installs, with version, licence and who needs it: `make sbom`.

Reads the metadata of what is installed here; nothing is fetched.

Example: python tools/sbom.py > dependencies.md
"""

import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_LONGEST = 60  # letters of a licence that are shown; some packages give the whole text


def requirements(package: Distribution) -> Iterator[tuple[str, str]]:
    """The distributions that one names, each with the extra that needs it; "" for the core."""
    for line in package.requires or ():
        name = _NAME.match(line)
        extra = _EXTRA.search(line)
        if name:
            yield normal(name[0]), extra[1] if extra else ""


def normal(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(package: Distribution) -> str:
    """The licence of a distribution as it states it: the expression, the classifiers, or the first line of the text."""
    facts = {name: package.metadata.get_all(name, []) for name in ("License-Expression", "Classifier", "License")}
    classified = [line.rpartition(" :: ")[2] for line in facts["Classifier"] if line.startswith("License")]
    stated = " ".join(facts["License-Expression"]) or ", ".join(classified) or " ".join(facts["License"])
    return (stated or "not stated").strip().split("\n")[0][:_LONGEST]


def dependencies(root: str = "signspot", extras: Sequence[str] = ()) -> dict[str, tuple[str, str, str]]:
    """Name → version, licence, and the first that needs it; of the core and of the extras that are named.

    What is not installed has an empty version.
    """
    rows: dict[str, tuple[str, str, str]] = {}
    waiting = [
        (name, f"{root}[{extra}]" if extra else root)
        for name, extra in requirements(distribution(root))
        if not extra or extra in extras
    ]
    while waiting:
        name, needed_by = waiting.pop(0)
        if name in rows or name == root:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            rows[name] = ("", "not installed here", needed_by)
            continue
        rows[name] = (package.version, licence_of(package), needed_by)
        waiting += [(other, name) for other, extra in requirements(package) if not extra]
    return rows


def main(extras: Sequence[str]) -> int:
    """Print the list as a table; the arguments are extras, all but those for developers if none is named."""
    wanted = extras or ("annotate", "parquet", "postgres", "ray", "signers", "text")
    rows = dependencies(extras=wanted)
    print(f"# Dependencies\n\nOf `signspot` with the extras {', '.join(wanted)}: {len(rows)} distributions.\n")
    print("| distribution | version | licence | needed by |\n|---|---|---|---|")
    for name, (version, licence, needed_by) in sorted(rows.items()):
        print(f"| {name} | {version or '–'} | {licence.replace('|', '/')} | {needed_by} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
