"""Square four: the four corners of any square win, also of a turned one."""

from noughts_referee.rules import Variant

_EDGE = 5


def square_four() -> Variant:
    """The variant `square-four`: a 5x5 board and all its squares."""
    return Variant(name="square-four", columns=_EDGE, rows=_EDGE, lines=_squares())


def _squares() -> tuple[int, ...]:
    """Each square once, as the set of its corners."""
    squares = set()
    for row in range(_EDGE):
        for column in range(_EDGE):
            # One side leads `right` cells to the right and `down` cells down, the next one is turned by 90 degrees.
            for right in range(1, _EDGE):
                for down in range(_EDGE):
                    corners = [
                        (column, row),
                        (column + right, row + down),
                        (column + right - down, row + down + right),
                        (column - down, row + right),
                    ]
                    if all(0 <= x < _EDGE and 0 <= y < _EDGE for x, y in corners):
                        squares.add(sum(1 << y * _EDGE + x for x, y in corners))
    return tuple(sorted(squares))
