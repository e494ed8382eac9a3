"""Check that moves can be an opening: all are legal, and the game continues after them."""

from collections.abc import Sequence

from noughts_referee.rules import InvalidInput, Variant, cell_name, placed_wrongly


class OpeningError(InvalidInput):
    """An invalid opening."""


def check_opening(variant: Variant, cells: Sequence[int]) -> None:
    """Raise OpeningError unless every move is legal and the game continues after the last one."""
    if not cells:
        raise OpeningError("no moves", "at least one")
    own = opponent = 0
    for ply, cell in enumerate(cells):
        side = ply & 1
        number = f"move {ply + 1}"
        occupied = own | opponent
        if not variant.takes(cell, occupied) or (
            variant.forbids is not None and variant.forbids(own, opponent, cell, side) is not None
        ):
            reason = placed_wrongly(variant, own, opponent, cell, side)
            raise OpeningError(f"a {number} that {reason}", f"moves that {variant.name} allows")
        own |= 1 << cell
        outcome = variant.outcome(own, opponent, cell, side)
        if outcome is not None:
            last_move = f"{number} on {cell_name(variant, cell)}, which ends the game ({outcome.termination})"
            raise OpeningError(last_move, "moves after which the game is still open")
        own, opponent = opponent, own


def is_legal(variant: Variant, cells: Sequence[int]) -> bool:
    """Return whether `check_opening` accepts the moves."""
    try:
        check_opening(variant, cells)
    except OpeningError:
        return False
    return True
