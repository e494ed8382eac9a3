"""The rules of renju, caro and exactly five, written from their definitions, to compare the product's rules with them.

Stones are sets of (column, row). The code walks along lines and tries stones. It is slow, and uses no patterns.
"""

from collections.abc import Iterator
from typing import NamedTuple

Point = tuple[int, int]

DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


class Stones(NamedTuple):
    """A square board; `own` are the stones of the side in question, in renju Black's."""

    edge: int
    own: frozenset[Point]
    other: frozenset[Point]

    def holds(self, point: Point) -> bool:
        return 0 <= point[0] < self.edge and 0 <= point[1] < self.edge

    def empty(self, point: Point) -> bool:
        return self.holds(point) and point not in self.own and point not in self.other

    def placed(self, point: Point) -> "Stones":
        return self._replace(own=self.own | {point})

    def run(self, point: Point, direction: Point) -> frozenset[Point]:
        """The unbroken row of own stones through one of them."""
        return frozenset({point, *self._beyond(point, direction), *self._beyond(point, _reversed(direction))})

    def _beyond(self, point: Point, direction: Point) -> Iterator[Point]:
        while (point := _next(point, direction)) in self.own:
            yield point

    def ends(self, point: Point, direction: Point) -> tuple[Point, Point]:
        """The points before and behind the row through an own stone, on the board or not."""
        ends = []
        for way in (direction, _reversed(direction)):
            end = point
            while end in self.own:
                end = _next(end, way)
            ends.append(end)
        return ends[0], ends[1]

    def line(self, point: Point, direction: Point) -> list[Point]:
        """Return the points of the board on the line through this point, which is the first."""
        points = [point]
        for way in (direction, _reversed(direction)):
            at = point
            while self.holds(at := _next(at, way)):
                points.append(at)
        return points


def _next(point: Point, direction: Point) -> Point:
    return point[0] + direction[0], point[1] + direction[1]


def _reversed(direction: Point) -> Point:
    return -direction[0], -direction[1]


def makes_five(board: Stones, point: Point) -> bool:
    """Return whether an own stone on the point makes a row of exactly five."""
    after = board.placed(point)
    return any(len(after.run(point, direction)) == 5 for direction in DIRECTIONS)


def makes_overline(board: Stones, point: Point) -> bool:
    after = board.placed(point)
    return any(len(after.run(point, direction)) > 5 for direction in DIRECTIONS)


def fours(board: Stones, point: Point) -> set[tuple[Point, frozenset[Point]]]:
    """The fours that a stone on the point makes: the direction, and four stones which one more turns into a five."""
    after = board.placed(point)
    fours_found = set()
    for direction in DIRECTIONS:
        for fifth in after.line(point, direction):
            if after.empty(fifth):
                row = after.placed(fifth).run(fifth, direction)
                if len(row) == 5 and point in row:
                    fours_found.add((direction, row - {fifth}))
    return fours_found


def is_straight_four(board: Stones, point: Point, direction: Point) -> bool:
    """Return whether the row through an own stone is an unbroken four that a stone at either end makes a five."""
    return len(board.run(point, direction)) == 4 and all(
        board.empty(end) and len(board.placed(end).run(end, direction)) == 5 for end in board.ends(point, direction)
    )


def threes(board: Stones, point: Point) -> set[tuple[Point, frozenset[Point]]]:
    """The threes that a stone on the point makes: the direction, and three stones that one more turns into a straight
    four, if that move makes no five and is allowed to Black.

    Whether that move is allowed depends on the threes that it makes, so this function and `forbidden_kinds` call each
    other. The recursion ends because each call places a stone.
    """
    after = board.placed(point)
    threes_found = set()
    for direction in DIRECTIONS:
        for fourth in after.line(point, direction):
            if not after.empty(fourth):
                continue
            completed = after.placed(fourth)
            row = completed.run(fourth, direction)
            if (
                point in row
                and is_straight_four(completed, fourth, direction)
                and not makes_five(after, fourth)
                and not forbidden_kinds(after, fourth)
            ):
                threes_found.add((direction, row - {fourth}))
    return threes_found


def forbidden_kinds(board: Stones, point: Point) -> set[str]:
    """Return the reasons for which renju forbids Black the free point; none if the move is allowed."""
    if makes_five(board, point):
        return set()
    kinds = set()
    if makes_overline(board, point):
        kinds.add("overline")
    if len(fours(board, point)) > 1:
        kinds.add("double-four")
    if len(threes(board, point)) > 1:
        kinds.add("double-three")
    return kinds


def wins(board: Stones, point: Point, *, exact: bool, caro: bool) -> bool:
    """Return whether an own stone on the free point wins.

    Five in a row win, and more do unless `exact`. In `caro`, five between two stones of the other side do not win.
    """
    after = board.placed(point)
    for direction in DIRECTIONS:
        length = len(after.run(point, direction))
        if length > 5 and not exact:
            return True
        if length == 5 and not (caro and all(end in board.other for end in after.ends(point, direction))):
            return True
    return False
