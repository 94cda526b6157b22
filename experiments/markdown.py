"""Lines of Markdown tables, as all experiments print them."""

from collections.abc import Iterable, Sequence


def row(*cells: object) -> str:
    """A row."""
    return f"| {' | '.join(map(str, cells))} |"


def head(*names: str) -> str:
    """The two lines above the rows."""
    return f"{row(*names)}\n{'|---' * len(names)}|"


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, each row as soon as it is known."""
    print(head(*heads), flush=True)
    for cells in rows:
        print(row(*cells), flush=True)
