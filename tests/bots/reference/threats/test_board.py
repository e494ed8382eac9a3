"""The counts of `threats` on its lines and cells, against the rules read line by line, on boards of any kind."""

from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.reference.threats.board import Board, missing_one, missing_three, missing_two
from noughts_bots.reference.threats.fours import Fours
from noughts_bots.reference.threats.search import static_value
from noughts_referee.rules import Variant, members, parse_variant

from .plain_search import completing_cells, missing

VARIANTS = ("tictactoe", "mnk:1,1,1", "mnk:5,1,2", "mnk:4,4,4", "mnk:7,6,4", "mnk:9,9,5", "mnk:12,3,8", "mnk:30,2,30")


@st.composite
def games(draw: st.DrawFn, names: tuple[str, ...] = VARIANTS) -> tuple[Variant, list[int]]:
    """Draw a variant and some of its cells, which the two sides take in turn."""
    variant = parse_variant(draw(st.sampled_from(names)))
    order = draw(st.permutations(range(variant.cells)))
    return variant, list(order[: draw(st.integers(0, variant.cells))])


def stones_of(cells: list[int]) -> tuple[int, int]:
    return sum(1 << cell for cell in cells[::2]), sum(1 << cell for cell in cells[1::2])


@given(games())
def test_counts_of_lines_equal_freshly_computed_ones(game: tuple[Variant, list[int]]) -> None:
    variant, cells = game
    board = Board(variant)
    sides = [board.no_stones, board.no_stones]
    history = []
    for ply, cell in enumerate(cells):
        history.append(tuple(sides))
        sides[ply % 2] = board.placed(sides[ply % 2], cell)
        own, other = sides
        for stones, others in ((own, other), (other, own)):
            for lines, count in ((missing_one, 1), (missing_two, 2), (missing_three, 3)):
                expected = sum(
                    1 << number
                    for number, line in enumerate(variant.lines)
                    if missing(line, stones.cells, others.cells) == count
                )
                assert lines(stones, others) == expected
    # Sets of stones are immutable: those of earlier plies are unchanged.
    for ply, (own, other) in enumerate(history):
        expected_sets = stones_of(cells[:ply])
        assert (own, other) == tuple(board.stones(stones) for stones in expected_sets)


@given(games())
def test_cells_that_win_at_once_are_those_of_the_rules(game: tuple[Variant, list[int]]) -> None:
    variant, cells = game
    board = Board(variant)
    own, other = stones_of(cells)
    winning = board.winning_cells(board.stones(own), board.stones(other))
    assert set(members(winning)) - set(members(own | other)) == completing_cells(variant, own, other)


@given(games())
def test_the_evaluation_is_the_sum_over_all_lines(game: tuple[Variant, list[int]]) -> None:
    variant, cells = game
    board = Board(variant)
    own, other = stones_of(cells)
    expected = 0
    for line in variant.lines:
        if line & own and not line & other:
            expected += 1 + {2: 60, 3: 14}.get((line & ~own).bit_count(), 0)
        if line & other and not line & own:
            expected -= 1 + {2: 30, 3: 9}.get((line & ~other).bit_count(), 0)
    assert static_value(board.stones(own), board.stones(other)) == expected


@given(games())
def test_cells_that_make_one_four_or_two_are_found(game: tuple[Variant, list[int]]) -> None:
    variant, cells = game
    board = Board(variant)
    own, other = stones_of(cells)
    if completing_cells(variant, own, other):
        return
    fours = Fours(board, board.stones(own), board.stones(other))
    free = [cell for cell in range(variant.cells) if not (own | other) >> cell & 1]
    winning_then = {cell: len(completing_cells(variant, own | 1 << cell, other)) for cell in free}
    assert list(members(fours.four_cells)) == [cell for cell in free if winning_then[cell]]
    assert list(members(fours.double_four_cells)) == [cell for cell in free if winning_then[cell] > 1]


@given(games(("mnk:5,5,3", "mnk:5,5,4", "mnk:7,6,4", "mnk:9,9,5")))
def test_answers_to_a_threat_are_the_cells_that_prevent_double_fours(game: tuple[Variant, list[int]]) -> None:
    variant, cells = game
    own, other = stones_of(cells)
    board = Board(variant)
    fours = Fours(board, board.stones(own), board.stones(other))
    if not fours.double_four_cells or completing_cells(variant, own, other):
        return
    free = [cell for cell in range(variant.cells) if not (own | other) >> cell & 1]
    own_stones = board.stones(own)
    leaves_none = {
        cell for cell in free if not Fours(board, own_stones, board.stones(other | 1 << cell)).double_four_cells
    }
    assert set(members(fours.answers())) == leaves_none
