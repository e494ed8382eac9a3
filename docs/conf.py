"""The documentation site: `make docs` builds it with Sphinx."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

HERE = Path(__file__).parent
# Sphinx's own program does not look for modules in the working directory.
sys.path.insert(0, str(HERE.parent))

from tools.generated_pages import has_parts, with_pictures  # noqa: E402
from tools.generated_pages.docstrings import to_rst  # noqa: E402

project = "Noughts"
author = "The authors of Noughts"
project_copyright = author
version = release = version_of("noughts")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "colon_fence"]
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
# Docstrings have code in single backticks.
default_role = "code"
# Fences without a language show output.
highlight_language = "text"
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_title = f"Noughts {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "scorer.js")
# Quotes and hyphens of commands stay as they are typed.
smartquotes = False
html_copy_source = False
html_show_sourcelink = False

# The colours of the website, from `site.css`: the page, cards, text, muted text, lines and links.
_COLOURS = {
    "light_css_variables": ("#f7f5f1", "#ffffff", "#1a1c20", "#5c6069", "#e4dfd6", "#1d4ed8"),
    "dark_css_variables": ("#131417", "#1b1d21", "#eceae5", "#a3a8b1", "#363840", "#8ab4ff"),
}


def _theme_colours(page: str, card: str, text: str, muted: str, line: str, link: str) -> dict[str, str]:
    """Return the variables of the theme."""
    return {
        "color-background-primary": page,
        "color-background-secondary": card,
        "color-background-border": line,
        "color-sidebar-background": page,
        "color-code-background": card,
        "color-foreground-primary": text,
        "color-foreground-secondary": muted,
        "color-foreground-muted": muted,
        "color-foreground-border": muted,
        "color-brand-primary": link,
        "color-brand-content": link,
        "color-brand-visited": link,
    }


html_theme_options: dict[str, object] = {
    "top_of_page_buttons": [],
    **{name: _theme_colours(*colours) for name, colours in _COLOURS.items()},
}

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)\s#]+)(#[^)]*)?\)")


def _without_source_links(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace links to files outside docs/, which the site does not hold, by their text and path."""

    def replaced(match: re.Match[str]) -> str:
        target = ((HERE / name).parent / match[2]).resolve()
        if target.is_relative_to(HERE):
            return match[0]
        path = target.relative_to(HERE.parent)
        text = match[1]
        return text if text.strip("`") == str(path) else f"{text} (`{path}`)"

    source[0] = _LINK.sub(replaced, source[0])


def _with_pictures(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = with_pictures(source[0])


def _pages_with_generated_parts(app: Sphinx, env: BuildEnvironment, *changes: set[str]) -> list[str]:
    """Return the pages to read again although their own files have not changed."""
    return [name for name in env.found_docs if has_parts(Path(env.doc2path(name)).read_text(encoding="utf-8"))]


def _short_signature(
    app: Sphinx, what: str, name: str, thing: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Leave out where types come from, and how a default is made."""
    return signature and signature.replace("~collections.abc.", "").replace("<factory>", "..."), returns


_LINKED = re.compile(r"\[([^]]*)\]\([^)]*\)")
# The title, then the first two sentences of the first paragraph.
_PURPOSE = re.compile(r"^# [^\n]*\n+([A-Z][^|]*?(?<!\.\.)\.(?: [A-Z`][^|]*?[.:])?)\s", re.MULTILINE)
_FOR_AGENTS = """\
# Noughts

> A tournament server for bots that play k-in-a-row games.

Agents use a server with the tools of `noughts mcp`, over the Model Context Protocol (MCP):
see [Tools for agents](/docs/how-to/agents.md). Without them they can read everything as JSON, from
/api/v1/status, /api/v1/tournaments and so on: see [The website](/docs/how-to/web.md).
"""


def _plain_pages(app: Sphinx, error: Exception | None) -> None:
    """Write each page as Markdown next to its HTML, a list of them to llms.txt, and all of them to llms-full.txt."""
    if error is not None or app.builder.format != "html":
        return
    listed, whole, section = [_FOR_AGENTS], [], ""
    for name in _in_order(app.env, "index"):
        source = [Path(app.env.doc2path(name)).read_text(encoding="utf-8")]
        _without_source_links(app, name, source)
        _with_pictures(app, name, source)
        (Path(app.outdir) / f"{name}.md").write_text(source[0], encoding="utf-8")
        whole.append(f"<!-- /docs/{name}.md -->\n\n{source[0]}")
        if name.rpartition("/")[0].partition("/")[0] != section:
            section = name.partition("/")[0]
            listed.append(f"\n## {section.capitalize()}\n")
        purpose = _PURPOSE.search(_LINKED.sub(r"\1", source[0]))
        summary = f": {' '.join(purpose[1].split()).rstrip(':')}" if purpose else ""
        listed.append(f"- [{app.env.titles[name].astext()}](/docs/{name}.md){summary}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
    (Path(app.outdir) / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


def _in_order(env: BuildEnvironment, name: str) -> Iterator[str]:
    """Yield a page and the pages beneath it, in the order of the documentation."""
    yield name
    for child in env.toctree_includes.get(name, ()):
        yield from _in_order(env, child)


def setup(app: Sphinx) -> None:
    """Register what this project adds to Sphinx."""
    app.connect("source-read", _without_source_links)
    app.connect("source-read", _with_pictures)
    app.connect("build-finished", _plain_pages)
    app.connect("env-get-outdated", _pages_with_generated_parts)
    app.connect("autodoc-process-docstring", to_rst)
    app.connect("autodoc-process-signature", _short_signature)
