"""Write docs/reference/cli.md from the command line itself; with --check, fail when it is stale."""

import os
import sys
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "100"  # the help wraps at the terminal's width

import typer.main

from signspot.cli.main import app

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"


def document(command: Any, name: str, parent: Any = None) -> list[str]:
    """Sections of a command and, below it, of its verbs."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    lines = [f"## `{context.command_path}`", "", "```text", command.get_help(context).rstrip(), "```", ""]
    for verb in command.list_commands(context) if hasattr(command, "list_commands") else ():
        lines += document(command.get_command(context, verb), verb, context)
    return lines


def reference() -> str:
    """The whole page."""
    head = ["# Command line", "", "Written by `make docs` from the commands' own help; do not edit.", ""]
    return "\n".join(head + document(typer.main.get_command(app), "signspot"))


if __name__ == "__main__":
    page = reference()
    if "--check" in sys.argv:
        fresh = TARGET.is_file() and TARGET.read_text() == page
        sys.exit(0 if fresh else f"{TARGET.name} is stale. Write it again with: make docs")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(page)
