"""Parts of the documentation that are written from the code when it is built, so that they cannot differ from it.

A page names such a part in a comment: `<!-- generated: NAME -->` or `<!-- generated: NAME ARGUMENT -->`.
`docs/conf.py` calls `expanded` with the source of each page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tools.generated_pages import commands, diagrams, errors, figures, protocol, settings, variants

PARTS: Mapping[str, Callable[[str], str]] = {
    "commands": commands.of_panel,
    "command-index": commands.index,
    "settings": settings.of_command,
    "limits": figures.limits,
    "metrics": figures.metrics,
    "errors": errors.of_calls,
    "operator-errors": errors.of_operators,
    "terminations": errors.terminations,
    "variants": variants.table_of_variants,
    "methods": protocol.methods,
    "messages": protocol.messages,
    "diagram": diagrams.figure,
}
"""What writes each part, from its argument, as Markdown."""

_MARK = re.compile(r"^<!-- generated: (?P<name>[\w-]+)(?: (?P<argument>.+?))? -->$", re.MULTILINE)


_ELSEWHERE = re.compile(
    " Read (it|them) in the built documentation: run `make docs`, or open `/docs` on a website[.]".replace(" ", r"\s+")
)
"""What a page says to readers of its source."""


def has_parts(source: str) -> bool:
    """Return whether a page has generated parts."""
    return _MARK.search(source) is not None


def expanded(source: str) -> str:
    """Return the source of a page with all its parts written. Raises KeyError for an unknown part."""
    return _MARK.sub(lambda found: PARTS[found["name"]](found["argument"] or ""), _ELSEWHERE.sub("", source))
