"""Write docs/reference/cli.md and configuration.md from the code; with --check, fail when one is stale."""

import ast
import inspect
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

os.environ["COLUMNS"] = "100"  # the help wraps at the terminal's width

import typer.main

from signspot.cli.app import app
from signspot.cli.train import training_kinds
from signspot.training.configuration import COMPUTE, Compute

FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def command_reference() -> str:
    """The page of all commands; an option that several commands have alike is described once."""
    root = typer.main.get_command(app)
    leaves = list(walk(root, "signspot"))
    commands = Counter(described(option) for context in leaves for option in context.command.params)
    several = {option for option, count in commands.items() if count > 2 and option[0].startswith("--")}
    lines = [
        "# Command line",
        "",
        "Written by `make docs` from the commands' own help; do not edit. Every command has `--help`, and",
        "takes the options of `signspot` before or after its name. Several commands share these options:",
        "",
        *(f"* `{name}`: {text}" for name, text in sorted(several)),
        "",
    ]
    for context in leaves:
        command = context.command
        command.epilog, command.add_help_option = None, context.parent is None  # described above
        shared = [option for option in command.params if described(option) in several]
        command.params = [option for option in command.params if option not in shared]
        also = f"\n  And: {', '.join(described(option)[0] for option in shared)}" if shared else ""
        lines += [f"## `{context.command_path}`", "", "```text", command.get_help(context).rstrip() + also, "```", ""]
    return "\n".join(lines)


def walk(command: Any, name: str, parent: Any = None) -> Iterator[Any]:
    """A context for a command and, below it, for its verbs."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield context
    for verb in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from walk(command.get_command(context, verb), verb, context)


def described(option: Any) -> tuple[str, str]:
    """The name and the help text of an option, with the default that its help shows."""
    shown = option.default is not None and getattr(option, "show_default", False) and not getattr(option, "is_flag", 0)
    default = f" [default: {option.default}]" if shown else ""
    return option.opts[0], (getattr(option, "help", None) or "") + default


def configuration_reference() -> str:
    """The page of all keys of the configurations of `signspot train`."""
    lines = [
        "# Configurations of `signspot train`",
        "",
        "Written by `make docs` from the code; do not edit. A configuration is a TOML file. Its key `kind`",
        "says what is trained; the other keys depend on it. `signspot train CONFIG --dry-run` prints all",
        "values, `--set KEY=VALUE` replaces one. A value has the type of its default.",
        "",
        "## Every kind but `warping`",
        "",
    ]
    written: dict[type[Any], str] = {}
    lines += section(Compute, f"[{COMPUTE}]", "every kind", written)
    for kind, record in training_kinds().items():
        lines += [f'## `kind = "{kind}"`', "", *section(record, "", f'"{kind}"', written)]
    return "\n".join(lines)


def section(record: type[Any], heading: str, kind_name: str, written: dict[type[Any], str]) -> Iterator[str]:
    """The keys of a record as a table, and those of its parts; each record is written once."""
    if heading:
        yield from (f"### `{heading}`", "")
    if record in written:
        yield from (f"As {written[record]}.", "")
        return
    written[record] = f"`{heading}` of `{kind_name}`"
    hints, comments, parts = get_type_hints(record), trailing_comments(record), list[tuple[type[Any], str]]()
    yield from ("| key | default | meaning |", "|---|---|---|")
    for field in fields(record):
        kind, name = hints[field.name], field.name
        path = f"{heading.strip('[]')}.{name}".lstrip(".")
        if kind is Compute:
            continue
        if is_dataclass(kind):
            parts.append((kind, f"[{path}]"))  # type: ignore[arg-type]
        elif get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]):
            parts.append((get_args(kind)[0], f"[[{path}]]"))
        else:
            meaning = "; ".join(part for part in (choices(kind), comments.get(name, "").replace("|", "/")) if part)
            yield f"| `{name}` | {default(field)} | {meaning} |"
    yield ""
    for part, name in parts:
        yield from section(part, name, kind_name, written)


def trailing_comments(record: type[Any]) -> dict[str, str]:
    """Field → the comment behind it in the source, also of the records that this one extends."""
    comments: dict[str, str] = {}
    for extended in reversed([base for base in record.__mro__ if is_dataclass(base)]):
        source = inspect.getsource(extended)
        lines, (body,) = source.splitlines(), ast.parse(source).body
        assert isinstance(body, ast.ClassDef)
        places = {node.target.id: node.end_lineno for node in body.body
                  if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}  # fmt: skip
        comments |= {name: lines[(end or 1) - 1].partition("  # ")[2] for name, end in places.items()}
    return comments


def choices(kind: Any) -> str:
    """The values that a key may have, where they are few."""
    return " or ".join(f'`"{choice}"`' for choice in get_args(kind)) if get_origin(kind) is Literal else ""


def default(field: "Field[Any]") -> str:
    """The default of a field, as TOML writes it."""
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if value is MISSING:
        return "required"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{list(value)}`" if isinstance(value, tuple) else f"`{value}`"


PAGES = {"cli.md": command_reference, "configuration.md": configuration_reference}

if __name__ == "__main__":
    for name, write in PAGES.items():
        target, page = FOLDER / name, write()
        if "--check" not in sys.argv:
            target.write_text(page)
        elif not target.is_file() or target.read_text() != page:
            sys.exit(f"{name} is stale. Write it again with: make docs")
