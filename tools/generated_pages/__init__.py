"""Parts of the documentation that are written from the code.

A page names such a part in a comment: `<!-- generated: NAME -->` or `<!-- generated: NAME ARGUMENT -->`. `make stubs`
writes the text of the part below it (`tools/regenerate.py`), and `make check` compares. Pictures are drawn when the
documentation is built (`docs/conf.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tools.generated_pages import commands, diagrams, errors, figures, levels, programs, protocol, settings, variants

PARTS: Mapping[str, Callable[[str], str]] = {
    "commands": commands.of_panel,
    "command-index": commands.index,
    "settings": settings.of_command,
    "limits": figures.limits,
    "metrics": figures.metrics,
    "errors": errors.of_calls,
    "operator-errors": errors.of_operators,
    "terminations": errors.terminations,
    "levels": levels.tables_of_levels,
    "variants": variants.table_of_variants,
    "methods": protocol.methods,
    "messages": protocol.messages,
    "program": programs.text_of,
    "diagram": diagrams.figure,
}
"""The functions that write each part, from its argument, as Markdown."""

_PICTURES = frozenset({"diagram"})
"""Parts that are written when the documentation is built, because a page of Markdown cannot show them."""
_END = "<!-- end of generated text -->"
_MARK = re.compile(
    rf"^<!-- generated: (?P<name>[\w-]+)(?: (?P<argument>[^\n]+?))? -->$(?:\n(?:(?!^<!-- generated: ).)*?^{_END}$)?",
    re.MULTILINE | re.DOTALL,
)

_ELSEWHERE = re.compile(
    " Read (it|them) in the built documentation: run `make docs`, or open `/docs` on a website[.]".replace(" ", r"\s+")
)
"""The note of a page to readers of its source."""


def has_parts(source: str) -> bool:
    """Return whether a page has generated parts."""
    return _MARK.search(source) is not None


def with_texts(source: str) -> str:
    """Return the source of a page as it is committed: with its texts written. Raises KeyError for an unknown part."""

    def written(found: re.Match[str]) -> str:
        if found["name"] in _PICTURES:
            return found[0]
        mark = found[0].partition("\n")[0]
        return f"{mark}\n\n{PARTS[found['name']](found['argument'] or '').strip()}\n\n{_END}"

    return _MARK.sub(written, source)


def with_pictures(source: str) -> str:
    """Return the source of a page as Sphinx reads it: with its pictures drawn."""

    def drawn(found: re.Match[str]) -> str:
        return PARTS[found["name"]](found["argument"] or "") if found["name"] in _PICTURES else found[0]

    return _MARK.sub(drawn, _ELSEWHERE.sub("", source))
