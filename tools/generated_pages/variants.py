"""The variants, from the rules."""

from __future__ import annotations

from noughts_referee.rules import OWN_NAMES, Variant, parse_variant
from tools.generated_pages.markdown import code, table

_FAMILY = ("`mnk:M,N,K`", "M columns, N rows, up to 30x30", "K or more in a row", "M·N", "")


def table_rows() -> list[tuple[str, ...]]:
    """Return a row for each variant of our own, and one for the family of m,n,k games."""
    return [_row(parse_variant(name)) for name in OWN_NAMES] + [_FAMILY]


def table_of_variants(argument: str) -> str:
    """Return all variants of our own."""
    return table(("name", "board", "what wins", "cells", "lines"), table_rows())


def _row(variant: Variant) -> tuple[str, ...]:
    size = f"{variant.columns}x{variant.rows}" + (f"x{variant.layers}" if variant.layers > 1 else "")
    board = f"{size}; stones fall" if variant.gravity else size
    return code(variant.name), board, _wins(variant), f"{variant.cells:,}", f"{len(variant.lines):,}"


def _wins(variant: Variant) -> str:
    [length] = {len(cells) for cells in variant.line_cells}
    wins = f"{length} or more in a row"
    if variant.layers > 1:
        wins = f"{length} in a row, in a layer or through layers"
    elif length == max(variant.columns, variant.rows):
        wins = f"{length} in a row"
    if variant.beside:
        wins = f"exactly {length} in a row"
    if variant.blocked_ends:
        wins += f", but not exactly {length}" if not variant.beside else ", but not"
        wins += " between two stones of the other side"
    if variant.forbids is not None:
        wins += "; some moves of the first mover are forbidden"
    return wins
