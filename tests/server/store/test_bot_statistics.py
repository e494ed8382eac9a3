"""Scores of a bot by opponent, endings and times of its moves, compared with counts over its list of games."""

from functools import partial
from random import Random

import pytest

from noughts_referee.rules import Result, Termination
from noughts_server.competition.score import Score
from noughts_server.core.errors import NotFound
from noughts_server.store.games.bot_games import ScoreBySide, list_bot_games
from noughts_server.store.games.bot_statistics import MoveTimes, bot_statistics
from tests.support.arena import Arena

from .test_bot_games import BOTS, play_random_tournaments

_SCORES = {Result.FIRST_WINS: Score(1), Result.DRAW: Score(draws=1), Result.SECOND_WINS: Score(losses=1)}


@pytest.mark.long
async def test_statistics_are_those_of_all_games(arena: Arena) -> None:
    await play_random_tournaments(arena, Random(4), 12)
    for bot in BOTS:
        games = (await arena.store.read(partial(list_bot_games, bot=bot, size=1000))).items
        opponents: dict[str, ScoreBySide] = {}
        terminations: dict[Termination, Score] = {}
        times: list[int] = []
        for game in games:
            names = [name.split("/")[1] for name in (game.first_bot, game.second_bot)]
            for side in (0, 1):
                if names[side] != bot:
                    continue
                times += [time for ply, time in enumerate(game.times_us) if ply % 2 == side]
                if game.result not in _SCORES:
                    continue
                score = _SCORES[game.result] if side == 0 else _SCORES[game.result].mirrored
                by_side = opponents.setdefault(names[1 - side], ScoreBySide())
                if side == 0:
                    by_side.first += score
                else:
                    by_side.second += score
                terminations[game.termination] = terminations.get(game.termination, Score()) + score
        statistics = await arena.store.read(partial(bot_statistics, bot=bot))
        assert statistics.opponents == opponents
        assert statistics.total.first == sum((opponent.first for opponent in opponents.values()), Score())
        assert statistics.total.second == sum((opponent.second for opponent in opponents.values()), Score())
        assert (statistics.games, dict(statistics.terminations)) == (len(games), terminations)
        assert sorted(statistics.times_us) == sorted(times)


async def test_a_bot_without_games_has_empty_statistics(arena: Arena) -> None:
    await arena.tournament()
    statistics = await arena.store.read(partial(bot_statistics, bot="ada"))
    assert (statistics.opponents, statistics.games, MoveTimes.of(statistics.times_us)) == ({}, 0, MoveTimes())
    with pytest.raises(NotFound):
        await arena.store.read(partial(bot_statistics, bot="nobody"))


def test_percentile_is_the_time_that_this_share_of_moves_does_not_exceed() -> None:
    assert MoveTimes.of(range(1, 101)) == MoveTimes(50, 90, 99, 100)
    assert MoveTimes.of([7]) == MoveTimes(7, 7, 7, 7)
    assert MoveTimes.of([3, 1, 2]) == MoveTimes(2, 3, 3, 3)
