"""The referee ends games by the scores of bots, and games whose value is proven."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from noughts_referee.arbiter import Answers
from noughts_referee.game import JUDGE, Game
from noughts_referee.rules import Adjudication, DrawRule, ResignRule, Result, Termination
from noughts_referee.work_units import unpack_moves
from tests.support.games import ArbiterDriver, conditions, unit, verdict

from .referee_driver import RefereeDriver

RESIGN = Adjudication(ResignRule(moves=2, score=600))
EXACT = Adjudication(exact=True)


@pytest.fixture
def driver() -> RefereeDriver:
    driver = RefereeDriver()
    driver.join(1)
    driver.join(2)
    return driver


def start(driver: RefereeDriver, rules: Adjudication, *, variant: str = "gomoku", games: int = 1) -> list[Game]:
    shared = replace(conditions(variant, keep_scores=True), adjudication=rules)
    driver.referee.add(unit(shared, games))
    return driver.running(1, 2)


def play(driver: RefereeDriver, game: Game, cell: int, score: float | None = None) -> None:
    """Play a move with a score as the side to move."""
    scores = () if score is None else ((0, score),)
    answers = Answers([game.handle], [game.ply], [cell], [0], scores=scores)
    player = driver.referee.player(game.mover.key)
    assert driver.referee.judge_answers(player, answers) == []


def test_a_bot_that_reports_a_lost_position_twice_loses(driver: RefereeDriver) -> None:
    (game,) = start(driver, RESIGN)
    for ply in range(4):
        play(driver, game, ply, 700 if ply % 2 == 0 else -600)
    (finished,) = driver.finished
    assert (finished.result, finished.termination) == (Result.FIRST_WINS, Termination.ADJUDICATED)
    assert (finished.fault, len(finished.moves)) == ("", 4)


def test_scores_of_a_resumed_game_count_as_if_it_had_not_stopped() -> None:
    shared = replace(conditions("gomoku", "10/move", keep_scores=True), adjudication=RESIGN)
    before = ArbiterDriver()
    game = before.start(shared)
    game.scores = {1: -650.0}
    before.play(game, [0, 1, 2])
    driver = RefereeDriver()
    driver.join(1)
    driver.join(2)
    driver.referee.add(unit(shared)._replace(begun={1: game.so_far()}))
    (resumed,) = driver.running(1, 2)
    play(driver, resumed, 3, -650)
    assert driver.finished[0].result == Result.FIRST_WINS


def test_a_line_on_the_board_wins_whatever_its_side_reports(driver: RefereeDriver) -> None:
    (game,) = start(driver, Adjudication(ResignRule(moves=1, score=1)), variant="tictactoe")
    for cell in (0, 3, 1, 4):
        play(driver, game, cell)
    play(driver, game, 2, -9_999)
    assert verdict(game) == ("1-0", "line")


def test_a_bot_without_scores_is_never_resigned_nor_drawn(driver: RefereeDriver) -> None:
    rules = replace(RESIGN, draw=DrawRule(moves=1, score=1e9))
    (game,) = start(driver, rules, variant="tictactoe")
    for ply, cell in enumerate((0, 1, 2, 4, 3, 5, 7, 6, 8)):
        play(driver, game, cell, 0 if ply % 2 else None)
    assert verdict(game) == ("1/2-1/2", "board_full")


class Judge:
    """Keeps the games that wait for a proof until the test gives the values."""

    def __init__(self, driver: RefereeDriver) -> None:
        self.waiting: list[Game] = []
        driver.referee.prove = self.prove

    def prove(self, games: Sequence[Game]) -> None:
        self.waiting += games


@pytest.mark.parametrize("value, result", [(1, "0-1"), (0, "1/2-1/2"), (-1, "1-0")])
def test_a_proven_game_ends_with_its_value_for_the_side_to_move(driver: RefereeDriver, value: int, result: str) -> None:
    judge = Judge(driver)
    (game,) = start(driver, EXACT)
    play(driver, game, 7)
    assert judge.waiting == [game]
    driver.referee.conclude([(game, 1, value)])
    assert verdict(game) == (result, "adjudicated")
    assert unpack_moves(driver.finished[0].moves, 225) == [7]


def test_while_a_game_waits_for_a_proof_no_player_is_asked(driver: RefereeDriver) -> None:
    judge = Judge(driver)
    (game,) = start(driver, EXACT)
    first, second = game.players
    for player in (first, second):
        player.take_outbox()
    play(driver, game, 7)
    driver.referee.connect(driver.referee.player(second.key), driver.referee.player(second.key).wire)  # type: ignore[arg-type]
    assert second.take_outbox().turn_game == []
    early = Answers([game.handle], [1], [8], [0])
    assert len(driver.referee.judge_answers(driver.referee.player(second.key), early)) == 1
    assert (game.mover, driver.referee.can_advance()) == (JUDGE, True)
    driver.referee.conclude([(judge.waiting[0], 1, None)])
    assert (game.mover, second.take_outbox().turn_ply) == (second, [1])
    driver.referee.conclude([(game, 1, 1)])  # the value comes too late
    play(driver, game, 8)
    assert game.is_undecided


def test_a_game_can_end_while_it_waits_for_a_proof(driver: RefereeDriver) -> None:
    Judge(driver)
    (game,) = start(driver, EXACT)
    play(driver, game, 7)
    driver.forfeit(2)
    driver.referee.conclude([(game, 1, 1)])
    assert verdict(game) == ("1-0", "disconnected")
    assert len(driver.finished) == 1


def test_without_a_judge_games_continue(driver: RefereeDriver) -> None:
    (game,) = start(driver, EXACT, variant="tictactoe")
    for cell in (0, 3, 1, 4, 2):
        play(driver, game, cell)
    assert verdict(game) == ("1-0", "line")
