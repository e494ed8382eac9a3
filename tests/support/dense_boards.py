"""Random boards with many fours and threes: their stones lie in a few lines through a few points."""

import random
from collections.abc import Iterator

from tests.support.five_in_a_row import DIRECTIONS, Point, Stones

# Distances of own stones from a point on a line through it, so that a stone on the point makes a three or more.
_SHAPES = (
    (1, 2), (-1, 1), (-1, 2), (1, 3), (-2, -1), (2, 3), (-3, -2), (-3, -1), (-2, 1),
    (1, 2, 3), (-1, 1, 2), (-2, -1, 1), (2, 3, 4), (1, 3, 4), (1, 2, 4), (-1, 2, 3), (-2, -1, 2),
    (-1, 1, 3, -3), (-2, -1, 2, 3), (-4, -2, -1, 1, 2, 4), (-3, -1, 1, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5),
    (-2, -1, 1, 2), (-3, -2, -1, 1, 2),
)  # fmt: skip
_GAPS = (-4, -3, -2, -1, 1, 2, 3, 4)


def positions(count: int, seed: int, edge: int = 15) -> Iterator[tuple[Stones, list[Point]]]:
    """Yield dense boards, each with at most eight free points whose moves a test can check."""
    rng = random.Random(seed)
    for number in range(count):
        yield _interwoven_threes(rng, edge) if number % 2 else _crowded_square(rng, edge)


def _interwoven_threes(rng: random.Random, edge: int) -> tuple[Stones, list[Point]]:
    """Return a board with shapes that cross each other, so that a three can depend on another three."""
    own: set[Point] = set()
    other: set[Point] = set()
    centres: list[Point] = []
    next_centres = [(rng.randrange(edge), rng.randrange(edge))]
    for _ in range(rng.randint(1, 7)):
        if not next_centres:
            break
        centre = next_centres.pop(rng.randrange(len(next_centres)))
        centres.append(centre)
        for direction in rng.sample(DIRECTIONS, rng.choice((2, 2, 2, 3, 4))):  # mostly two directions
            own |= {_point_at(centre, direction, distance) for distance in rng.choice(_SHAPES)}
            next_centres += [_point_at(centre, direction, distance) for distance in rng.sample(_GAPS, 2)]
    for _ in range(rng.choice((0, 0, 1, 2, 4, 8))):
        stones = own if rng.random() < 0.3 else other
        stones.add((rng.randrange(edge), rng.randrange(edge)))
    return _board(rng, edge, own - set(centres), other - set(centres), [*centres, *next_centres])


def _crowded_square(rng: random.Random, edge: int) -> tuple[Stones, list[Point]]:
    """Return a board with a crowded square, which has many stones of one side and few of the other."""
    size = rng.randint(6, 10)
    left, top = rng.randint(0, edge - size), rng.randint(0, edge - size)
    square = [(left + column, top + row) for column in range(size) for row in range(size)]
    density = rng.uniform(0.2, 0.55)
    own, other = set(), set()
    for point in square:
        number = rng.random()
        if number < density:
            own.add(point)
        elif number < density + rng.choice((0.02, 0.1)):
            other.add(point)
    return _board(rng, edge, own, other, rng.sample(square, 12))


def _board(
    rng: random.Random, edge: int, own: set[Point], other: set[Point], points: list[Point]
) -> tuple[Stones, list[Point]]:
    board = Stones(edge, frozenset(), frozenset())
    own = {point for point in own if board.holds(point)}
    board = Stones(edge, frozenset(own), frozenset(point for point in other if board.holds(point) and point not in own))
    free = [point for point in dict.fromkeys(points) if board.empty(point)]
    return board, free[:8]


def _point_at(point: Point, direction: Point, distance: int) -> Point:
    return point[0] + distance * direction[0], point[1] + distance * direction[1]
