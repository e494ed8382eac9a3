"""The command `noughts variants`."""

from typing import Any

from noughts_referee.rules import (
    OPENING_RULES,
    OWN_NAMES,
    Variant,
    VariantError,
    parse_variant,
    plugin_names,
    plugin_package,
)
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.options.output import OutputOptions

_FAMILY = {"name": "mnk:M,N,K", "board": "up to 30x30", "in_a_row": "K or more"}


@command(
    example="""
$ noughts variants
name             board         in a row        cells  lines
...
connect4         7x6, gravity  4 or more          42     69
...
"""
)
def variants(*, output: OutputOptions) -> None:
    """List all variants: built-in ones and those from installed plugins."""
    documents = [_document(parse_variant(name), None) for name in OWN_NAMES]
    documents.append({key: _FAMILY.get(key) for key in documents[0]})
    faulty = []
    for name in plugin_names():
        package = plugin_package(name)
        if name in OWN_NAMES or name.partition(":")[0] == "mnk":
            faulty.append({"name": name, "reason": f"{package} uses the name of a built-in variant"})
            continue
        try:
            documents.append(_document(parse_variant(name), package))
        except VariantError as error:
            faulty.append({"name": name, "reason": error.expected})
    if output.is_json:
        printing.print_json({"variants": documents, "faulty": faulty})
        return
    rows = [
        (row["name"], row["board"], row["in_a_row"], _count(row["cells"]), _count(row["lines"]), row["plugin"] or "")
        for row in documents
    ]
    columns = ("name", "board", "in a row", ">cells", ">lines", "plugin")
    visible_columns = len(columns) if any(row["plugin"] for row in documents) else len(columns) - 1
    printing.stdout().print(printing.table(columns[:visible_columns], [row[:visible_columns] for row in rows]))
    rules = ", ".join(f"gomoku+{rule}" for rule in OPENING_RULES)
    printing.stdout().print(f"\nGames of five in a row can have an opening rule: {rules}.", soft_wrap=True)
    for fault in faulty:
        printing.warn(f"variant {fault['name']!r} is left out: {fault['reason']}")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _document(variant: Variant, package: str | None) -> dict[str, Any]:
    size = f"{variant.columns}x{variant.rows}" + (f"x{variant.layers}" if variant.layers > 1 else "")
    lengths = sorted(set(map(len, variant.line_cells)))
    length = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return {
        "name": variant.name,
        "board": f"{size}, gravity" if variant.gravity else size,
        "in_a_row": _in_a_row(variant, length, package),
        "columns": variant.columns,
        "rows": variant.rows,
        "layers": variant.layers,
        "cells": variant.cells,
        "lines": len(variant.lines),
        "gravity": variant.gravity,
        "forbids": variant.forbids is not None,
        "plugin": package,
    }


def _in_a_row(variant: Variant, length: str, package: str | None) -> str:
    """Return the condition for a win in a few words. Lines of a plugin need not be straight, so they count as cells."""
    if package is not None:
        return f"{length} cells"
    # The column must be narrow; docs/reference/rules.md has the complete conditions.
    # In variants with `beside`, a longer line does not win.
    if variant.forbids is not None:
        return f"{length}+, X limited"
    if variant.blocked_ends:
        return f"{length} not shut" if variant.beside else f"{length} not shut, {int(length) + 1}+"
    if variant.beside:
        return f"exactly {length}"
    longest = max(variant.columns, variant.rows, variant.layers)
    return f"{length} or more" if int(length) < longest else length
