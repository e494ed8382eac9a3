"""Renju, caro and exactly five, compared with a slow implementation of the definitions and with the diagrams."""

from typing import NamedTuple

import pytest

from noughts_referee.game import Game
from noughts_referee.rules import Outcome, Position, Termination, Variant, lost, parse_variant
from tests.support.dense_boards import positions
from tests.support.diagrams import Diagram, diagrams
from tests.support.five_in_a_row import Point, Stones, forbidden_kinds, makes_five, wins
from tests.support.games import ArbiterDriver, conditions

FORBIDDEN_KINDS = {"overline", "double-four", "double-three"}


class WinningRule(NamedTuple):
    """What a row of five needs to win."""

    exact: bool
    """A longer row does not win."""
    caro: bool
    """A row with an opponent's stone at both ends does not win."""


WINNING_RULES = {
    "gomoku": WinningRule(exact=False, caro=False),
    "gomoku:exact": WinningRule(exact=True, caro=False),
    "caro": WinningRule(exact=False, caro=True),
    "caro:exact": WinningRule(exact=True, caro=True),
}


def bitboards(board: Stones, point: Point) -> tuple[int, int, int]:
    """Return the own stones and the other side's as bits, and the cell of the point."""
    own, other = (sum(1 << row * board.edge + column for column, row in side) for side in (board.own, board.other))
    return own, other, point[1] * board.edge + point[0]


def variant_of_edge(name: str, edge: int) -> Variant:
    return parse_variant(name if edge == 15 else f"{name}:20")


@pytest.mark.long
@pytest.mark.parametrize("edge, boards", [(15, 200), pytest.param(15, 1_000, marks=pytest.mark.at_length), (20, 200)])
def test_renju_forbids_black_the_cells_of_the_definitions(edge: int, boards: int) -> None:
    variant = variant_of_edge("renju", edge)
    assert variant.forbids is not None
    kinds = set()
    for board, points in positions(boards, seed=3, edge=edge):
        for point in points:
            own, other, cell = bitboards(board, point)
            kind, expected = variant.forbids(own, other, cell, 0), forbidden_kinds(board, point)
            if expected:
                assert kind in expected, (board, point)
            else:
                assert kind is None, (board, point)
            assert variant.forbids(own, other, cell, 1) is None
            kinds.add(kind)
    assert kinds == {*FORBIDDEN_KINDS, None}


@pytest.mark.long
@pytest.mark.parametrize("edge", [15, 20])
@pytest.mark.parametrize("name", WINNING_RULES)
def test_rows_win_as_the_definitions_say(name: str, edge: int) -> None:
    variant, rule = variant_of_edge(name, edge), WINNING_RULES[name]
    won = 0
    for board, points in positions(400, seed=5, edge=edge):
        for point in points:
            own, other, cell = bitboards(board, point)
            expected = wins(board, point, exact=rule.exact, caro=rule.caro)
            assert variant.completes(own | 1 << cell, cell, other) is expected, (board, point)
            won += expected
    assert won > 100  # the boards are dense enough to test wins, too


@pytest.mark.long
@pytest.mark.parametrize("name", ["renju", "gomoku:exact", "caro", "caro:exact", "caro:20"])
def test_arbiter_and_position_agree_on_dense_boards(name: str) -> None:
    variant, outcomes = parse_variant(name), set()
    for number, (board, points) in enumerate(positions(300, seed=7, edge=variant.columns)):
        for point in points:
            side = number // 2 % 2
            own, other, cell = bitboards(board, point)
            position = Position(variant, own=own, opponent=other, side=side)
            if cell in position.free:
                position.play(cell)
                expected = position.outcome()
            else:
                expected = lost(side, Termination.ILLEGAL_MOVE)
            driver = ArbiterDriver()
            game = driver.start(conditions(name))
            if side:
                driver.answer(game, next(iter(Position(variant, own=other | 1 << cell, opponent=own).free)))
            game.own, game.opponent, game.ply = own, other, 20 + side
            driver.answer(game, cell)
            assert outcome_of(game) == expected, (board, point)
            outcomes.add(expected)
    assert len(outcomes) >= (3 if name != "renju" else 4)


def outcome_of(game: Game) -> Outcome | None:
    return None if game.handle in game.players[0].games else Outcome(game.result, game.termination)


@pytest.mark.parametrize("diagram", diagrams(), ids=str)
def test_remarks_about_each_diagram_of_the_docs_are_true(diagram: Diagram) -> None:
    variant = parse_variant(diagram.variant)
    for point, remark in diagram.remarks.items():
        own, other, cell = bitboards(diagram.board, point)
        position = Position(variant, own=own, opponent=other)
        if diagram.variant == "renju":
            assert remark in FORBIDDEN_KINDS | {"allowed", "five"}
            by_definition = "five" if makes_five(diagram.board, point) else forbidden_kinds(diagram.board, point)
            assert by_definition == ("five" if remark == "five" else {remark} & FORBIDDEN_KINDS)
            assert position.forbidden(cell) == (remark if remark in FORBIDDEN_KINDS else None)
            assert (cell in position.free) is (remark not in FORBIDDEN_KINDS)
        else:
            rule = WINNING_RULES[diagram.variant]
            assert remark in ("wins", "open")
            assert wins(diagram.board, point, exact=rule.exact, caro=rule.caro) is (remark == "wins")
        if remark not in FORBIDDEN_KINDS:
            position.play(cell)
            assert (position.outcome() is not None) is (remark in ("wins", "five"))


def test_the_diagrams_of_the_docs_show_every_remark() -> None:
    remarks = {word for diagram in diagrams() for word in diagram.remarks.values()}
    assert remarks == {*FORBIDDEN_KINDS, "allowed", "five", "wins", "open"}
    assert len(diagrams()) >= 20


def test_white_has_no_forbidden_moves_and_wins_with_six() -> None:
    renju = parse_variant("renju")
    row = [105, 106, 107, 109, 110]
    position = Position(renju, own=sum(1 << cell for cell in row), opponent=0, side=1)
    assert position.forbidden(108) is None
    position.play(108)
    assert position.outcome() is not None
    black = Position(renju, own=sum(1 << cell for cell in row), opponent=0, side=0)
    assert black.forbidden(108) == "overline"


def test_occupied_cells_and_cells_off_the_board_are_not_forbidden() -> None:
    position = Position(parse_variant("renju"), own=1 << 112, opponent=1 << 113)
    assert [position.forbidden(cell) for cell in (112, 113, -1, 225, 1 << 40)] == [None] * 5


def test_caro_finds_winning_cells_by_the_stones_at_their_ends() -> None:
    caro = parse_variant("caro")
    # O has both ends of X's row 1 to 5, which does not count; X's column through 3 is open.
    row, column = [1, 2, 4, 5], [18, 33, 48, 63]
    others = [0, 6, 100, 120, 140, 160, 180, 200]
    moves = [cell for pair in zip(row + column, others, strict=True) for cell in pair] + [3]
    assert Position.after(caro, moves).outcome() is not None
    assert caro.won_with(moves) == (3, 18, 33, 48, 63)
    assert caro.won_with(moves[:-1]) == ()
