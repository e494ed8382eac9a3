"""Searches on boards with gravity, exact lines and layers, compared with a plain recursion.

On these boards a move can open the cell above it, or make its own line too long. Shortcuts that are valid on plain
boards must not be taken here.
"""

import random
from collections.abc import Iterator
from functools import cache

import pytest

from noughts_bots.reference.depth_search import DepthSearch, Scale
from noughts_bots.reference.fives import Fives
from noughts_bots.reference.minimax import FullSearch, Minimax
from noughts_bots.reference.nextstep import NextStep
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.winning_cells import WinningCells
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import OWN_NAMES, Board, Position, Variant, parse_variant
from tests.support.settings import repetitions

FIN = Scale(lost=8, unknown=16, drawn=24, won=32, step=1)
TEN = Scale(lost=-10, unknown=0, drawn=0, won=10, step=0)


def make_variant(
    columns: int, rows: int, length: int, layers: int = 1, *, exact: bool = False, gravity: bool = False
) -> Variant:
    board = Board(columns, rows, layers)
    return Variant(
        f"{'exact ' * exact}{'gravity ' * gravity}{columns}x{rows}x{layers}, {length}",
        columns,
        rows,
        board.lines(length),
        layers,
        beside=board.ends(length) if exact else {},
        supports=board.beneath() if gravity else (),
    )


BOARDS = [
    make_variant(4, 3, 3, gravity=True),
    make_variant(4, 4, 4, gravity=True),
    make_variant(3, 5, 3, gravity=True),
    make_variant(2, 3, 3, 3, gravity=True),
    make_variant(6, 2, 3, exact=True),
    make_variant(4, 4, 3, exact=True),
    make_variant(5, 3, 2, exact=True),
    make_variant(8, 1, 2, exact=True),
    make_variant(9, 1, 4, exact=True),
    make_variant(12, 1, 3, exact=True),
    make_variant(5, 3, 3, exact=True, gravity=True),
    make_variant(3, 3, 3, 2),
    parse_variant("tictactoe3d"),
    parse_variant("connect4"),
]
by_name = pytest.mark.parametrize("variant", BOARDS, ids=lambda variant: variant.name)


class PlainRecursion:
    """A recursion over all moves to the depth; its only shortcut is a memory of results."""

    def __init__(self, variant: Variant, scale: Scale) -> None:
        self.variant, self.scale = variant, scale
        self.after = cache(self._after)

    def wins(self, stones: int) -> bool:
        return any(
            stones & line == line and not stones & self.variant.beside.get(line, 0) for line in self.variant.lines
        )

    def open_to(self, stones: int, others: int) -> bool:
        return any(not line & others and not self.variant.beside.get(line, 0) & stones for line in self.variant.lines)

    def cells(self, occupied: int) -> Iterator[int]:
        for cell, below in enumerate(self.variant.supports):
            if not occupied >> cell & 1 and below & occupied == below:
                yield cell

    def _after(self, mover: int, other: int, cell: int, remaining: int, ours: bool) -> int:
        mover |= 1 << cell
        if self.wins(mover):
            return self.scale.won if ours else self.scale.lost
        if not self.open_to(mover, other) and not self.open_to(other, mover):
            return self.scale.drawn
        if not remaining:
            return self.scale.unknown
        replies = [self.after(other, mover, reply, remaining - 1, not ours) for reply in self.cells(mover | other)]
        return (min if ours else max)(map(self.nearer, replies))

    def nearer(self, score: int) -> int:
        if score < self.scale.unknown:
            return score + self.scale.step
        return score - self.scale.step if score > self.scale.drawn else score

    def scores(self, own: int, opponent: int, depth: int) -> dict[int, int]:
        return {cell: self.after(own, opponent, cell, depth - 1, True) for cell in self.cells(own | opponent)}


def random_position(variant: Variant, rng: random.Random, fewest_free: int, most_free: int) -> Position:
    """Return a random position of an unfinished game with this range of free cells."""
    while True:
        position = Position(variant)
        free_cells = rng.randint(fewest_free, most_free)
        while variant.cells - position.ply > free_cells and not variant.has_line(position.opponent):
            position.play(rng.choice(position.free))
        if not variant.has_line(position.opponent):
            return position


@pytest.mark.long
@by_name
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_depth_search_scores_as_the_plain_recursion(variant: Variant, depth: int) -> None:
    rng = random.Random(f"{variant.name} {depth}")
    search, plain = DepthSearch(variant, depth, FIN), PlainRecursion(variant, FIN)
    for _ in range(repetitions((80, 40, 30, 6, 6)[depth - 1])):
        position = random_position(variant, rng, 1, min(variant.cells, (42, 42, 36, 10, 10)[depth - 1]))
        expected = plain.scores(position.own, position.opponent, depth)
        assert search.scores(position.own, position.opponent) == expected, position


@pytest.mark.long
@by_name
def test_a_depth_search_to_the_end_scores_as_the_plain_recursion(variant: Variant) -> None:
    rng = random.Random(variant.name)
    search, plain = DepthSearch(variant, variant.cells, FIN), PlainRecursion(variant, FIN)
    for _ in range(repetitions(12)):
        position = random_position(variant, rng, 1, 8)
        expected = plain.scores(position.own, position.opponent, variant.cells)
        assert search.scores(position.own, position.opponent) == expected, position


@pytest.mark.long
@by_name
def test_a_full_search_values_as_the_plain_recursion(variant: Variant) -> None:
    rng = random.Random(f"full {variant.name}")
    search, plain = FullSearch(variant), PlainRecursion(variant, TEN)
    for _ in range(repetitions(20)):
        position = random_position(variant, rng, 1, 8)
        expected = plain.scores(position.own, position.opponent, variant.cells)
        assert search.scores(position.own, position.opponent) == expected, position


@by_name
def test_threats_found_move_by_move_are_those_of_the_whole_board(variant: Variant) -> None:
    rng = random.Random(f"threats {variant.name}")
    for _ in range(60):
        threats, stones = WinningCells(variant), 0
        for cell in rng.sample(range(variant.cells), variant.cells // 2):
            winning_cells, stones = threats.after(stones, cell), stones | 1 << cell
            for free in range(variant.cells):
                if not stones >> free & 1:
                    wins = variant.completes(stones | 1 << free, free)
                    assert winning_cells >> free & 1 == wins, (bin(stones), free)


def test_nextstep_does_not_open_a_winning_cell_for_the_opponent() -> None:
    variant = parse_variant("connect4")
    # O has three in the second row from below and needs column d there: a stone at the bottom of d opens that cell.
    rows = [".......", ".......", ".......", ".......", "OOO....", "XXO.X.."]
    position = Position.parse(variant, "/".join(rows) + " X")
    scores = NextStep(depth=2).consider(position).scores
    assert scores[38] == 9
    assert {cell: score for cell, score in scores.items() if score != 16} == {38: 9}
    assert Minimax(depth=2).consider(position).scores[38] == -10


def test_a_sixth_in_a_row_is_not_a_threat_if_exactly_five_win() -> None:
    exact, free = parse_variant("gomoku:exact"), parse_variant("gomoku")
    row = "XXX.XX........."
    text = row + "." * 210 + " X"
    assert NextStep(depth=1).consider(Position.parse(free, text)).scores[3] == 32
    assert NextStep(depth=1).consider(Position.parse(exact, text)).scores[3] == 16
    assert Fives().consider(Position.parse(free, text)).candidates == (3,)
    assert 3 not in Fives().consider(Position.parse(exact, text)).candidates


def test_minimax_plays_a_cube_of_27_cells_only_with_a_depth() -> None:
    cube = parse_variant("tictactoe3d")
    assert not Minimax().plays(cube)
    assert Minimax(depth=2).consider(Position(cube)).candidates


@pytest.mark.parametrize("name", OWN_NAMES)
@pytest.mark.parametrize("spec", ["random", "first-free", "nextstep:depth=2", "minimax:depth=2", "fives"])
def test_bots_that_know_only_rules_play_every_variant_by_its_rules(spec: str, name: str) -> None:
    variant = parse_variant(name)
    if (variant.forbids or variant.blocked_ends) and spec in ("nextstep:depth=2", "minimax:depth=2"):
        with pytest.raises(VariantRefused):
            make_bot(parse_spec(spec), variant)
        return
    bot = make_bot(parse_spec(spec), variant)
    for side in (0, 1):
        position = Position(variant, seed=7)
        while position.outcome() is None and position.ply < 60:
            # The opponent plays at random.
            player = bot if position.ply & 1 == side else make_bot(parse_spec("random"))
            cell = player.choose(position)
            assert isinstance(cell, int)
            assert cell in position.free
            position.play(cell)


def test_neighbours_of_fives_cross_layers_but_not_edges() -> None:
    cube = parse_variant("qubic")
    scores = Fives().consider(Position(cube, opponent=1 << 0, side=1)).scores
    assert {cell for cell, score in scores.items() if score == 1} == {1, 4, 5, 16, 17, 20, 21}
    scores = Fives().consider(Position(cube, opponent=1 << 15, side=1)).scores
    assert {cell for cell, score in scores.items() if score == 1} == {10, 11, 14, 26, 27, 30, 31}


def test_fives_opens_in_the_middle_of_every_board() -> None:
    assert Fives().consider(Position(parse_variant("connect4"))).candidates == (38,)
    assert Fives().consider(Position(parse_variant("tictactoe3d"))).candidates == (13,)
    assert Fives().consider(Position(parse_variant("qubic"))).candidates == (21, 22, 25, 26, 37, 38, 41, 42)


def test_an_unreachable_threat_is_seen_among_many_open_lines() -> None:
    variant = make_variant(10, 4, 3, gravity=True)
    # O threatens 25, above the free cell 35; X has other moves.
    position = Position.parse(variant, "/".join(["." * 10, "." * 10, "...OO.....", "...XX.X..."]) + " X")
    assert WinningCells(variant).of(position.opponent) >> 25 & 1
    plain = PlainRecursion(variant, FIN)
    for depth in (2, 3, 4):
        expected = plain.scores(position.own, position.opponent, depth)
        assert DepthSearch(variant, depth, FIN).scores(position.own, position.opponent) == expected
