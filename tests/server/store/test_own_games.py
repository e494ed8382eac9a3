"""Games between bots of one owner are rated only if the operator allows it; a label is not another owner's name."""

from functools import partial

import pytest

from noughts_referee.rules import Result
from noughts_server.core.errors import AlreadyExists
from noughts_server.store.engine.database import Connection
from noughts_server.store.games.games import list_games
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.ratings.rated_pairs import rated_pairs
from noughts_server.store.ratings.rating_lists import rebuild_ratings
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import Tournament, start_tournament
from tests.support.arena import NOW, Arena


async def play_two_owners(arena: Arena, *, own_rated: bool) -> Tournament:
    """Play a tournament of alice's ada and bob and mallory's eve; all its games are stored."""

    def begin(connection: Connection) -> Tournament:
        owner = create_owner(connection, "mallory")
        log_in(connection, owner_id=owner, name="eve", version="1", now_ms=NOW)
        join_tournament(connection, "cup", bot="eve")
        return start_tournament(connection, "cup", now_ms=NOW)

    await arena.tournament(games_per_pair=20, start=False)
    arena.execute(f"UPDATE tournaments SET own_rated = ({int(own_rated)} = 1)")
    tournament = await arena.store.write(begin)
    await arena.commit(await arena.play(tournament))
    return tournament


@pytest.mark.parametrize("own_rated", [False, True])
async def test_games_between_bots_of_one_owner_are_rated_if_allowed(arena: Arena, own_rated: bool) -> None:
    await play_two_owners(arena, own_rated=own_rated)
    # Entries 0 and 1 are alice's, and 2 is mallory's. Void games (4) are never rated.
    condition = "" if own_rated else "AND first_entry + second_entry <> 1"
    ((game_count,),) = arena.rows(f"SELECT count(*) FROM games WHERE result <> 4 {condition}")
    ((rated_games_of_bots,),) = arena.rows("SELECT sum(games) FROM ratings")
    assert 2 * game_count == rated_games_of_bots > 0
    before = arena.snapshot()
    report = await arena.store.write(rebuild_ratings)
    assert (report.differences, report.history_corrected) == ([], 0)
    assert arena.snapshot() == before
    pairs = await arena.store.read(partial(rated_pairs, variant="tictactoe"))
    assert len({frozenset((pair.first, pair.second)) for pair in pairs}) == (3 if own_rated else 2)
    page = await arena.store.read(partial(list_games, slug="cup", size=100))
    assert sum(game.rating_seq is not None for game in page.items) == game_count


async def test_bots_of_one_other_owner_move_a_rating_by_at_most_400(arena: Arena) -> None:
    def enter_eve(connection: Connection) -> Tournament:
        owner = create_owner(connection, "mallory")
        log_in(connection, owner_id=owner, name="eve", version="1", now_ms=NOW)
        join_tournament(connection, "cup", bot="eve")
        return start_tournament(connection, "cup", now_ms=NOW)

    await arena.tournament(games_per_pair=800, start=False)
    arena.execute("UPDATE tournaments SET own_rated = (0 = 1), bounded = (1 = 1)")
    arena.execute("DELETE FROM entries WHERE bot_id <> (SELECT min(bot_id) FROM entries)")
    tournament = await arena.store.write(enter_eve)
    won_by_ada = [
        game._replace(result=int(Result.FIRST_WINS if game.first == 0 else Result.SECOND_WINS))
        for game in await arena.play(tournament)
    ]
    for start in range(0, len(won_by_ada), 200):
        await arena.commit(won_by_ada[start : start + 200])
    ((highest, lowest, games),) = arena.rows("SELECT max(rating), min(rating), min(games) FROM ratings")
    assert (round(highest), round(lowest), games) == (1900, 1100, 800)
    before = arena.snapshot()
    report = await arena.store.write(rebuild_ratings)
    assert (report.differences, report.history_corrected) == ([], 0)
    assert arena.snapshot() == before


async def test_an_entry_cannot_have_the_name_of_another_owners_bot(arena: Arena) -> None:
    def enter_eve_as(connection: Connection, label: str) -> str:
        return join_tournament(connection, "cup", bot="eve", label=label).label

    def register_bots_of_mallory(connection: Connection) -> None:
        owner = create_owner(connection, "mallory")
        for name in ("eve", "mal"):
            log_in(connection, owner_id=owner, name=name, version="1", now_ms=NOW)

    await arena.tournament(start=False)
    await arena.store.write(register_bots_of_mallory)
    arena.execute("DELETE FROM entries")
    with pytest.raises(AlreadyExists, match="bots/ada"):
        await arena.store.write(partial(enter_eve_as, label="ada"))
    assert await arena.store.write(partial(enter_eve_as, label="mal")) == "mal"
