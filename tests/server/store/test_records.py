"""Records of games, compared with counts over all games."""

from collections import defaultdict
from functools import partial
from random import Random

from noughts_referee.rules import Result, Termination
from noughts_server.store.games.games import StoredGame, list_games
from noughts_server.store.games.records import newest_records
from tests.support.arena import NOW, Arena

BOTS = ("ada", "bob", "cleo", "dora")


async def play_tournaments(arena: Arena) -> list[StoredGame]:
    """Play tournaments of two variants one after the other, and return all games in the order of their ends."""
    chance = Random(8)
    games: list[StoredGame] = []
    for number in range(6):
        variant = ("tictactoe", "mnk:5,5,4")[number % 2]
        bots = chance.sample(BOTS, 3)
        tournament = await arena.tournament(f"cup{number}", bots=bots, variant=variant, games_per_pair=14)
        for at, game in enumerate(await arena.play(tournament)):
            await arena.commit([game], now_ms=NOW + 1000 * number + at)
        page = await arena.store.read(partial(list_games, slug=tournament.slug, size=1000))
        games += sorted(page.items, key=lambda game: (game.ended_at, game.ordinal))
    return [game for game in games if game.result is not Result.VOID and game.moves]


def winner(game: StoredGame) -> str | None:
    return {Result.FIRST_WINS: game.first, Result.SECOND_WINS: game.second}.get(game.result)


async def test_records_are_the_extremes_of_all_games(arena: Arena) -> None:
    games = await play_tournaments(arena)
    rating = {
        (name, variant): rating
        for name, variant, rating in arena.rows(
            "SELECT name, variant, rating FROM ratings JOIN bots ON bots.id = bot_id"
            " JOIN rating_lists ON rating_lists.id = list_id WHERE games >= 30"
        )
    }
    records = await arena.store.read(newest_records)
    assert {each.variant for each in records} == {"tictactoe", "mnk:5,5,4"}
    for each in records:
        of_variant = [game for game in games if game.variant == each.variant]
        won = [game for game in of_variant if game.termination is Termination.LINE and winner(game)]
        assert each.games == len(of_variant)
        assert len(each.longest.moves) == max(len(game.moves) for game in of_variant)
        assert each.shortest is not None
        assert len(each.shortest.moves) == min(len(game.moves) for game in won)
        longest: defaultdict[str, int] = defaultdict(int)
        best = 0
        for game in of_variant:
            for bot in (game.first, game.second):
                longest[bot] = longest[bot] + 1 if winner(game) == bot else 0
                best = max(best, longest[bot])
        assert (each.streak.wins if each.streak else 0) == (best if best >= 3 else 0)
        upsets = [
            rating[loser, each.variant] - rating[str(winner(game)), each.variant]
            for game in won
            for loser in {game.first, game.second} - {winner(game)}
            if {(loser, each.variant), (winner(game), each.variant)} <= rating.keys()
        ]
        largest = max(upsets, default=0.0)
        assert (each.upset.loser_rating - each.upset.winner_rating if each.upset else 0.0) == max(0.0, largest)


async def test_without_games_there_are_no_records(arena: Arena) -> None:
    await arena.tournament()
    assert await arena.store.read(newest_records) == []


async def test_records_are_without_a_variant_whose_plugin_is_not_installed(arena: Arena) -> None:
    await play_tournaments(arena)
    arena.execute("UPDATE tournaments SET variant = 'a-plugin' WHERE variant = 'mnk:5,5,4'")
    assert [each.variant for each in await arena.store.read(newest_records)] == ["tictactoe"]
