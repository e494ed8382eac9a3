"""Trophies of bots, compared with the standings of their tournaments, and the best wins."""

from functools import partial
from random import Random

from noughts_referee.rules import Result
from noughts_server.competition.formats import format_named
from noughts_server.store.games.bot_games import list_bot_games
from noughts_server.store.games.bot_statistics import bot_statistics
from noughts_server.store.games.standings import standings
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament
from tests.support.arena import Arena

BOTS = ("ada", "bob", "cleo", "dora", "emil")


async def finished(arena: Arena, slug: str, bots: list[str], **settings: object) -> Tournament:
    """Play a tournament to its end."""
    tournament = await arena.tournament(slug, bots=bots, **settings)  # type: ignore[arg-type]  # settings
    while games := await arena.play(tournament):
        await arena.commit(games)
        tournament = await arena.store.read(partial(get_tournament, slug=slug))
    return tournament


async def test_trophies_are_the_places_of_the_standings(arena: Arena) -> None:
    chance = Random(5)
    expected: dict[str, set[tuple[str, int, int]]] = {bot: set() for bot in BOTS}
    for number in range(8):
        bots = chance.sample(BOTS, chance.randint(2, 5))
        kind = format_named(chance.choice(["round_robin", "knockout", "swiss"]))
        tournament = await finished(arena, f"cup{number}", bots, schedule=kind, games_per_pair=2)
        table = await arena.store.read(partial(standings, tournament=tournament))
        for row in table:
            if len(bots) >= 3 and row.rank <= 3:
                expected[row.label].add((tournament.slug, row.rank, len(bots)))
    for bot in BOTS:
        trophies = (await arena.store.read(partial(bot_statistics, bot=bot))).trophies
        assert {(each.tournament.slug, each.place, each.entries) for each in trophies} == expected[bot]
        assert [each.place for each in trophies] == sorted(each.place for each in trophies)
    assert any(expected.values())


async def test_running_tournaments_give_no_trophies(arena: Arena) -> None:
    tournament = await arena.tournament(bots=BOTS[:3])
    await arena.commit((await arena.play(tournament))[:1])
    for bot in BOTS[:3]:
        assert (await arena.store.read(partial(bot_statistics, bot=bot))).trophies == []


async def test_best_wins_are_against_the_opponents_with_the_highest_ratings(arena: Arena) -> None:
    await finished(arena, "cup", list(BOTS), games_per_pair=20)
    rating = dict(arena.rows("SELECT name, rating FROM ratings JOIN bots ON bots.id = bot_id WHERE games >= 30"))
    games = (await arena.store.read(partial(list_bot_games, bot="ada", size=1000))).items
    beaten = {
        second if result is Result.FIRST_WINS else first
        for game in games
        for first, second, result in [(game.first, game.second, game.result)]
        if (result, "ada") in ((Result.FIRST_WINS, first), (Result.SECOND_WINS, second))
    }
    assert len(beaten) > 1
    wins = (await arena.store.read(partial(bot_statistics, bot="ada"))).best_wins
    best = sorted(beaten & rating.keys(), key=lambda bot: -rating[bot])[:3]
    assert [(win.opponent, win.rating) for win in wins] == [(bot, rating[bot]) for bot in best]
    for win in wins:
        winner = {Result.FIRST_WINS: win.game.first, Result.SECOND_WINS: win.game.second}[win.game.result]
        assert (winner, win.rating_list) == ("ada", "tictactoe/untimed")
