"""The documentation site: `make docs` builds it with Sphinx."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "Noughts"
author = "The authors of Noughts"
project_copyright = author
version = release = version_of("noughts")

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "colon_fence"]
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

html_theme = "furo"
html_title = f"Noughts {release}"
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, object] = {"top_of_page_buttons": []}

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


def setup(app: Sphinx) -> None:
    """Register what this project adds to Sphinx."""
    app.connect("source-read", _without_source_links)
