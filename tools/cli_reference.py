"""Write docs/reference/cli.md and configuration.md from the code; with --check, fail when one is stale."""

import ast
import inspect
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

os.environ["COLUMNS"] = "100"  # the help wraps at the terminal's width

import typer.main

from signspot.cli.app import app
from signspot.cli.train import training_kinds
from signspot.training.configuration import COMPUTE, Compute

SHORT = 40  # letters of a comment that is written again where it is repeated
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
        if context.parent is not None and hasattr(command, "list_commands"):
            continue  # its commands follow
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
    shows_default = (
        option.default is not None and getattr(option, "show_default", False) and not getattr(option, "is_flag", 0)
    )
    default = f" [default: {option.default}]" if shows_default else ""
    return option.opts[0], (getattr(option, "help", None) or "") + default


def configuration_reference() -> str:
    """The page of all keys of the configurations of `signspot train`."""
    lines = [
        "# Configurations of `signspot train`",
        "",
        "Written by `make docs` from the code; do not edit. A configuration is a TOML file. Its key `kind`",
        "says what is trained; the other keys depend on it. Here are all keys with their defaults; those",
        "without a value are required. `signspot train CONFIG --dry-run` prints all values of a training,",
        "`--set KEY=VALUE` replaces one.",
        "",
    ]
    written: dict[type[Any] | str, str] = {}
    pages = {"Every kind but `warping`": [*section(Compute, f"[{COMPUTE}]", "every kind", written)]}
    for kind, record in training_kinds().items():
        pages[f'`kind = "{kind}"`'] = [*section(record, "", f'"{kind}"', written)]
    for title, block in pages.items():
        lines += [f"## {title}", "", "```toml", *block[:-1], "```", ""]
    return "\n".join(lines)


def section(record: type[Any], heading: str, kind_name: str, written: dict[type[Any] | str, str]) -> Iterator[str]:
    """The keys of a record as TOML, and those of its parts; each record, and each long comment, is written once.

    Args:
        record: a dataclass.
        heading: the TOML table; empty at the top of the file.
        kind_name: of the training.
        written: where each record and each line with a long comment was written first.
    """
    if record in written:
        yield from (f"{heading}  # as {written[record]}", "")
        return
    here = written[record] = f"{heading} of {kind_name}" if heading else f"{kind_name}"
    hints, comments, parts = get_type_hints(record), trailing_comments(record), list[tuple[type[Any], str]]()
    rows, repeated = list[tuple[str, str]](), defaultdict[str, list[str]](list)  # where they were first → keys
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
            key = f"{name} = {default(field)}".rstrip()
            comment = "; ".join(part for part in (other_choices(kind, field), comments.get(name, "")) if part)
            home = written.setdefault(f"{key}  # {comment}", here)
            if home == here or len(comment) < SHORT:
                rows.append((key, comment))
            else:
                repeated[home].append(name)
    yield from [heading] if heading else []
    width = max((len(key) for key, comment in rows if comment), default=0)
    yield from (f"{key:{width}}  # {comment}" if comment else key for key, comment in rows)
    yield from (f"# {', '.join(names)}: as in {home}" for home, names in repeated.items())
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
        last_lines = {node.target.id: node.end_lineno for node in body.body
                  if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}  # fmt: skip
        comments |= {name: lines[(end or 1) - 1].partition("  # ")[2] for name, end in last_lines.items()}
    return comments


def other_choices(kind: Any, field: "Field[Any]") -> str:
    """The values that a key may have beside its default, where they are few."""
    if get_origin(kind) is not Literal:
        return ""
    return "or " + ", ".join(str(choice) for choice in get_args(kind) if choice != field.default)


def default(field: "Field[Any]") -> str:
    """The default of a field, as TOML writes it; empty where there is none."""
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if value is MISSING:
        return ""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


PAGES = {"cli.md": command_reference, "configuration.md": configuration_reference}

if __name__ == "__main__":
    for name, write in PAGES.items():
        target, page = FOLDER / name, write()
        if "--check" not in sys.argv:
            target.write_text(page)
        elif not target.is_file() or target.read_text() != page:
            sys.exit(f"{name} is stale. Write it again with: make docs")
