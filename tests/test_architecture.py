"""The architecture: layers whose imports go down only, one small public namespace, nothing heavy loaded early."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import signspot
from tests.fixtures.source import parsed

REPOSITORY = Path(signspot.__file__).parent.parent
PRODUCT = REPOSITORY / "signspot"
PACKAGES = ("signspot", "signspot_synthetic", "experiments")
FILES = sorted(path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py"))

# Packages of the product by layer, lowest first.
LAYERS = (
    ("errors", "io", "types", "version"),
    (
        *("corpus", "dictionary", "formats", "landmarks", "losses", "metrics", "models", "subtitles"),
        *("video", "words"),
    ),
    ("embedding", "mouthing", "plots", "recognition", "spotting", "training"),
    ("annotation", "applications", "evaluation"),
    ("cli", "web"),
    ("__main__",),
)  # fmt: skip

# Imports between packages of one layer. The lowest layer is open to itself. An entry that nothing uses fails.
WITHIN_A_LAYER = {
    ("applications", "annotation"),
    ("cli", "web"),
    ("corpus", "dictionary"),
    ("corpus", "formats"),
    ("corpus", "landmarks"),
    ("corpus", "subtitles"),
    ("corpus", "video"),
    ("dictionary", "landmarks"),
    ("dictionary", "video"),
    ("formats", "subtitles"),
    ("landmarks", "video"),
    ("plots", "embedding"),
    ("plots", "spotting"),
    ("recognition", "embedding"),
    ("spotting", "embedding"),
    ("training", "embedding"),
    ("training", "mouthing"),
    ("training", "recognition"),
    ("training", "spotting"),
}  # fmt: skip

# Commands that load the synthetic generator, inside their functions only.
COMMANDS_THAT_LOAD_THE_GENERATOR = {"demo", "synthetic"}
READS_PICKLES = {PRODUCT / "io" / "restricted_unpickler.py"}


def layer_of(package: str) -> int:
    numbers = [number for number, packages in enumerate(LAYERS) if package in packages]
    assert numbers, f"which layer is '{package}' in?"
    return numbers[0]


def module_of(path: Path) -> list[str]:
    return list(path.relative_to(REPOSITORY).with_suffix("").parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return parsed(path.read_text())


def imports_of(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Every import below a node: the module, and the names taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield node.module or "", [alias.name for alias in node.names]


def test_the_product_imports_neither_the_generator_nor_experiments() -> None:
    """But for commands that load the generator when they run."""
    for path in FILES:
        package, *parts = module_of(path)
        modules = {module.split(".")[0] for module, _ in imports_of(tree_of(path))}
        if package == "signspot_synthetic":
            assert "experiments" not in modules, path
        elif package == "signspot":
            others = modules & {"signspot_synthetic", "experiments"}
            assert not others or (parts[0] == "cli" and parts[1] in COMMANDS_THAT_LOAD_THE_GENERATOR), (
                f"{path}: {others}"
            )


def test_imports_go_down_only() -> None:
    used = set()
    for path in FILES:
        package, part, *_ = module_of(path)
        if package != "signspot" or part == "__init__":
            continue
        for module, names in imports_of(tree_of(path)):
            parts = module.split(".")
            for target in (parts[1:2] or names) if parts[0] == "signspot" else []:
                here, there = layer_of(part), layer_of(target)
                if target != part and there >= here and not here == there == 0:
                    assert (part, target) in WITHIN_A_LAYER, f"{path.relative_to(REPOSITORY)} imports {module}"
                    used.add((part, target))
    assert used == WITHIN_A_LAYER, f"allowed and unused: {WITHIN_A_LAYER - used}"


def test_the_library_never_prints_and_never_unpickles() -> None:
    for path in FILES:
        if not {"cli", "experiments"} & set(module_of(path)):
            calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
            assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "print"], path
        if path not in READS_PICKLES:
            modules = {module for module, _ in imports_of(tree_of(path))}
            assert not modules & {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}, path


def test_public_names_are_complete_and_sorted() -> None:
    capitals_first = sorted(signspot.__all__, key=lambda name: (name[0].islower(), name))
    assert signspot.__all__ == capitals_first
    for name in signspot.__all__:
        assert getattr(signspot, name) is not None
    with pytest.raises(AttributeError):
        _ = signspot.no_such_name  # type: ignore[attr-defined]


def test_importing_is_quick() -> None:
    """Nothing that takes long to load is loaded before it is needed."""
    heavy = ("torch", "mediapipe", "cv2", "numpy", "rich", "sqlalchemy")
    code = f"import sys, signspot, signspot.cli.app; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_cli_reference_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / "cli_reference.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_tests_mirror_the_packages() -> None:
    tests = REPOSITORY / "tests"
    packages = {path.name for path in PRODUCT.iterdir() if (path / "__init__.py").is_file()}
    folders = {path.name for path in tests.iterdir() if path.is_dir()} - {"__pycache__", "fixtures"}
    assert folders == packages | {"synthetic", "experiments"}
