"""The arbiter's fast loop and `Position` agree about each move: whether it is legal, and how the game stands."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.clock import TimeControl
from noughts_referee.game import Game
from noughts_referee.rules import Outcome, Position, Termination, Variant, lost, parse_variant
from noughts_referee.work_units import GameConditions
from tests.support.forbidding import centre_later, corners_only, no_overline
from tests.support.games import ArbiterDriver
from tests.support.settings import examples


def corner_variant(name: str) -> Variant:
    """A variant like a plugin's: the corners of a square on 4x4 win, except for one square with stones on its edges."""
    squares = [
        sum(1 << (row + y) * 4 + column + x for x in (0, edge) for y in (0, edge))
        for edge in (1, 2, 3)
        for row in range(4 - edge)
        for column in range(4 - edge)
    ]
    return Variant(name, 4, 4, tuple(squares), beside={squares[0]: 1 << 2 | 1 << 8})


@cache
def variants() -> list[Variant]:
    names = ["tictactoe", "mnk:5,4,3", "mnk:1,1,1", "mnk:17,16,3", "gomoku:exact", "connect4", "tictactoe3d"]
    return [*map(parse_variant, names), corner_variant("corner_variant"), no_overline(), centre_later(), corners_only()]


def start_game(driver: ArbiterDriver, variant: Variant) -> Game:
    shared = GameConditions(1, "tournaments/1", variant, TimeControl(), 1, 1, (1, 2), ("one", "two"))
    return driver.start(shared)


def outcome_of(game: Game) -> Outcome | None:
    return None if game.handle in game.players[0].games else Outcome(game.result, game.termination)


@pytest.mark.long
@examples(300)
@given(st.data())
def test_the_arbiter_and_the_position_agree_after_every_move(data: st.DataObject) -> None:
    driver = ArbiterDriver()
    variant = data.draw(st.sampled_from(variants()))
    position, game = Position(variant), start_game(driver, variant)
    # On a large board random moves make lines only if they stay in one corner.
    any_cell = st.integers(0, min(variant.cells, 40))
    outcome = None
    while outcome is None:
        is_legal = data.draw(st.integers(0, 40))
        cell = data.draw(st.sampled_from(position.free[:12])) if is_legal else data.draw(any_cell)
        side = position.side
        if cell in position.free:
            position.play(cell)
            outcome = position.outcome()
        else:
            outcome = lost(side, Termination.ILLEGAL_MOVE)
        driver.answer(game, cell)
        assert outcome_of(game) == outcome
        assert game.moves == position.moves
