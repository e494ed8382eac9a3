"""The games that a page shows on a board, as JSON that is safe in HTML."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from noughts_referee.rules import Termination, Variant, VariantError, in_words, parse_variant
from noughts_server.core.board_geometry import geometry
from noughts_server.core.plain_text import printable
from noughts_server.drawing.board_svg import board_svg, winning_lines
from noughts_server.report.collect import ShownGame

_LINE = str(Termination.LINE)


def games_json(shown_games: Iterable[ShownGame]) -> tuple[Markup, int]:
    """Return the JSON and its number of games; games of unknown variants are omitted.

    {"labels", "variants": [`board_geometry.geometry`], "boards": [SVG without stones], "games": [[number, variant,
    board, first, second, result, termination, plies of the opening, moves, times in ms or [], winning cells, winning
    lines, fault, why it was adjudicated]]}; variant, board, first and second are indexes into `variants`, `boards` and
    `labels`.
    """
    labels: dict[str, int] = {}
    variants: dict[str, int] = {}
    boards: dict[str, int] = {}
    games: list[list[Any]] = []
    for number, game in shown_games:
        variant = _variant(game.variant)
        moves = list(game.moves)
        if (
            variant is None
            or not moves
            or len(set(moves)) < len(moves)
            or not all(0 <= cell < variant.cells for cell in moves)
        ):
            continue
        board = _geometry(game.variant)
        picture = board_svg({"board": board, "moves": moves}, 0, live=True)
        winning_cells = list(variant.won_with(moves)) if game.termination == _LINE else []
        games.append(
            [
                number,
                variants.setdefault(game.variant, len(variants)),
                boards.setdefault(picture, len(boards)),
                labels.setdefault(game.first, len(labels)),
                labels.setdefault(game.second, len(labels)),
                game.result,
                in_words(game.termination),
                game.first_chosen,
                moves,
                [round(time, 2) if time < 10 else round(time) for time in game.times_ms],
                winning_cells,
                winning_lines(board, winning_cells, moves[-1]),
                game.fault,
                printable(game.adjudication),
            ]
        )
    document = {
        "labels": list(labels),
        "variants": [_geometry(name) for name in variants],
        "boards": list(boards),
        "games": games,
    }
    return htmlsafe_json_dumps(document, separators=(",", ":"), allow_nan=False), len(games)


def _geometry(variant: str) -> dict[str, Any]:
    """Return the board of a known variant."""
    board = geometry(variant)
    assert board is not None
    return board


@cache
def _variant(name: str) -> Variant | None:
    try:
        return parse_variant(name)
    except VariantError:
        return None
