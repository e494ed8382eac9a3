"""The history of ratings."""

from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.competition.elo import Rating, next_point, rate_game
from noughts_server.core.errors import InvalidArgument, NotFound
from noughts_server.store.ratings.leaderboards import RatingHistory, rating_history
from noughts_server.store.ratings.rating_lists import RebuildReport, rebuild_ratings
from noughts_server.store.tournaments.tournaments import cancel_tournament
from tests.support.arena import NOW, Arena, open_arena

POINTS = "SELECT list_id, bot_id, games, rating FROM rating_history ORDER BY 1, 2, 3"


async def rebuild(arena: Arena) -> RebuildReport:
    return await arena.store.write(rebuild_ratings)


async def read_history(arena: Arena, bot: str, variant: str = "", time_class: str = "") -> RatingHistory:
    return await arena.store.read(partial(rating_history, bot=bot, variant=variant, time_class=time_class))


def test_there_are_64_points_and_then_32_for_each_doubling() -> None:
    points = [0]
    while points[-1] < 1 << 20:
        points.append(next_point(points[-1]))
    assert points[1:65] == list(range(1, 65))
    for power in range(6, 20):
        assert len([point for point in points if 1 << power < point <= 2 << power]) == 32


@given(st.integers(0, 10**9))
def test_next_point_depends_on_the_number_of_games_alone(games: int) -> None:
    point = next_point(games)
    assert point > games
    assert next_point(point - 1) == point == next_point((games + point) // 2 if games + 1 < point else games)


async def expected_points(arena: Arena) -> list[tuple[Any, ...]]:
    """Compute every point of one list from the stored games in slot order, without games of a bot against itself."""
    bots = dict(arena.rows("SELECT e.number, v.bot_id FROM entries e JOIN bot_versions v ON v.id = e.bot_version_id"))
    ratings = {bot: Rating() for bot in bots.values()}
    points = []
    for first, second, result in arena.rows("SELECT first_entry, second_entry, result FROM games ORDER BY ordinal"):
        if bots[first] == bots[second] or result == 4:
            continue
        rate_game(ratings[bots[first]], ratings[bots[second]], result)
        for bot in (bots[first], bots[second]):
            games = ratings[bot].games
            step = max(1, 1 << (games.bit_length() - 1) >> 5)
            if games % step == 0:
                points.append((1, bot, games, ratings[bot].rating))
    return sorted(points)


@pytest.mark.parametrize("concurrent", [1, 256])
async def test_history_follows_the_order_of_slots_and_equals_a_rebuild(arena: Arena, concurrent: int) -> None:
    played = await arena.play(await arena.tournament(bots=("ada", "bob", "ada", "cleo"), games_per_pair=90))
    random_source = Random(concurrent)
    played = sorted(played, key=lambda game: game.ordinal + random_source.randrange(concurrent))
    while played:
        size = random_source.randint(1, concurrent + 20)
        await arena.commit(played[:size])
        played = played[size:]
    points = arena.rows(POINTS)
    assert points == await expected_points(arena)
    report = await rebuild(arena)
    assert (report.differences, report.history_points, report.history_corrected) == ([], len(points), 0)


async def test_history_of_a_cancelled_tournament_counts_what_lies_behind_the_gap(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=40)
    played = await arena.play(tournament)
    await arena.commit([*played[:10], *played[15:33]])
    before = len(arena.rows(POINTS))
    await arena.store.write(partial(cancel_tournament, slug="cup", now_ms=NOW + 5))
    points = arena.rows(POINTS)
    assert len(points) > before
    assert points == await expected_points(arena)
    assert {at for (at,) in arena.rows("SELECT at FROM rating_history")} == {NOW, NOW + 5}
    assert (await rebuild(arena)).history_corrected == 0


async def test_points_say_when_they_were_counted_and_a_rebuild_keeps_that(arena: Arena) -> None:
    played = await arena.play(await arena.tournament(games_per_pair=12))
    await arena.commit(played[1:], now_ms=NOW + 1)
    assert (await read_history(arena, "ada")).points == []
    await arena.commit(played[:1], now_ms=NOW + 2)
    history = await read_history(arena, "ada")
    assert {point.at for point in history.points} == {NOW + 2}
    await rebuild(arena)
    assert await read_history(arena, "ada") == history


async def test_rebuild_fills_in_a_history_that_was_never_kept(arena: Arena) -> None:
    played = await arena.play(await arena.tournament(games_per_pair=50))
    await arena.commit(played[:20], now_ms=NOW + 1)
    await arena.commit(played[20:], now_ms=NOW + 2)
    kept = arena.rows("SELECT * FROM rating_history ORDER BY 1, 2, 3")
    arena.execute("DELETE FROM rating_history")
    report = await rebuild(arena)
    assert (report.differences, report.history_points, report.history_corrected) == ([], len(kept), len(kept))
    assert arena.rows("SELECT * FROM rating_history ORDER BY 1, 2, 3") == kept


async def test_rebuild_repairs_rating_points_and_keeps_their_times(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(games_per_pair=50)))
    kept = arena.rows(POINTS)
    arena.execute("UPDATE rating_history SET rating = 1, at = 77 WHERE bot_id = 1 AND games = 3")
    arena.execute("DELETE FROM rating_history WHERE bot_id = 2 AND games = 5")
    arena.execute("INSERT INTO rating_history VALUES (1, 2, 1001, 1500, 1)")
    assert (await rebuild(arena)).history_corrected == 3
    assert arena.rows(POINTS) == kept
    assert arena.rows("SELECT at FROM rating_history WHERE bot_id = 1 AND games = 3") == [(77,)]
    assert (await rebuild(arena)).history_corrected == 0


async def test_history_goes_on_after_a_restart(arena: Arena) -> None:
    played = await arena.play(await arena.tournament(games_per_pair=300))
    await arena.commit(played[:101])
    async with open_arena(arena.path) as again:
        await again.commit(played[101:])
    assert arena.rows(POINTS) == await expected_points(arena)


async def test_history_ends_at_the_present_rating_and_its_games_grow(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(games_per_pair=200)))
    history = await read_history(arena, "bob")
    [(rating, games)] = arena.rows("SELECT rating, games FROM ratings WHERE bot_id = 2")
    assert (history.rating_list, history.rating, history.games) == ("tictactoe/untimed", rating, games)
    assert all(before.games < after.games for before, after in pairwise(history.points))
    assert next_point(history.points[-1].games) > games


async def test_bot_without_rated_games_has_an_empty_history(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(rated=False)))
    assert await read_history(arena, "ada", variant="mnk:5,5,4") == RatingHistory("mnk:5,5,4/untimed", [], 1500.0, 0)
    with pytest.raises(NotFound, match="bots/zoe"):
        await read_history(arena, "zoe")
    with pytest.raises(InvalidArgument):
        await read_history(arena, "ada", time_class="slow")
