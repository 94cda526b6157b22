"""The documentation holds: links lead somewhere, commands and names exist, code compiles, nothing is left out."""

import ast
import importlib.util
import inspect
import re
import shlex
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

import signspot
import signspot.errors
from signspot.cli.app import app
from signspot.formats.formats import FORMATS
from signspot.spotting.spot_options import SpotOptions
from tests.fixtures.source import parsed

ROOT = Path(signspot.__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_FOREIGN = {"--standalone", "--nproc-per-node", "--nnodes", "--rdzv-backend", "--rdzv-endpoint"}  # of torchrun
_FOLDERS = ("signspot", "experiments", "signspot_synthetic", "tests", "tools", "configs", "benchmarks", "docs")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[str]:
    return [code for language, code in _FENCE.findall(page.read_text(encoding="utf-8")) if language in languages]


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code forges make them."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


def code_lines(page: Path) -> list[str]:
    """Lines to type, without their remarks, and code within sentences."""
    typed = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    return [line.partition("  #")[0].strip() for line in [*typed, *_INLINE.findall(prose(page))]]


def commands(page: Path) -> list[list[str]]:
    """Commands of signspot on the page, word by word; within a sentence `annotate --source` is one, too."""
    lines = [re.sub(r"^(?:\$ |\.venv/bin/)", "", line) for line in code_lines(page)]
    lines = [re.sub(r"^(?:torchrun .*(?:-m )?|timeout \d+ )(?=signspot )", "", line) for line in lines]
    verbs = "|".join(whole_app().commands)
    return [
        ["signspot", *shlex.split(line.removeprefix("signspot "))]
        for line in lines
        if line.startswith("signspot ") or re.match(rf"(?:{verbs}) [^`]*--", line)
    ]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
class TestEveryPage:
    def test_links_lead_somewhere(self, page: Path) -> None:
        for target in _LINK.findall(prose(page)):
            if re.match(r"[a-z]+://|mailto:", target):
                continue
            path, _, anchor = target.partition("#")
            linked = (page.parent / path).resolve() if path else page
            assert linked.is_relative_to(ROOT), f"{target} leads out of the project"
            assert linked.exists(), f"{target} is not there"
            if anchor:
                assert anchor in anchors(linked), f"{target}: no such heading; there are {sorted(anchors(linked))}"

    def test_commands_exist(self, page: Path) -> None:
        for words in commands(page):
            check_command(words)

    def test_options_named_alone_exist(self, page: Path) -> None:
        if page.name != "CHANGELOG.md":
            alone = [line for line in _INLINE.findall(prose(page)) if line.startswith("--")]
            named = {option for line in alone for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", line)}
            unknown = {option for option in named - all_options() - _FOREIGN if f'"{option}"' not in programs()}
            assert not unknown, f"no verb and no program has {sorted(unknown)}"

    def test_modules_targets_and_files_exist(self, page: Path) -> None:
        targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
        for line in code_lines(page):
            for target in re.findall(r"^make ([a-z][\w-]*)", line):
                assert target in targets, f"no target for: {line}"
            for module, options in re.findall(r"python -m ((?:signspot|experiments|tools|benchmarks)[\w.]*)(.*)", line):
                check_module(module, options, line)
            if page.name != "CHANGELOG.md":
                for path in re.findall(r"(?<![\w/.<*-])(\w+/[\w/-]+\.(?:py|toml|md))\b", line):
                    check_path(path, line)

    def test_python_compiles(self, page: Path) -> None:
        for code in blocks(page, "python"):
            compile(code, name_of(page), "exec")

    def test_python_names_exist(self, page: Path) -> None:
        for code in blocks(page, "python"):
            check_names(parsed(code))
        for name in re.findall(r"`(signspot(?:_synthetic)?(?:\.\w+)+)`", prose(page)):
            assert is_importable(name), f"there is no {name}"

    def test_no_path_of_one_machine(self, page: Path) -> None:
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/", page.read_text(encoding="utf-8"))


@cache
def whole_app() -> Any:
    return typer.main.get_command(app)


@cache
def all_options() -> set[str]:
    """The options of all verbs and of the verbs below them."""
    commands, options = [whole_app()], set[str]()
    while commands:
        command = commands.pop()
        options |= options_of(command)
        commands += getattr(command, "commands", {}).values()
    return options


@cache
def programs() -> str:
    """The text of all programs beside the command line."""
    folders = (ROOT / name for name in ("experiments", "tools", "benchmarks"))
    return "".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))


def check_command(words: list[str]) -> None:
    """Follow the words down to a verb; its options must be there."""
    command = whole_app()
    options = options_of(command)
    words_left = words[1:]
    while words_left and hasattr(command, "commands") and not words_left[0].startswith("-"):
        assert words_left[0] in command.commands, f"no verb '{words_left[0]}' in: {' '.join(words)}"
        command = command.commands[words_left.pop(0)]
        options |= options_of(command)
    for word in words_left:
        if word.startswith("--"):
            assert word.partition("=")[0] in options, f"no option {word} in: {' '.join(words)}"


def check_module(module: str, arguments: str, line: str) -> None:
    """A program of the experiments, tools or benchmarks is there, and its package knows the options."""
    spec = importlib.util.find_spec(module)
    assert spec is not None, f"no module for: {line}"
    assert spec.origin, line
    home = Path(spec.origin)
    sources = "".join(path.read_text(encoding="utf-8") for path in home.parent.glob("*.py"))
    for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", arguments):
        field = option.removeprefix("--").removeprefix("no-").replace("-", "_")
        assert f'"{option}"' in sources or re.search(rf"\b{field}: ", sources), f"no option {option} for: {line}"


def check_path(path: str, line: str) -> None:
    """A file of the project that a page names is there, from the root, from the package or from the pages."""
    top = path.partition("/")[0]
    if top in _FOLDERS or (ROOT / "signspot" / top).is_dir():
        assert any((ROOT / base / path).is_file() for base in ("", "signspot", "docs")), f"no {path}: {line}"


def options_of(command: Any) -> set[str]:
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}


def is_importable(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(import_module(module), attribute) or bool(import_module(name))
    except ImportError:
        return False


def check_names(tree: ast.Module) -> None:
    """`signspot.x` is public; what is imported can be imported; a call's keywords are parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "signspot":
            assert node.attr in signspot.__all__, f"signspot.{node.attr} is not public"
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("signspot"):
            module = import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name), f"no {alias.name} in {node.module}"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) == "signspot"
        ):
            parameters = inspect.signature(getattr(signspot, node.func.attr)).parameters
            for keyword in node.keywords:
                assert keyword.arg in parameters, f"signspot.{node.func.attr} has no parameter {keyword.arg}"


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*/*.md"):
        assert page.relative_to(DOCS).as_posix() in index, f"{name_of(page)} is not in docs/README.md"


def test_python_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    for name in signspot.__all__:
        assert re.search(rf"\b{name}\b", text), f"{name} is not in reference/python.md"


def test_python_reference_tells_the_options() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    for option in fields(SpotOptions):
        assert f"| `{option.name}` | {option.default} |" in text


def test_python_reference_tells_signatures() -> None:
    """`name(a, b=1) -> X` in a block has the parameters of the real one, in their order."""
    lines = [line for block in blocks(DOCS / "reference" / "python.md", "text") for line in block.splitlines()]
    calls = [match for line in lines if (match := re.match(r"([\w.]+)\((.*)\) ->", line))]
    assert len(calls) > 10
    for name, arguments in (call.groups() for call in calls):
        real: Any = signspot
        for part in name.split("."):
            real = getattr(real, part)
        parameters = [p.name for p in inspect.signature(real).parameters.values() if p.name != "self"]
        documented = [a.partition("=")[0].strip() for a in re.sub(r"\([^)]*\)", "", arguments).split(",")]
        assert [a for a in documented if a not in ("", "*")] == parameters, f"{name}({arguments})"


def test_format_reference_has_every_format() -> None:
    text = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    for kind in FORMATS:
        assert f"`{kind.suffix}`" in text, f"{kind.suffix} is not in reference/formats.md"


def test_error_reference_is_the_tree() -> None:
    page = DOCS / "reference" / "errors.md"
    tree = (signspot.errors.__doc__ or "").partition("\n\n")[2].strip()
    assert blocks(page, "text")[0].strip() == tree


def test_the_architecture_page_has_every_package() -> None:
    text = (DOCS / "reference" / "architecture.md").read_text(encoding="utf-8")
    for package in (path for path in (ROOT / "signspot").iterdir() if (path / "__init__.py").is_file()):
        assert f"`{package.name}/`" in text, f"package {package.name} is not in reference/architecture.md"
