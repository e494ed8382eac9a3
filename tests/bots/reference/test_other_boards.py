"""The reference bots on boards of other sizes play like plain recursions over the rules of their articles."""

from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noughts_bots.reference.minimax import Minimax
from noughts_bots.reference.nextstep import NextStep, default_depth
from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, Variant, parse_variant
from tests.support.reference_bots import bot_of
from tests.support.settings import examples

TICTACTOE = parse_variant("tictactoe")


@st.composite
def positions(draw: st.DrawFn, cells: int, *, from_stones: int = 0) -> Position:
    """Draw any stones on a board of at most `cells` cells, with a free cell."""
    columns = draw(st.integers(1, min(cells, 30)))
    rows = draw(st.integers(1, min(cells // columns, 30)))
    length = draw(st.integers(1, max(columns, rows)))
    variant = parse_variant(f"mnk:{columns},{rows},{length}")
    owners = draw(st.lists(st.sampled_from(".XO"), min_size=variant.cells, max_size=variant.cells))
    assume("." in owners and variant.cells - owners.count(".") >= from_stones)
    return Position.parse(variant, "".join(owners) + " " + draw(st.sampled_from("XO")))


class Article:
    """The article's `NextStep` and `Fin`, statement by statement, for the lines of any variant."""

    def __init__(self, variant: Variant, depth: int) -> None:
        self.lines = variant.line_cells
        self.depth = depth

    def rating(self, board: list[int]) -> dict[int, int]:
        return {cell: self.next_step(board, cell, 4, 0) for cell, mark in enumerate(board) if mark == 0}

    def next_step(self, board: list[int], cell: int, mark: int, level: int) -> int:
        board = [*board[:cell], mark, *board[cell + 1 :]]
        level += 1
        mark = 4 if mark == 1 else 1
        result = self.fin(board) << 3
        if result:
            return result
        if level == self.depth:
            return 16
        ratings = [self.next_step(board, free, mark, level) for free, on_it in enumerate(board) if on_it == 0]
        ratings = [rating + 1 if rating < 16 else rating - 1 if rating > 24 else rating for rating in ratings]
        return min([32, *ratings]) if mark == 1 else max([8, *ratings])

    def fin(self, board: list[int]) -> int:
        both, result = 5, 0
        for line in self.lines:
            in_all, in_any = 5, 0
            for cell in line:
                in_all &= board[cell]
                in_any |= board[cell]
            result |= in_all
            both &= in_any
        return 3 if both == 5 else result


def article_board(position: Position) -> list[int]:
    own, opponent = position.own, position.opponent
    return [4 * (own >> cell & 1) + (opponent >> cell & 1) for cell in range(position.variant.cells)]


@pytest.mark.long
@given(positions(8), st.integers(1, 9))
@examples(150)
def test_nextstep_scores_small_boards_like_the_plain_recursion(position: Position, depth: int) -> None:
    expected = Article(position.variant, depth).rating(article_board(position))
    assert NextStep(depth).consider(position).scores == expected


@pytest.mark.long
@given(positions(30, from_stones=14), st.integers(1, 3))
@examples(80)
def test_nextstep_scores_larger_boards_like_the_plain_recursion(position: Position, depth: int) -> None:
    expected = Article(position.variant, depth).rating(article_board(position))
    assert NextStep(depth).consider(position).scores == expected


@given(positions(16, from_stones=7), st.integers(4, 6))
@examples(40)
def test_nextstep_looks_farther_like_the_plain_recursion(position: Position, depth: int) -> None:
    assume(len(position.free) <= 7)
    expected = Article(position.variant, depth).rating(article_board(position))
    assert NextStep(depth).consider(position).scores == expected


def test_the_default_depth_of_nextstep_depends_on_the_board() -> None:
    variants = [parse_variant(text) for text in ("tictactoe", "mnk:4,4,4", "mnk:7,6,4", "mnk:15,15,5", "mnk:30,30,5")]
    assert [default_depth(variant) for variant in variants] == [9, 7, 5, 4, 3]


def test_nextstep_plays_gomoku_and_stops_an_open_three() -> None:
    variant = parse_variant("mnk:15,15,5")
    middle = 7 * 15 + 7
    position = Position.after(variant, (middle, 0, middle + 1, 14, middle + 2))
    evaluation = bot_of("nextstep", variant).consider(position)
    assert set(evaluation.candidates) == {middle - 1, middle + 3}


def plain_values(position: Position, *, faster: bool = False, depth: int = 1000) -> dict[int, int]:
    """Return the values of all free cells by the plain minimax recursion."""
    variant = position.variant

    @cache
    def value(own: int, opponent: int, away: int) -> int:
        if variant.has_line(opponent):
            return -10 + away * faster
        if variant.has_line(own):
            return 10 - away * faster
        free = variant.free_cells(own | opponent)
        if not free or away + 1 == depth:
            return 0
        if away % 2:
            return max(value(own | 1 << cell, opponent, away + 1) for cell in free)
        return min(value(own, opponent | 1 << cell, away + 1) for cell in free)

    return {cell: value(position.own | 1 << cell, position.opponent, 0) for cell in position.free}


@given(positions(12))
@examples(80)
def test_minimax_scores_other_boards_like_the_plain_recursion(position: Position) -> None:
    assume(len(position.free) <= 10)
    expected = plain_values(position)
    evaluation = Minimax().consider(position)
    assert evaluation.scores == expected
    best = max(expected.values())
    assert evaluation.candidates == (next(cell for cell in expected if expected[cell] == best),)


@given(positions(16, from_stones=6))
@examples(40)
def test_minimax_scores_boards_of_16_cells_like_the_plain_recursion(position: Position) -> None:
    assume(len(position.free) <= 10)
    assert Minimax().consider(position).scores == plain_values(position)


def nobody_has_a_line(position: Position) -> bool:
    return not position.variant.has_line(position.own) and not position.variant.has_line(position.opponent)


@pytest.mark.long
@given(positions(10))
@examples(80)
def test_faster_minimax_scores_other_boards_like_the_plain_recursion(position: Position) -> None:
    # On boards with lines of both sides the article 001 counts the first line found; `every_position` has such boards.
    assume(nobody_has_a_line(position))
    assert Minimax(faster=True).consider(position).scores == plain_values(position, faster=True)


@pytest.mark.long
@given(positions(30, from_stones=14), st.integers(1, 3), st.booleans())
@examples(80)
def test_minimax_with_a_depth_equals_the_plain_recursion(position: Position, depth: int, faster: bool) -> None:
    assume(nobody_has_a_line(position))
    expected = plain_values(position, faster=faster, depth=depth)
    evaluation = Minimax(faster=faster, depth=depth).consider(position)
    assert evaluation.scores == expected
    best = max(expected.values())
    assert evaluation.candidates == (next(cell for cell in expected if expected[cell] == best),)


@given(positions(60))
def test_first_free_takes_the_lowest_free_cell_of_any_board(position: Position) -> None:
    assert bot_of("first-free", position.variant).choose(position) == position.free[0]


def test_minimax_with_a_depth_plays_gomoku_and_stops_a_four() -> None:
    variant = parse_variant("mnk:15,15,5")
    # X has four in the top row from the corner on: O must take the fifth cell.
    position = Position.after(variant, (0, 100, 1, 120, 2, 140, 3))
    evaluation = bot_of("minimax:depth=2", variant).consider(position)
    assert evaluation.candidates == (4,)
    assert evaluation.scores.pop(4) == 0
    assert set(evaluation.scores.values()) == {-10}


@given(positions(60), st.integers(0, 2**64 - 1))
def test_random_chooses_a_free_cell_of_any_board(position: Position, seed: int) -> None:
    position.seed = seed
    bot = Random()
    assert bot.consider(position).candidates == position.free
    assert bot.choose(position) == position.rng().choice(position.free)


@pytest.mark.parametrize(
    "name, variant",
    [
        ("pascal", "mnk:4,4,4"),
        ("pascal", "mnk:3,3,2"),
        ("three-stage", "mnk:3,4,3"),
        ("coursework", "mnk:3,3,2"),
        ("minimax", "mnk:17,1,3"),
    ],
)
def test_bot_refuses_a_variant_that_it_does_not_play(name: str, variant: str) -> None:
    parsed_variant = parse_variant(variant)
    with pytest.raises(
        VariantRefused, match=f"^bot '{name}': got variant {variant} .*, expected .*; choose "
    ) as raised:
        bot_of(name, parsed_variant)
    assert "\n" not in str(raised.value)
    with pytest.raises(VariantRefused):
        bot_of(name).choose(Position(parsed_variant))


@pytest.mark.parametrize("spec, variant", [("minimax", "mnk:15,15,5"), ("minimax:faster=true", "mnk:4,4,4")])
def test_minimax_refuses_a_large_board_and_names_the_option_that_plays_it(spec: str, variant: str) -> None:
    parsed_variant = parse_variant(variant)
    with pytest.raises(VariantRefused, match=r"depth=N; choose such a variant, or a depth, as in `minimax:depth=4`$"):
        bot_of(spec, parsed_variant)
    with pytest.raises(VariantRefused):
        bot_of(spec).choose(Position(parsed_variant))


def test_minimax_plays_a_board_of_16_cells() -> None:
    # The first mover wins three in a row on 4x4.
    evaluation = bot_of("minimax", parse_variant("mnk:4,4,3")).consider(Position(parse_variant("mnk:4,4,3")))
    assert set(evaluation.scores.values()) == {10}
