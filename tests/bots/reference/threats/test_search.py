"""The search of `threats` compared with plain negamax: the same values, and no false wins."""

import random

import pytest

from noughts_bots.reference.threats.board import Board
from noughts_bots.reference.threats.effort import Effort, EffortSpent
from noughts_bots.reference.threats.fours import Attack
from noughts_bots.reference.threats.search import INFINITY, Search, Table
from noughts_referee.rules import Position, Variant, parse_variant

from .plain_search import WON, PlainNegamax

ENDLESS = 10_000_000


def full_value(board: Board, own: int, other: int) -> int:
    search = Search(board, Effort(ENDLESS), {})
    return search.value(board.stones(own), board.stones(other), board.cells, -INFINITY, INFINITY)


def random_positions(variant: Variant, most_free: int, count: int) -> list[tuple[int, int]]:
    """Return random positions without a complete line and with at most `most_free` free cells."""
    rng = random.Random(variant.name)
    positions: list[tuple[int, int]] = []
    while len(positions) < count:
        cells = rng.sample(range(variant.cells), variant.cells - rng.randint(1, most_free))
        own, other = sum(1 << cell for cell in cells[::2]), sum(1 << cell for cell in cells[1::2])
        if not variant.has_line(own) and not variant.has_line(other):
            positions.append((own, other) if rng.random() < 0.5 else (other, own))
    return positions


@pytest.mark.parametrize("name", ["tictactoe", "mnk:4,3,3", "mnk:3,2,2", "mnk:5,2,4", "mnk:1,1,1", "mnk:6,1,3"])
def test_the_value_of_the_empty_board_is_that_of_plain_negamax(name: str) -> None:
    variant = parse_variant(name)
    assert full_value(Board(variant), 0, 0) == PlainNegamax(variant).value(0, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, most_free, count",
    [
        ("tictactoe", 9, 300),
        ("mnk:4,3,3", 9, 100),
        ("mnk:4,4,3", 9, 100),
        ("mnk:4,4,4", 9, 60),
        ("mnk:5,4,4", 8, 80),
    ],
)
def test_random_positions_have_the_value_of_plain_negamax(name: str, most_free: int, count: int) -> None:
    variant = parse_variant(name)
    board, plain = Board(variant), PlainNegamax(variant)
    for own, other in random_positions(variant, most_free, count):
        assert full_value(board, own, other) == plain.value(own, other), (name, own, other)


@pytest.mark.parametrize("name", ["tictactoe", "mnk:4,3,3"])
def test_one_table_for_many_positions_gives_the_same_results(name: str) -> None:
    variant = parse_variant(name)
    board, plain = Board(variant), PlainNegamax(variant)
    table: Table = {}
    search = Search(board, Effort(ENDLESS), table)
    for own, other in random_positions(variant, 9, 100):
        value = search.value(board.stones(own), board.stones(other), board.cells, -INFINITY, INFINITY)
        assert value == plain.value(own, other)
    assert table


@pytest.mark.parametrize("name", ["mnk:4,4,3", "mnk:5,4,4", "mnk:5,3,3"])
def test_plain_negamax_confirms_wins_by_threats(name: str) -> None:
    variant = parse_variant(name)
    board, plain = Board(variant), PlainNegamax(variant)
    confirmed_wins = 0
    for own, other in random_positions(variant, 9, 300):
        stones = board.stones(own), board.stones(other)
        if board.winning_cells(*stones):
            continue
        attack = Attack(board, Effort(ENDLESS))
        fours = attack.by_fours(*stones, 1000)
        if fours:
            assert plain.after(own, other, fours[0]) >= WON - 2 * len(fours) - 1
        cell, plies = attack.by_threats(*stones, 3)
        assert not fours or plies
        if plies:
            assert plain.after(own, other, cell) >= WON - plies
            confirmed_wins += 1
    assert confirmed_wins > 5


def wins_within(board: Board, variant: Variant, own: int, other: int, plies: int) -> bool:
    """Return whether `own`, to move, wins by threats within `plies` half-moves against every reply."""
    stones = board.stones(own), board.stones(other)
    if board.winning_cells(*stones):
        return plies >= 1
    cell, needed = Attack(board, Effort(ENDLESS)).by_threats(*stones, 3)
    if not needed or needed > plies:
        return False
    own |= 1 << cell
    for reply in variant.free_cells(own | other):
        if variant.completes(other | 1 << reply, reply):
            return False
        if not wins_within(board, variant, own, other | 1 << reply, plies - 2):
            return False
    return True


def test_a_win_by_threes_holds_against_every_reply() -> None:
    variant = parse_variant("mnk:6,6,4")
    board = Board(variant)
    rng = random.Random(3)
    wins_by_threes = 0
    for _ in range(300):
        cells = rng.sample(range(variant.cells), 8)
        own, other = sum(1 << cell for cell in cells[::2]), sum(1 << cell for cell in cells[1::2])
        stones = board.stones(own), board.stones(other)
        if board.winning_cells(*stones):
            continue
        attack = Attack(board, Effort(ENDLESS))
        _, plies = attack.by_threats(*stones, 2)
        if plies and not attack.by_fours(*stones, 1000):
            wins_by_threes += 1
            if wins_by_threes <= 12:
                assert wins_within(board, variant, own, other, plies), (own, other)
    assert wins_by_threes >= 12


def test_a_shallow_search_claims_only_true_wins_and_losses() -> None:
    variant = parse_variant("mnk:5,4,4")
    board, plain = Board(variant), PlainNegamax(variant)
    for own, other in random_positions(variant, 9, 100):
        for depth in range(4):
            search = Search(board, Effort(ENDLESS), {})
            value = search.value(board.stones(own), board.stones(other), depth, -INFINITY, INFINITY)
            if abs(value) > WON // 2:
                assert value * plain.value(own, other) > 0


def test_continuous_fours_are_followed_over_many_moves() -> None:
    # Fours along the top row lead to the column of the stones below.
    variant = parse_variant("mnk:15,15,5")
    rows = ["." * 15 for _ in range(15)]
    rows[3] = "...OXXX........"
    rows[4] = "......X........"
    rows[5] = ".....X.X......."
    rows[6] = "...O..XO......."
    position = Position.parse(variant, "".join(rows) + " X")
    board = Board(variant)
    stones = Attack(board, Effort(ENDLESS)).by_fours(board.stones(position.own), board.stones(position.opponent), 5000)
    assert stones
    own, other = position.own, position.opponent
    # Play it: each stone but the last makes one four, which is answered; the last one makes two.
    for number, cell in enumerate(stones):
        own |= 1 << cell
        completing = [free for free in variant.free_cells(own | other) if variant.completes(own | 1 << free, free)]
        if number + 1 < len(stones):
            assert len(completing) == 1
            other |= 1 << completing[0]
            assert not variant.has_line(other)
        else:
            assert len(completing) >= 2


def spend(effort: Effort, nodes: int) -> None:
    for _ in range(nodes):
        effort.spend()


def test_the_effort_is_spent_at_the_node_it_was_given() -> None:
    effort = Effort(10)
    with pytest.raises(EffortSpent):
        spend(effort, 100)
    assert effort.nodes == 10


def test_the_effort_ends_at_its_deadline() -> None:
    now = 0.0
    effort = Effort(None, deadline=1.0, clock=lambda: now)
    spend(effort, 1000)
    now = 1.0
    with pytest.raises(EffortSpent):
        spend(effort, 10)


def test_a_part_of_the_effort_counts_as_spent_once_it_is_added() -> None:
    effort = Effort(100)
    part = effort.part(0.3)
    with pytest.raises(EffortSpent):
        spend(part, 100)
    effort.add(part)
    assert (part.nodes, effort.nodes) == (30, 30)
