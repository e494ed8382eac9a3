"""Docstrings as reStructuredText, which Sphinx expects of them."""

from __future__ import annotations


def to_rst(app: object, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Mark indented paragraphs of a docstring as code, and drop the texts that Python writes for fields of tuples."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    found: list[str] = []
    for number, line in enumerate(lines):
        begins = line.startswith("    ") and (number == 0 or not lines[number - 1].strip())
        if begins and not _is_code(found):
            found += [".. code-block:: python", ""]
        found.append(line)
    lines[:] = found


def _is_code(lines: list[str]) -> bool:
    """Return whether the last paragraph is code."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last.startswith("    ")
