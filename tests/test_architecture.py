"""The house: floors, sizes, shapes in `forward`, public names, a fresh CLI reference."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import signspot

ROOT = Path(signspot.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

FLOORS = {
    "errors": 0, "progress": 0, "files": 0, "timeline": 0, "records": 0, "restricted_pickle": 0, "version": 0,
    "video": 1, "landmarks": 1, "text": 1, "dictionary": 1, "export": 1, "models": 1, "losses": 1, "sampling": 1,
    "metrics": 1, "world": 1,
    "spotting": 2, "mouthing": 2, "recognition": 2, "training": 2, "pictures": 2,
    "annotation": 3, "applications": 3, "experiments": 3,
    "cli": 4, "web": 4,
}  # fmt: skip

SIDEWAYS = {
    ("landmarks", "video"),  # pixels → landmarks
    ("dictionary", "video"),  # is this exemplar readable?
    ("dictionary", "landmarks"),  # .pose exemplars
    ("world", "landmarks"),  # the world speaks in landmarks
    ("world", "video"),  # and films them
    ("world", "dictionary"),  # and writes a dictionary
    ("pictures", "spotting"),  # curves of what was spotted
    ("training", "spotting"),  # trains with the windows that spotting looks through
    ("experiments", "annotation"),  # measures what is annotated
}  # fmt: skip


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return {name for name in found if name.split(".")[0] == "signspot"}


def functions_of(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]


def body_lines(function: ast.FunctionDef) -> int:
    doc = ast.get_docstring(function, clean=False)
    docstring = doc.count("\n") + 1 if doc else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
class TestEveryFile:
    def test_imports_go_down_only(self, path: Path) -> None:
        if path == ROOT / "__init__.py":
            return  # the public namespace names all floors, lazily
        room = room_of("signspot." + ".".join(path.relative_to(ROOT).with_suffix("").parts))
        for module in imports_of(path):
            other = room_of(module)
            if other in ("", room):
                continue
            assert other in FLOORS, f"{path} imports {module}: which floor is {other} on?"
            down = FLOORS[other] < FLOORS[room]
            base = FLOORS[room] == FLOORS[other] == 0
            assert down or base or (room, other) in SIDEWAYS, f"{path.relative_to(ROOT)} imports {module}"

    def test_modules_import_modules(self, path: Path) -> None:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "signspot":
                target = ROOT.joinpath(*(node.module or "").split(".")[1:])
                for alias in node.names if target.is_dir() else ():
                    module = target / f"{alias.name}.py"
                    assert module.is_file(), f"{path.relative_to(ROOT)} imports {alias.name} from an __init__"

    def test_it_says_its_place_in_one_sentence(self, path: Path) -> None:
        doc = ast.get_docstring(tree_of(path)) or ""
        assert doc.split("\n\n")[0].rstrip().endswith((".", ":")), f"{path.relative_to(ROOT)} opens with no sentence"

    def test_it_is_no_drawer(self, path: Path) -> None:
        assert path.stem not in {"utils", "helpers", "common", "misc"}
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                assert not node.name.endswith("Manager")

    def test_sizes(self, path: Path) -> None:
        assert path.read_text().count("\n") <= 400
        for function in functions_of(path):
            assert body_lines(function) <= 60, f"{path.name}:{function.lineno} {function.name} is too long"

    def test_forward_tells_its_shapes(self, path: Path) -> None:
        for function in functions_of(path):
            if function.name == "forward":
                doc = ast.get_docstring(function) or ""
                assert "(" in doc, f"{path.name}:{function.lineno} forward() tells no shape"

    def test_the_library_never_prints(self, path: Path) -> None:
        if room_of("signspot." + path.relative_to(ROOT).parts[0]) == "cli":
            return
        calls = [n.func for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c, ast.Name) and c.id == "print"]

    def test_nothing_unpickles(self, path: Path) -> None:
        """Pickles are read by two restricted readers only; everything else may not even import pickle."""
        allowed = {ROOT / "restricted_pickle.py", ROOT / "models" / "weight_files.py"}
        if path in allowed:
            return
        names = {alias.name for n in ast.walk(tree_of(path)) if isinstance(n, ast.Import) for alias in n.names}
        names |= {n.module for n in ast.walk(tree_of(path)) if isinstance(n, ast.ImportFrom) and n.module}
        assert not names & {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}


def test_most_files_and_functions_are_short() -> None:
    lengths = sorted(path.read_text().count("\n") for path in FILES)
    assert lengths[len(lengths) // 2] <= 200
    sizes = sorted(body_lines(function) for path in FILES for function in functions_of(path))
    assert sizes[len(sizes) // 2] <= 12
    assert sizes[int(len(sizes) * 0.9)] <= 30


def test_public_names_are_complete_and_sorted() -> None:
    capitals_first = sorted(signspot.__all__, key=lambda name: (name[0].islower(), name))
    assert signspot.__all__ == capitals_first
    assert set(signspot.__all__) == set(signspot._HOME)
    for name in signspot.__all__:
        assert getattr(signspot, name) is not None
    imported = {
        alias.name
        for node in ast.walk(tree_of(ROOT / "__init__.py"))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("signspot")
        for alias in node.names
    }
    assert imported - {"VERSION"} == set(signspot.__all__)
    with pytest.raises(AttributeError):
        _ = signspot.no_such_name


def test_importing_is_quick() -> None:
    """Neither torch nor mediapipe is loaded before it is needed."""
    code = (
        "import sys, signspot, signspot.cli.main; print([m for m in ('torch', 'mediapipe', 'cv2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_cli_reference_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT.parent / "tools" / "cli_reference.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_tests_mirror_the_package() -> None:
    tests = ROOT.parent / "tests"
    rooms = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    for folder in (path for path in tests.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert folder.name in rooms, f"tests/{folder.name} mirrors nothing"
    for room in rooms:
        assert list((tests / room).glob("test_*.py")), f"no test for signspot/{room}"
