"""The arbiter and openings by agreement, such as swap2: choices, clocks, faults, and the game that follows."""

import pytest

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.rules import Choice, Put, Take, Termination, side_seed
from noughts_referee.work_units import ScheduledGame
from tests.support.games import ArbiterDriver, conditions, verdict

STONES = (112, 113, 98)
FURTHER_STONES = (20, 200)


def start_opening(rule: str = "swap2", time: str = "none") -> tuple[ArbiterDriver, Game]:
    """Start a game in which player 1 places the first stones; both players support opening choices."""
    driver = ArbiterDriver(margin_us=0)
    for key in (1, 2):
        driver.player(key).opens = True
    return driver, driver.start(conditions(f"gomoku+{rule}", time))


def choose(driver: ArbiterDriver, game: Game, *choices: Choice | None, took: int = 0) -> None:
    """Let the side that must choose make each of these choices in turn; None resigns."""
    for choice in choices:
        assert driver.arbiter.judge_choice(game.mover, game.handle, game.opening.step, choice, took) == []


def games_with_a_choice(driver: ArbiterDriver, key: int) -> list[int]:
    """Return the games in which the player is asked for a choice."""
    return [game.handle for game in driver.player(key).outbox.openings]


def test_no_start_is_sent_before_the_sides_are_known() -> None:
    driver, game = start_opening()
    assert games_with_a_choice(driver, 1) == [game.handle]
    assert not driver.player(2).outbox
    choose(driver, game, Put(STONES))
    assert games_with_a_choice(driver, 2) == [game.handle]
    assert not any(player.outbox.starts for player in driver.players.values())
    assert driver.arbiter.agreed == []


@pytest.mark.parametrize(
    "choices, first",
    [
        ((Put(STONES), Take(1)), 1),
        ((Put(STONES), Take(0)), 2),
        ((Put(STONES), Put(FURTHER_STONES), Take(0)), 1),
        ((Put(STONES), Put(FURTHER_STONES), Take(1)), 2),
    ],
)
def test_the_player_that_took_x_counts_as_first_mover_and_o_is_asked(choices: tuple[Choice, ...], first: int) -> None:
    driver, game = start_opening()
    choose(driver, game, *choices)
    assert [player.key for player in game.players] == [first, 3 - first]
    assert game.slot == ScheduledGame(1, first - 1, 2 - first)
    assert game.moves == [*STONES, *FURTHER_STONES][: 5 if len(choices) > 2 else 3]
    assert (game.ply, game.mover.key) == (len(game.moves), 3 - first)
    assert driver.arbiter.agreed == [game]
    for player in driver.players.values():
        assert player.outbox.starts == [game]
    assert driver.take_questions(3 - first) == [(game.handle, game.ply, game.moves[-1])]
    assert driver.take_questions(first) == []
    # X has stones on 112 and 98, and completes 112, 98, 84, 70, 56.
    driver.play(game, [0, 84, 1, 70, 2, 56])
    assert verdict(game) == ("1-0", "line")


def test_times_of_choices_are_recorded_at_the_first_stones() -> None:
    driver, game = start_opening()
    choose(driver, game, Put(STONES), took=5)
    assert game.times_us == [5, 0, 0]
    choose(driver, game, Put(FURTHER_STONES), took=7)
    assert game.opening_plies == 5
    choose(driver, game, Take(0), took=0)
    assert game.times_us == [5, 7, 0, 0, 0]
    assert game.opening_plies == 5
    driver, game = start_opening()
    choose(driver, game, Put(STONES), Take(0), took=3)
    assert game.times_us == [3, 3, 0]
    assert game.opening_plies == 3


def test_choices_are_charged_to_the_side_that_makes_them() -> None:
    driver, game = start_opening(time="10+0")
    choose(driver, game, Put(STONES), took=1_000_000)
    choose(driver, game, Take(0), took=2_000_000)
    assert [player.key for player in game.players] == [2, 1]
    assert game.left_us == [8_000_000, 9_000_000]
    assert driver.player(1).outbox.turns_timed == [game]


def test_a_choice_that_takes_too_long_loses() -> None:
    driver, game = start_opening(time="1/move")
    choose(driver, game, Put(STONES))
    choose(driver, game, Take(0), took=1_000_001)
    assert verdict(game) == ("1-0", "timeout")
    assert (game.moves, game.times_us) == ([*STONES], [0, 0, 0, 1_000_001])
    driver, game = start_opening(time="1/move")
    driver.arbiter.end_overdue(driver.player(1), [(game.handle, game.ply, 1_000_001)])
    assert verdict(game) == ("0-1", "timeout")


@pytest.mark.parametrize(
    "choices, expected",
    [
        ((Put((1, 1, 2)),), ("0-1", "illegal_move")),
        ((Take(0),), ("0-1", "illegal_move")),
        ((None,), ("0-1", "resigned")),
        ((Put(STONES), Put((112, 5))), ("1-0", "illegal_move")),
        ((Put(STONES), None), ("1-0", "resigned")),
        ((Put(STONES), Put(FURTHER_STONES), Put(FURTHER_STONES)), ("0-1", "illegal_move")),
    ],
)
def test_a_choice_that_is_not_allowed_loses_as_an_illegal_move(
    choices: tuple[Choice | None, ...], expected: tuple[str, str]
) -> None:
    driver, game = start_opening()
    choose(driver, game, *choices)
    assert verdict(game) == expected
    assert game.ply == 0
    assert [player.games for player in driver.players.values()] == [{}, {}]


def test_swap_allows_no_further_stones() -> None:
    driver, game = start_opening("swap")
    choose(driver, game, Put(STONES), Put(FURTHER_STONES))
    assert verdict(game) == ("1-0", "illegal_move")


def test_players_that_cannot_be_asked_get_the_usual_choices() -> None:
    driver = ArbiterDriver()
    game = driver.start(conditions("gomoku+swap2"))
    assert (len(game.moves), game.ply) == (3, 3)
    assert driver.arbiter.agreed == [game]
    driver = ArbiterDriver()
    driver.player(2).opens = True
    game = driver.start(conditions("gomoku+swap"))
    assert games_with_a_choice(driver, 2) == [game.handle]
    assert game.opening.seed == side_seed(game.seed, 1)


def test_unrequested_choices_change_nothing() -> None:
    driver, game = start_opening()
    first, second = driver.player(1), driver.player(2)
    arbiter = driver.arbiter
    assert arbiter.judge_choice(second, game.handle, 0, Put(STONES), 0)
    assert arbiter.judge_choice(first, game.handle, 1, Put(STONES), 0)
    assert arbiter.judge_choice(first, 99, 0, Put(STONES), 0)
    assert arbiter.judge_answers(first, Answers([game.handle], [0], [112], [0]))
    # Plies of an opening are negative: see `opening_ply`.
    assert (game.ply, game.moves) == (-4, [])
    choose(driver, game, Put(STONES), Take(1))
    # The step 7 is in no opening, but could be a ply of the running game.
    arbiter.judge_choice(second, game.handle, 7, Put(FURTHER_STONES), 0)
    assert game.moves == [*STONES]
    assert driver.arbiter.ended == []


def test_resend_repeats_the_choice_and_a_forfeit_loses() -> None:
    driver, game = start_opening()
    driver.player(1).resend()
    driver.player(2).resend()
    assert games_with_a_choice(driver, 1) == [game.handle]
    assert not driver.player(2).outbox
    driver.arbiter.forfeit(driver.player(2), Termination.DISCONNECTED)
    assert verdict(game) == ("1-0", "disconnected")
    assert game.ply == 0
