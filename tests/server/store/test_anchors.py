"""Anchors: bots with known ratings, which no game moves and whose owner has no bound on how far they move others."""

from functools import partial

from noughts_referee.rules import Result
from noughts_server.services.leaderboard_views import LeaderboardViews
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.anchors import register_anchor
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.ratings.rating_lists import rebuild_ratings
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import Tournament, start_tournament
from tests.support.arena import NOW, Arena


def register(connection: Connection, rating: float) -> None:
    register_anchor(connection, owner="house", name="level", rating=rating, now_ms=NOW)


async def play_an_anchor(arena: Arena, rating: float, games: int) -> None:
    """Let ada win all games against an anchor with this rating. Games of one owner are not rated."""

    def enter(connection: Connection) -> Tournament:
        register(connection, rating)
        join_tournament(connection, "cup", bot="level")
        return start_tournament(connection, "cup", now_ms=NOW)

    await arena.tournament(games_per_pair=games, start=False)
    arena.execute("UPDATE tournaments SET own_rated = (0 = 1), bounded = (1 = 1)")
    arena.execute("DELETE FROM entries WHERE bot_id <> (SELECT min(bot_id) FROM entries)")
    tournament = await arena.store.write(enter)
    won_by_ada = [
        game._replace(result=int(Result.FIRST_WINS if game.first == 0 else Result.SECOND_WINS))
        for game in await arena.play(tournament)
    ]
    await arena.commit(won_by_ada[: games // 2])
    arena.state = FoldingState()  # as after a restart, so that the next commit reads the ratings of this one
    await arena.commit(won_by_ada[games // 2 :])


def rating_of(arena: Arena, name: str) -> float:
    ((rating,),) = arena.rows(f"SELECT rating FROM ratings JOIN bots ON bots.id = bot_id WHERE name = '{name}'")
    return float(rating)


async def test_an_anchor_keeps_its_rating_and_moves_others_without_a_bound(arena: Arena) -> None:
    await play_an_anchor(arena, rating=2500, games=200)
    assert rating_of(arena, "level") == 2500
    assert rating_of(arena, "ada") > 1500 + 400


async def test_a_rebuild_of_ratings_knows_the_anchors(arena: Arena) -> None:
    await play_an_anchor(arena, rating=2500, games=200)
    before = arena.snapshot()
    report = await arena.store.write(rebuild_ratings)
    assert (report.differences, report.history_corrected) == ([], 0)
    assert arena.snapshot() == before


async def test_a_bot_with_other_ratings_does_not_become_an_anchor(arena: Arena) -> None:
    await play_an_anchor(arena, rating=2500, games=20)
    arena.execute("UPDATE bots SET anchor = NULL")
    await arena.store.write(partial(register, rating=1200))
    assert arena.rows("SELECT anchor FROM bots WHERE name = 'level'") == [(None,)]


async def test_the_leaderboard_of_all_games_has_the_scale_of_the_anchors(arena: Arena) -> None:
    await play_an_anchor(arena, rating=2500, games=60)
    _, page, places = await LeaderboardViews(arena.store).page("fit", "tictactoe/untimed")
    ratings = {row.bot: places[row.bot_id].estimate.view_rating for row in page.items}
    assert ratings["level"] == 2500
    assert ratings["ada"] > 2500
