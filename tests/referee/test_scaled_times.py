"""Games whose times are multiplied by the factor of the machine that begins them."""

from noughts_referee.frame_encoding import starts_columns
from noughts_referee.game import Game
from noughts_referee.rules import Put, Take
from noughts_referee.work_units import GameConditions, GameSoFar, ScheduledGame
from tests.support.games import ArbiterDriver, conditions, unit, verdict

SLOT = ScheduledGame(1, 0, 1)


def started(factor: float, shared: GameConditions, begun: GameSoFar | None = None) -> tuple[ArbiterDriver, Game]:
    """Start or resume a game on a machine with this factor."""
    driver = ArbiterDriver(margin_us=0, time_factor=factor)
    slots = unit(shared, [SLOT])
    if begun is not None:
        slots = slots._replace(begun={1: begun})
    return driver, driver.arbiter.start(slots, SLOT, driver.player(1), driver.player(2))


def test_clocks_run_by_scaled_times() -> None:
    driver, game = started(2.0, conditions(time="10+1", scale_time=True))
    assert game.left_us == [20_000_000, 20_000_000]
    driver.answer(game, 4, took=15_000_000)
    assert game.left_us == [7_000_000, 20_000_000]
    driver.answer(game, 0, took=20_000_001)
    assert verdict(game) == ("1-0", "timeout")


def test_other_tournaments_keep_their_times() -> None:
    _, game = started(2.0, conditions(time="10+1"))
    assert (game.left_us, game.time_factor) == ([10_000_000, 10_000_000], None)


def test_bots_get_the_scaled_times() -> None:
    shared = conditions(time="10+1", own_times={"bot-2": "4/move"}, scale_time=True)
    driver, game = started(0.5, shared)
    (starts,) = starts_columns(driver.player(1), [game])
    assert (starts.time.bank_us, starts.time.increment_us) == (5_000_000, 500_000)
    assert [time.move_us for time in starts.opponent_times] == [2_000_000]
    assert (list(starts.own_clock_us), list(starts.opponent_clock_us)) == ([5_000_000], [2_000_000])


def test_a_resumed_game_keeps_its_factor() -> None:
    shared = conditions(time="120+1", scale_time=True)
    driver, game = started(2.0, shared)
    driver.answer(game, 4, took=10_000_000)
    other_driver, resumed = started(0.25, shared, game.so_far())
    assert (resumed.left_us, resumed.time_factor) == ([232_000_000, 240_000_000], 2.0)
    other_driver.answer(resumed, 0, took=40_000_000)
    assert resumed.left_us == [232_000_000, 202_000_000]
    # A message describes games of one factor only.
    fresh = other_driver.arbiter.start(
        unit(shared), ScheduledGame(2, 0, 1), other_driver.player(1), other_driver.player(2)
    )
    starts = starts_columns(other_driver.player(1), [resumed, fresh])
    assert [each.time.bank_us for each in starts] == [240_000_000, 30_000_000]


def test_players_that_change_sides_keep_their_own_times() -> None:
    shared = conditions("gomoku+swap", time="10+0", own_times={"bot-2": "30+0"}, scale_time=True)
    driver = ArbiterDriver(margin_us=0, time_factor=2.0)
    first, second = driver.player(1), driver.player(2)
    first.opens = second.opens = True
    game = driver.arbiter.start(unit(shared, [SLOT]), SLOT, first, second)
    assert [str(limit) for limit in game.limits] == ["20+0", "60+0"]
    driver.arbiter.judge_choice(first, game.handle, 0, Put((112, 113, 98)), 0)
    driver.arbiter.judge_choice(second, game.handle, 1, Take(0), 0)
    assert game.players == (second, first)
    assert [str(limit) for limit in game.limits] == ["60+0", "20+0"]
