"""Results that look as if they were arranged."""

import pytest

from noughts_server.store.ratings import suspicious
from noughts_server.store.ratings.suspicious import Pattern, Suspicion, find_suspicions
from tests.support.arena import Arena
from tests.support.arranged import ROUNDS, arrange


async def suspicions_by_pattern(arena: Arena) -> dict[Pattern, list[Suspicion]]:
    rows = await arena.store.read(find_suspicions)
    return {pattern: [row for row in rows if row.pattern is pattern] for pattern in Pattern}


async def test_bot_that_resigns_to_one_owner_is_found_by_each_pattern(arena: Arena) -> None:
    await arrange(arena)
    rows = await suspicions_by_pattern(arena)
    for pattern in (Pattern.GIVEN_UP, Pattern.SHORT_LOSSES):
        (row,) = rows[pattern]
        assert (row.bot, row.owner, row.opponent, row.other_owner) == ("bots/eve", "mallory", "bots/ada", "alice")
        assert (row.games, row.losses, row.counted, row.share_elsewhere) == (ROUNDS, ROUNDS, ROUNDS, 0)
        ((newest,),) = arena.rows("SELECT max(ordinal) FROM games WHERE termination = 7")  # 7: resigned
        assert row.newest_game == f"tournaments/cup/games/{newest}"
    changes = {(row.bot, row.other_owner): row for row in rows[Pattern.RATING_MOVED]}
    up, down = changes["bots/ada", "mallory"], changes["bots/eve", "alice"]
    assert 300 <= up.points <= 400
    assert -400 <= down.points <= -300
    assert (up.games, up.losses, down.games, down.losses) == (ROUNDS, 0, ROUNDS, ROUNDS)
    assert (up.opponent, up.rating_list) == ("bots/eve", "tictactoe/untimed")


async def test_bot_that_loses_to_one_owner_by_its_own_scores_is_found(arena: Arena) -> None:
    await arrange(arena)
    arena.execute("UPDATE games SET termination = 8, fault = NULL WHERE termination = 7")  # 8: adjudicated
    assert (await suspicions_by_pattern(arena))[Pattern.GIVEN_UP] == []
    arena.execute("""UPDATE tournaments SET options = '{"resign": "moves=1,score=1"}'""")
    (row,) = (await suspicions_by_pattern(arena))[Pattern.GIVEN_UP]
    assert (row.bot, row.opponent, row.counted) == ("bots/eve", "bots/ada", ROUNDS)


async def test_organiser_that_concedes_games_by_stopping_its_tournament_is_found(arena: Arena) -> None:
    await arrange(arena)
    (row,) = (await suspicions_by_pattern(arena))[Pattern.CONCEDED]
    assert (row.owner, row.bot, row.opponent, row.counted) == ("alice", "bots/ada", "bots/zed", 3)


async def test_bot_that_resigns_as_often_to_all_owners_is_not_suspicious(arena: Arena) -> None:
    await arrange(arena)
    lost_by_eve = "(first_entry = 1 AND result = 3) OR (second_entry = 1 AND result = 1)"
    arena.execute(f"UPDATE games SET termination = 7, times = (SELECT min(times) FROM games) WHERE {lost_by_eve}")
    rows = await suspicions_by_pattern(arena)
    assert rows[Pattern.GIVEN_UP] == rows[Pattern.SHORT_LOSSES] == []


async def test_search_reads_a_bounded_number_of_games(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    await arrange(arena)
    for limit in ("MOST_GAMES", "MOST_OF_A_TOURNAMENT"):
        with monkeypatch.context() as changed:
            changed.setattr(suspicious, limit, 30)
            (row,) = (await suspicions_by_pattern(arena))[Pattern.GIVEN_UP]
            assert row.games <= 30


async def test_unrated_and_ordinary_games_are_not_suspicious(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=40)))
    assert await arena.store.read(find_suspicions) == []


async def test_large_changes_of_ratings_are_found_by_an_index(arena: Arena) -> None:
    if arena.store.url.startswith("sqlite"):
        plan = "EXPLAIN QUERY PLAN SELECT * FROM rating_moves WHERE (moved >= 300 OR moved <= -300) AND moved > 0"
        assert "ix_rating_moves_large" in str(arena.rows(f"{plan} ORDER BY moved DESC LIMIT 50"))
