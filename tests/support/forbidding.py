"""Small variants that forbid moves, as renju does."""

from noughts_referee.rules import Board, Variant


def no_overline(name: str = "no-overline") -> Variant:
    """A board of 6x5 on which three or more in a row win; the first side must not make four."""
    board = Board(6, 5)
    overlines = board.lines(4)

    def forbids(own: int, opponent: int, cell: int, side: int) -> str | None:
        stones = own | 1 << cell
        makes_overline = side == 0 and any(line >> cell & 1 and stones & line == line for line in overlines)
        return "overline" if makes_overline else None

    return Variant(name, board.columns, board.rows, board.lines(3), forbids=forbids)


def centre_later(name: str = "centre-later") -> Variant:
    """A board of 3x3; the first side must not begin in the centre."""
    return Variant(name, 3, 3, Board(3, 3).lines(3), forbids=_centre_at_once)


def _centre_at_once(own: int, opponent: int, cell: int, side: int) -> str | None:
    return "centre" if side == 0 and not own and cell == 4 else None


def corners_only(name: str = "corners-only") -> Variant:
    """A board of 3x3; the second side must play corners or the centre, which can be full while other cells are free."""
    return Variant(name, 3, 3, Board(3, 3).lines(3), forbids=_edge_of_second)


def _edge_of_second(own: int, opponent: int, cell: int, side: int) -> str | None:
    return "edge" if side == 1 and cell % 2 else None
