"""The house: three packages, floors, sizes, shapes in `forward`, public names, a fresh CLI reference."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import signspot

REPOSITORY = Path(signspot.__file__).parent.parent
PRODUCT = REPOSITORY / "signspot"
PACKAGES = ("signspot", "signspot_world", "signspot_lab")
FILES = sorted(path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py"))

# Rooms of the product by floor, lowest first; a file in the package's own folder is a room of its own.
FLOORS = (
    (
        *("bounded_process", "bounded_server", "checked_values", "errors", "files", "free_memory", "leftovers"),
        "legible",
        *("openvino_offline", "pickle_scan", "processes"),
        *("progress", "records", "restricted_pickle"),
        *("safe_xml", "text_files", "timeline", "version"),
    ),
    ("corpus", "dictionary", "formats", "landmarks", "losses", "metrics", "models", "subtitles", "video", "words"),
    ("embedding", "mouthing", "recognition"),
    ("pictures", "spotting", "training"),
    ("adaptation", "annotation", "evaluation"),
    ("applications",),
    ("workbench",),
    ("privacy",),
    ("cli",),
    ("__main__",),
)  # fmt: skip

# Steps between rooms of one floor. Floor 0 is open to itself. An entry that nothing uses fails.
SIDEWAYS = {
    ("corpus", "dictionary"),  # a corpus has a dictionary
    ("corpus", "formats"),  # spottings serve as labels
    ("corpus", "subtitles"),  # and subtitles
    ("corpus", "video"),  # which files are videos?
    ("dictionary", "video"),  # is this exemplar readable?
    ("formats", "subtitles"),  # WebVTT has one reader
    ("landmarks", "video"),  # pixels → landmarks
    ("recognition", "embedding"),  # isolated signs and their clips
    ("pictures", "spotting"),  # curves of what was spotted
}  # fmt: skip

# The same of the signing world: a language, bodies that sign it, cameras that see them, pictures, and whole corpora.
WORLD_FLOORS = (
    ("geometry", "knobs"),
    ("language",),
    ("body",),
    ("camera",),
    ("options", "render"),
    ("world",),
    ("performance",),
    ("corpus_writer", "demo", "show", "show_page"),
)  # fmt: skip

# And of the laboratory: matchers that learn nothing, sources of clips, trainings, and what is measured with them.
LAB_FLOORS = (
    ("processor_seconds", "warping"),
    ("contrastive", "isolated"),
    ("frame_codes", "mouthing"),
    (
        *("annotated_worlds", "background", "difficulty", "lsa64", "paper", "render_quality", "rgb_backends"),
        "split_estimation",
    ),
    ("estimator_comparison", "world_calibration"),
    ("cross_validation", "encoder_ablation", "label_sources", "promised_alarms", "without_labels"),
    ("adapted", "applications", "subtitled_streams"),
)  # fmt: skip
LAB_SIDEWAYS = {
    ("contrastive", "isolated"),  # what is trained on
    ("isolated", "contrastive"),  # the records that sources give
}  # fmt: skip

# Class names that stand in two modules. Each pair is of two rooms that never meet. An entry that nothing uses fails.
SHARED_NAMES = {
    *("Agreement", "Item", "Person", "Role"),  # of the workbench's pages, and of another room
    *("ClipOptions", "FeatureStream", "Trial", "Vocabulary"),  # of hands, and of lips
    *("Place", "Region"),  # of the world's phonology, and in pictures or videos
    "View",  # of an estimator, and of a drawing
}  # fmt: skip

# Verbs of the product that load the other two packages, inside their functions only.
VERBS_OF_OTHERS = {"calibrate", "corpus", "demo", "evaluate", "reproduce", "train", "world"}
READS_PICKLES = {PRODUCT / "restricted_pickle.py", PRODUCT / "models" / "weight_files.py"}


def floor_of(room: str, floors: Sequence[Sequence[str]]) -> int:
    found = [number for number, rooms in enumerate(floors) if room in rooms]
    assert found, f"which floor is '{room}' on?"
    return found[0]


def module_of(path: Path) -> list[str]:
    return list(path.relative_to(REPOSITORY).with_suffix("").parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Every import below a node: the module, and the names taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield node.module or "", [alias.name for alias in node.names]


def functions_of(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]


def body_lines(function: ast.FunctionDef) -> int:
    doc = ast.get_docstring(function, clean=False)
    docstring = doc.count("\n") + 1 if doc else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_the_packages_have_one_direction() -> None:
    """The world never imports the lab; the product imports neither, but for verbs that load them when they run."""
    for path in FILES:
        package, *parts = module_of(path)
        outer = [
            node for node in tree_of(path).body if not isinstance(node, ast.If)
        ]  # `if TYPE_CHECKING` loads nothing
        eager = {
            m.split(".")[0]
            for node in outer
            if isinstance(node, ast.Import | ast.ImportFrom)
            for m, _ in imports_of(node)
        }
        every = {m.split(".")[0] for m, _ in imports_of(tree_of(path))}
        if package == "signspot_world":
            assert "signspot_lab" not in every, f"{path} imports the lab"
        elif package == "signspot":
            others = every & {"signspot_world", "signspot_lab"}
            assert not others or (parts[0] == "cli" and parts[1] in VERBS_OF_OTHERS), f"{path} imports {others}"
            assert not eager & {"signspot_world", "signspot_lab"}, f"{path} loads another package at once"


def test_only_verbs_that_need_them_load_the_other_packages() -> None:
    for verb in VERBS_OF_OTHERS:
        loaded = {m.split(".")[0] for m, _ in imports_of(tree_of(PRODUCT / "cli" / f"{verb}.py"))}
        assert loaded & {"signspot_world", "signspot_lab"}, f"'{verb}' is allowed what it does not use"


@pytest.mark.parametrize(
    ("name", "floors", "sideways"),
    [
        ("signspot", FLOORS, SIDEWAYS),
        ("signspot_world", WORLD_FLOORS, set()),
        ("signspot_lab", LAB_FLOORS, LAB_SIDEWAYS),
    ],
)
def test_imports_go_down_only(name: str, floors: Sequence[Sequence[str]], sideways: set[tuple[str, str]]) -> None:
    used, rooms = set(), set()
    for path in FILES:
        package, room, *_ = module_of(path)
        if package != name or room == "__init__":
            continue
        rooms.add(room)
        for module, names in imports_of(tree_of(path)):
            parts = module.split(".")
            if parts[0] != name:
                continue
            for target in parts[1:2] or names:
                here, there = floor_of(room, floors), floor_of(target, floors)
                if target != room and there >= here and not here == there == 0:
                    assert (room, target) in sideways, f"{path.relative_to(REPOSITORY)} imports {module}"
                    used.add((room, target))
    assert used == sideways, f"allowed and unused: {sideways - used}"
    assert rooms <= {room for floor in floors for room in floor}, "rooms that are on no floor"


def test_modules_import_modules() -> None:
    for path in FILES:
        for module, names in imports_of(tree_of(path)):
            target = REPOSITORY.joinpath(*module.split("."))
            if module.split(".")[0] in PACKAGES and target.is_dir():
                for name in names:
                    assert (target / f"{name}.py").is_file(), f"{path} imports {name} from an __init__"


def test_every_file_says_its_place_and_is_no_drawer() -> None:
    for path in FILES:
        doc = ast.get_docstring(tree_of(path)) or ""
        assert doc.split("\n\n")[0].rstrip().endswith((".", ":")), f"{path} opens with no sentence"
        assert path.stem not in {"utils", "helpers", "common", "misc"}
        classes = [node.name for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
        assert not [name for name in classes if name.endswith("Manager")]


def test_sizes_and_shapes() -> None:
    lengths, sizes = [], []
    for path in FILES:
        lengths.append(path.read_text().count("\n"))
        assert lengths[-1] <= 400, f"{path} is too long"
        for function in functions_of(path):
            sizes.append(body_lines(function))
            assert sizes[-1] <= 60, f"{path}:{function.lineno} {function.name} is too long"
            if function.name == "forward":
                assert "(" in (ast.get_docstring(function) or ""), f"{path}:{function.lineno} forward() tells no shape"
    assert sorted(lengths)[len(lengths) // 2] <= 200
    assert sorted(sizes)[len(sizes) // 2] <= 12
    assert sorted(sizes)[int(len(sizes) * 0.9)] <= 30


def test_the_library_never_prints_and_never_unpickles() -> None:
    for path in FILES:
        if "cli" not in module_of(path):
            calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
            assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "print"], path
        if path not in READS_PICKLES:
            names = {module for module, _ in imports_of(tree_of(path))}
            assert not names & {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}, path


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, list[Path]] = {}
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path)
    shared = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert shared.keys() == SHARED_NAMES, {name: paths for name, paths in shared.items() if name not in SHARED_NAMES}
    assert not SHARED_NAMES & set(signspot.__all__)


def test_docstrings_name_the_noun_or_the_verb_first() -> None:
    hidden = ("What ", "How ", "Where ", "Which ", "When ", "Who ", "All that ", "Everything ")
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                opening = ast.get_docstring(node) or ""
                assert not opening.startswith(hidden), f"{path}: {opening.partition(chr(10))[0]}"


def test_public_names_are_complete_and_sorted() -> None:
    capitals_first = sorted(signspot.__all__, key=lambda name: (name[0].islower(), name))
    assert signspot.__all__ == capitals_first
    assert set(signspot.__all__) == set(signspot._HOME)
    for name in signspot.__all__:
        assert getattr(signspot, name) is not None
    imported = {
        alias.name
        for node in ast.walk(tree_of(PRODUCT / "__init__.py"))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("signspot")
        for alias in node.names
    }
    assert imported - {"VERSION"} == set(signspot.__all__)
    with pytest.raises(AttributeError):
        _ = signspot.no_such_name


def test_importing_is_quick() -> None:
    """Nothing that takes long to load is loaded before it is needed."""
    heavy = ("torch", "mediapipe", "cv2", "numpy", "rich", "sqlalchemy")
    code = f"import sys, signspot, signspot.cli.main; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_cli_reference_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / "cli_reference.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_tests_mirror_the_packages() -> None:
    tests = REPOSITORY / "tests"
    rooms = {path.name for path in PRODUCT.iterdir() if (path / "__init__.py").is_file()} | {"world", "lab"}
    folders = {path.name for path in tests.iterdir() if path.is_dir()} - {"__pycache__", "fixtures"}
    assert folders == rooms
    for room in rooms:
        assert list((tests / room).glob("test_*.py")), f"no test for {room}"
