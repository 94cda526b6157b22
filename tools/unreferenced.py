"""List functions, methods and classes that no code but their own tests refers to; exit 1 where there are any.

A name counts as used where it appears outside its own body in a package, a tool or a benchmark: as a name, an
attribute, an import, a keyword or a whole string (for lazy namespaces). What other libraries call by name, and what is
public for users' own code, stands in unreferenced-allowed.txt; a line there that is not needed is a mistake, too.

Example: python tools/unreferenced.py
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("signspot", "signspot_synthetic", "experiments")
ALLOWED = Path(__file__).with_name("unreferenced-allowed.txt")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Defined:
    """A function, method or class, and where it stands."""

    name: str
    path: Path
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.first} {self.name}"


def definitions(path: Path, tree: ast.Module) -> Iterator[Defined]:
    """Names that a file defines, but for those registered by a decorator's call and those that Python itself calls."""
    for node in ast.walk(tree):
        if isinstance(node, Definition) and not node.name.startswith("__"):
            registered = any(isinstance(decorator, ast.Call) for decorator in node.decorator_list)
            if isinstance(node, ast.ClassDef) or not registered or is_cached(node):
                yield Defined(node.name, path, node.lineno, node.end_lineno or node.lineno)


def is_cached(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the decorators only remember results."""
    return all("cache" in ast.unparse(decorator) for decorator in node.decorator_list)


def references(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """All names that a file mentions, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2], node.lineno
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg, node.value.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in node.value.replace(".", " ").replace('"', " ").replace("[", " ").replace("]", " ").split():
                yield name.rstrip(","), node.lineno


def unreferenced() -> list[Defined]:
    """Names that are defined in the packages and mentioned nowhere else."""
    mentioned: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    defined: list[Defined] = []
    for folder in (*PACKAGES, "tools", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            without_docstrings(tree)
            for name, line in references(tree):
                mentioned[name].append((path, line))
            if folder in PACKAGES:
                defined += definitions(path, tree)
    return [
        definition
        for definition in defined
        if all(
            path == definition.path and definition.first <= line <= definition.last
            for path, line in mentioned[definition.name]
        )
    ]


def without_docstrings(tree: ast.Module) -> None:
    """Take the docstrings out: what a sentence mentions is not used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and node.body and isinstance(node.body[0], ast.Expr):
            value = node.body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = ""


def main() -> int:
    """Print what is found; 0 where there is nothing."""
    lines = [line.partition("#")[0].strip() for line in ALLOWED.read_text(encoding="utf-8").splitlines()]
    allowed = {line for line in lines if line}
    names = unreferenced()
    for definition in names:
        if definition.name not in allowed:
            print(f"{definition} is used by no code. Delete it, or name it in {ALLOWED.name}.")
    stale = sorted(allowed - {definition.name for definition in names})
    for name in stale:
        print(f"{ALLOWED.name} names '{name}', which is used or gone. Delete the line.")
    return 1 if stale or any(definition.name not in allowed for definition in names) else 0


if __name__ == "__main__":
    sys.exit(main())
