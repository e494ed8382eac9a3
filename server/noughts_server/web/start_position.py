"""Start positions of games in the browser: the moves before them, as in the address of the page Play."""

from noughts_referee.rules import VariantError, parse_variant
from noughts_server.openings.legality import OpeningError, check_opening
from noughts_server.web.forms import whole_number, wrong
from noughts_server.web.upstream import Failure

_FIELD = "moves"


def start_moves(variant: str, text: str) -> tuple[int, ...]:
    """Return the moves of `4,0,8` (cells), after which a game of the variant continues. Raises Failure."""
    if not text:
        return ()
    try:
        rules = parse_variant(variant)
    except VariantError as error:
        raise wrong("variant", variant, error.expected) from error
    if text.count(",") >= rules.cells:
        raise wrong(_FIELD, text, f"at most {rules.cells} moves")
    cells = tuple(whole_number(_FIELD, cell, 0, rules.cells - 1) for cell in text.split(","))
    try:
        check_opening(rules, cells)
    except OpeningError as error:
        raise Failure(
            400, f"{_FIELD}: {error}", "Open the game's page, and follow the link again.", field=_FIELD
        ) from error
    return cells
