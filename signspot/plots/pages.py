"""Self-contained web pages of text, tables, pictures and clips: text is never markup, and nothing is loaded."""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from signspot.io.control_characters import escape_control_characters
from signspot.io.files import atomic_write

_STYLE = """
:root { --paper: #fff; --ink: #1b1b1b; --faint: #666; --line: #ddd; --soft: #f4f4f4; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #ececec; --faint: #a0a0a0; --line: #3a3d42; --soft: #202327; }
}
body { margin: 0 auto; max-width: 1100px; padding: 0 20px 40px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; overflow-wrap: anywhere; } h2 { font-size: 17px; margin: 28px 0 8px; }
p.faint, figcaption { color: var(--faint); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0;
  display: block; max-width: 100%; overflow-x: auto; }
th, td { padding: 4px 12px 4px 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
img { max-width: 100%; background: #fff; border-radius: 6px; }
.clips { display: flex; flex-wrap: wrap; gap: 12px; } figure { margin: 0; }
video { width: 240px; max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
:focus-visible { outline: 3px solid #e69f00; outline-offset: 2px; }
"""


def write_page(path: str | Path, title: str, blocks: Iterable[str]) -> Path:
    """Write blocks of markup, made by the functions here, as one page.

    Raises:
        OutputError: it cannot be written.
    """
    target = Path(path)
    policy = page_policy(_STYLE)
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body><main><h1>{text(title)}</h1>\n"
        + "\n".join(blocks)
        + "\n</main></body></html>\n"
    )
    with atomic_write(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    return target


def page_policy(style: str, script: str | None = None) -> str:
    """Allow a page's own style and script by their hashes, pictures and video inside it, and nothing else."""

    def digest(content: str) -> str:
        return f"'sha256-{b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}'"

    own = f"style-src {digest(style)}" + ("" if script is None else f"; script-src {digest(script)}")
    return f"default-src 'none'; img-src data:; media-src data:; {own}; base-uri 'none'; form-action 'none'"


def text(line: str) -> str:
    """A text that may be a stranger's, on one line, as text."""
    return escape(escape_control_characters(line))


def heading(line: str) -> str:
    """A heading."""
    return f"<h2>{text(line)}</h2>"


def paragraph(line: str, *, faint: bool = False) -> str:
    """A paragraph."""
    return f'<p class="faint">{text(line)}</p>' if faint else f"<p>{text(line)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{text(each)}</th>" for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def drawing(figure: Figure, description: str) -> str:
    """A figure, with words for those who do not see it."""
    content = BytesIO()
    figure.savefig(content, format="png", dpi=100)
    address = f"data:image/png;base64,{b64encode(content.getvalue()).decode('ascii')}"
    return f'<img alt="{text(description)}" src="{address}">'


def clips(shown: Iterable[tuple[str, str]]) -> str:
    """Clips side by side: each a `data:` address and a caption."""
    figures = (
        f'<figure><video controls loop muted playsinline preload="auto" src="{address}"></video>'
        f"<figcaption>{text(caption)}</figcaption></figure>"
        for address, caption in shown
    )
    return f'<div class="clips">{"".join(figures)}</div>'


def file_address(path: Path, kind: str) -> str:
    """A file as a `data:` address."""
    return f"data:{kind};base64,{b64encode(path.read_bytes()).decode('ascii')}"
