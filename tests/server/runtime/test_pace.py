"""The number of concurrent games of a test, simulated with a known time for each game."""

from collections.abc import Callable

import pytest

from noughts_server.runtime.pace import Pace


def games_after(seconds_of_game: Callable[[int], float], games: int, *, seats: int = 1_024) -> list[int]:
    """Return the allowed numbers of concurrent games over time, until `games` games have been played.

    `seconds_of_game` is the time of a game, by the number of concurrent games.
    """
    now, finished = 0.0, 0
    pace, allowed = Pace(now), []
    while finished < games:
        running = min(pace.games, seats)
        allowed.append(pace.games)
        pace.update(now, finished, running)
        now += seconds_of_game(running)
        finished += running
    return allowed


@pytest.mark.parametrize(
    "milliseconds, most",
    [(0.01, 2_048), (1, 128), (40, 4), (1_000, 4)],
    ids=["answers at once", "one millisecond", "40 milliseconds", "a second"],
)
def test_a_bot_that_thinks_about_one_move_at_a_time_gets_few_games(milliseconds: float, most: int) -> None:
    # Two bots think at the same time, nine moves a game.
    allowed = games_after(lambda games: max(2, games) / 2 * 9 * milliseconds / 1_000, 20_000)
    assert allowed[0] == 2
    assert max(allowed) == most


def test_a_bot_with_eight_processes_gets_games_for_all_of_them() -> None:
    allowed = games_after(lambda games: 9.0 * max(1, games / 16), 2_000)
    assert max(allowed) == 32
    assert allowed.count(16) > allowed.count(32)


def test_the_capacity_of_the_bots_limits_the_games() -> None:
    assert max(games_after(lambda games: 0.01, 1_000, seats=8)) == 16


def test_a_busy_machine_gets_fewer_games_and_more_when_it_is_idle() -> None:
    load = [1.0]
    pace, now, finished = Pace(0.0), 0.0, 0
    allowed_games = []
    for load[0] in (0.01, 20.0, 0.01):
        for _ in range(200):
            pace.update(now, finished, pace.games)
            now += pace.games * load[0]
            finished += pace.games
        allowed_games.append(pace.games)
    assert allowed_games[1] <= 4 < 32 <= min(allowed_games[0], allowed_games[2])
