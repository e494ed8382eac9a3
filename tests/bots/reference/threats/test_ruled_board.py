"""The board of exactly five, renju and caro: which cells complete a line, compared with the rules."""

import pytest

from noughts_bots.reference.threats.board import RuledBoard
from noughts_referee.rules import members, parse_variant
from tests.support.dense_boards import positions

NAMES = ("gomoku:exact", "renju", "caro", "caro:exact", "renju:20")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_winning_cells_are_those_of_the_rules(name: str) -> None:
    variant = parse_variant(name)
    board, count = RuledBoard(variant), 0
    for dense, _ in positions(60, seed=11, edge=variant.columns):
        own, other = (
            sum(1 << row * variant.columns + column for column, row in stones) for stones in (dense.own, dense.other)
        )
        for side in (0, 1):
            expected = {
                cell
                for cell in variant.free_cells(own | other)
                if variant.completes(own | 1 << cell, cell, other)
                and (variant.forbids is None or variant.forbids(own, other, cell, side) is None)
            }
            winning = set(members(board.winning_cells(board.stones(own, side), board.stones(other, 1 - side))))
            assert winning == expected
            count += len(winning)
    assert count > 50


def test_moves_that_renju_forbids_are_illegal_only_for_black() -> None:
    board = RuledBoard(parse_variant("renju"))
    overline = sum(1 << cell for cell in (67, 82, 97, 127, 142))
    none = board.stones(0, 1)
    assert board.legal(board.stones(overline, 0), none, 1 << 112 | 1) == 1
    assert board.legal(board.stones(overline, 1), board.stones(0, 0), 1 << 112 | 1) == 1 << 112 | 1
