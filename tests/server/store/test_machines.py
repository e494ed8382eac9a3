"""The games of each machine against what the ratings of their bots let expect."""

from functools import partial

import pytest

from noughts_referee.clock import parse_time_control
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.store.games.machines import MachineScore, forget_machines, machines
from noughts_server.store.games.results import commit_games
from noughts_server.store.tournaments.tournaments import Tournament
from tests.support.arena import NOW, Arena

CLOCK = parse_time_control("10+0.1")
GAMES = 600


async def commit_on(arena: Arena, machine: str, games: list[FinishedGame]) -> None:
    commit = partial(commit_games, games=games, state=arena.state, now_ms=NOW, machine=machine)
    await arena.store.write(commit)
    arena.state.confirm()


async def machine_scores(arena: Arena) -> dict[str, MachineScore]:
    return {score.machine: score for score in await arena.store.read(machines)}


def with_winner(game: FinishedGame, winner: int) -> FinishedGame:
    """Return the game as one that this entry has won."""
    result = Result.FIRST_WINS if game.first == winner else Result.SECOND_WINS
    return game._replace(result=int(result), termination=int(Termination.LINE))


async def rated_tournament(arena: Arena, *, favourite: float = 200.0) -> Tournament:
    """Start a tournament of ada and bob, of whom ada has a rating that is so many points higher."""
    await arena.commit(await arena.play(await arena.tournament("first", time=CLOCK, games_per_pair=40)))
    arena.execute(f"UPDATE ratings SET games = 100, rating = 1500 + {favourite} WHERE bot_id = 1")
    arena.execute("UPDATE ratings SET games = 100, rating = 1500 WHERE bot_id = 2")
    return await arena.tournament("second", time=CLOCK, games_per_pair=2 * GAMES)


async def test_a_machine_on_which_favourites_lose_stands_out(arena: Arena) -> None:
    games = await arena.play(await rated_tournament(arena))
    # A favourite with 200 points more scores 76 %.
    usual = [with_winner(game, 0 if game.ordinal % 4 else 1) for game in games[:GAMES]]
    await commit_on(arena, "good", usual)
    arena.execute("UPDATE ratings SET rating = 1700 WHERE bot_id = 1")
    arena.execute("UPDATE ratings SET rating = 1500 WHERE bot_id = 2")
    await commit_on(arena, "bad", [with_winner(game, game.ordinal % 2) for game in games[GAMES : 2 * GAMES]])
    scores = await machine_scores(arena)
    good, bad = scores["good"], scores["bad"]
    assert (good.games, good.compared, good.faults) == (GAMES, GAMES, 0)
    assert good.score == pytest.approx(0.75)
    assert good.expected == pytest.approx(0.76, abs=0.001)
    assert abs(good.residual) < good.error95 < 0.05
    assert bad.score == pytest.approx(0.5)
    assert bad.residual < -3 * bad.error
    assert bad.stands_out


async def test_ratings_that_are_wrong_on_all_machines_make_none_stand_out(arena: Arena) -> None:
    games = await arena.play(await rated_tournament(arena, favourite=400.0))
    arena.execute("UPDATE tournaments SET rated = false WHERE slug = 'second'")  # ratings stay wrong
    for number, machine in enumerate(("one", "two", "three")):
        batch = games[number * 300 : (number + 1) * 300]
        await commit_on(arena, machine, [with_winner(game, 0 if game.ordinal % 3 else 1) for game in batch])
    scores = await machine_scores(arena)
    assert all(score.residual < -3 * score.error for score in scores.values())
    assert not any(score.stands_out for score in scores.values())


async def test_faults_count_and_games_without_a_clock_are_not_compared(arena: Arena) -> None:
    games = await arena.play(await arena.tournament(games_per_pair=10))
    lost = [
        game._replace(result=int(Result.FIRST_WINS), termination=int(Termination.TIMEOUT))
        if game.ordinal <= 3
        else game
        for game in games
    ]
    await commit_on(arena, "here", lost)
    score = (await machine_scores(arena))["here"]
    assert (score.games, score.faults, score.compared, score.score, score.error95) == (10, 3, 0, 0.0, 0.0)


async def test_bots_with_few_rated_games_are_not_compared(arena: Arena) -> None:
    games = await arena.play(await arena.tournament(time=CLOCK, games_per_pair=20))
    await commit_on(arena, "here", games)
    assert (await machine_scores(arena))["here"].compared == 0


async def test_a_machine_without_games_for_a_month_is_forgotten(arena: Arena) -> None:
    await commit_on(arena, "here", await arena.play(await arena.tournament()))
    day = 24 * 3_600_000
    await arena.store.write(partial(forget_machines, now_ms=NOW + 29 * day))
    assert list(await machine_scores(arena)) == ["here"]
    await arena.store.write(partial(forget_machines, now_ms=NOW + 31 * day))
    assert await machine_scores(arena) == {}


async def test_games_of_no_named_machine_are_not_counted(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament()))
    assert await machine_scores(arena) == {}
