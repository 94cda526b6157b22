"""Hooks that make a site of our pages: the sections in reading order, and the pages beside the code among them."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}  # pages of the repository: of the site
SECTIONS = ("Start", "How to", "Explanation", "Reference")
_LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that stand beside the code."""
    for name, page_name in BESIDE.items():
        files.append(File.generated(config, page_name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links between the repository and its docs folder lead to the pages of the site."""
    names = {page_name: name for name, page_name in BESIDE.items()}
    source = ROOT / names.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    up = "../" * page.file.src_uri.count("/")

    def lead(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        inside = target.relative_to(ROOT).as_posix() if link[1] and target.is_relative_to(ROOT) else ""
        if inside in BESIDE:
            return f"]({up}{BESIDE[inside]}"
        if source.parent == ROOT and inside.startswith("docs/"):
            return f"]({inside.removeprefix('docs/')}"
        return link[0]

    return _LINK.sub(lead, markdown)


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Put the sections into reading order, between the index and the pages beside the code."""
    titles = {item.title: item for item in nav.items if item.title in SECTIONS}
    pages = [item for item in nav.items if item.title not in titles]
    nav.items = [*pages[:1], *(titles[section] for section in SECTIONS if section in titles), *pages[1:]]
    return nav
