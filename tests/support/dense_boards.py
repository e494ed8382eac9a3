"""Boards full of fours and threes: stones in a few lines through a few points, rather than anywhere."""

import random
from collections.abc import Iterator

from tests.support.five_in_a_row import DIRECTIONS, Point, Stones

# The points next to a point in a line, so that a stone there makes a three, a four or more: own stones by distance.
_SHAPES = (
    (1, 2), (-1, 1), (-1, 2), (1, 3), (-2, -1), (2, 3), (-3, -2), (-3, -1), (-2, 1),
    (1, 2, 3), (-1, 1, 2), (-2, -1, 1), (2, 3, 4), (1, 3, 4), (1, 2, 4), (-1, 2, 3), (-2, -1, 2),
    (-1, 1, 3, -3), (-2, -1, 2, 3), (-4, -2, -1, 1, 2, 4), (-3, -1, 1, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5),
    (-2, -1, 1, 2), (-3, -2, -1, 1, 2),
)  # fmt: skip
_GAPS = (-4, -3, -2, -1, 1, 2, 3, 4)


def positions(count: int, seed: int, edge: int = 15) -> Iterator[tuple[Stones, list[Point]]]:
    """Dense boards, each with a few free points to ask about."""
    chance = random.Random(seed)
    for number in range(count):
        yield (_woven if number % 2 else _strewn)(chance, edge)


def _woven(chance: random.Random, edge: int) -> tuple[Stones, list[Point]]:
    """Shapes through a point, more through the points that would complete them, and so on: threes within threes."""
    own: set[Point] = set()
    other: set[Point] = set()
    asked: list[Point] = []
    waiting = [(chance.randrange(edge), chance.randrange(edge))]
    for _ in range(chance.randint(1, 7)):
        if not waiting:
            break
        centre = waiting.pop(chance.randrange(len(waiting)))
        asked.append(centre)
        for direction in chance.sample(DIRECTIONS, chance.choice((2, 2, 2, 3, 4))):
            own |= {_at(centre, direction, distance) for distance in chance.choice(_SHAPES)}
            waiting += [_at(centre, direction, distance) for distance in chance.sample(_GAPS, 2)]
    for _ in range(chance.choice((0, 0, 1, 2, 4, 8))):
        (own if chance.random() < 0.3 else other).add((chance.randrange(edge), chance.randrange(edge)))
    return _board(chance, edge, own - set(asked), other - set(asked), [*asked, *waiting])


def _strewn(chance: random.Random, edge: int) -> tuple[Stones, list[Point]]:
    """A crowded square, sometimes in a corner, with many stones of one side and few of the other."""
    size = chance.randint(6, 10)
    left, top = chance.randint(0, edge - size), chance.randint(0, edge - size)
    square = [(left + column, top + row) for column in range(size) for row in range(size)]
    density = chance.uniform(0.2, 0.55)
    own, other = set(), set()
    for point in square:
        drawn = chance.random()
        if drawn < density:
            own.add(point)
        elif drawn < density + chance.choice((0.02, 0.1)):
            other.add(point)
    return _board(chance, edge, own, other, chance.sample(square, 12))


def _board(
    chance: random.Random, edge: int, own: set[Point], other: set[Point], asked: list[Point]
) -> tuple[Stones, list[Point]]:
    board = Stones(edge, frozenset(), frozenset())
    own = {point for point in own if board.holds(point)}
    board = Stones(edge, frozenset(own), frozenset(point for point in other if board.holds(point) and point not in own))
    free = [point for point in dict.fromkeys(asked) if board.empty(point)]
    return board, free[:8]


def _at(point: Point, direction: Point, distance: int) -> Point:
    return point[0] + distance * direction[0], point[1] + distance * direction[1]
