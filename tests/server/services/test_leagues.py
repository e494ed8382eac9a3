"""Leagues on a server: the next season starts without a cron job and without a token of the owner."""

import asyncio
from pathlib import Path
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import tournaments_pb2
from tests.support.client import Client, bearer, client_of, refusal_of
from tests.support.databases import change
from tests.support.patience import PATIENCE

FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED
CANCELLED = tournaments_pb2.TOURNAMENT_STATE_CANCELLED
WEEK_MS = 7 * 24 * 3600 * 1000


async def play_first_season(client: Client, token: str, **fields: Any) -> None:
    """Create a weekly league with ada and bob, and wait until its first season `cup` has finished."""
    await client.create(token, repeat=tournaments_pb2.REPEAT_WEEKLY, **fields)
    for bot in ("ada", "bob"):
        await client.join(token, bot)
    await client.start(token)
    await client.until(lambda cup: cup.state == FINISHED)


async def play_next_week(client: Client, number: int) -> tournaments_pb2.Tournament:
    """Set the clock to the start of the season with this number, and return it once it has finished."""
    director, store = client.server.director, client.server.store
    await director.open_seasons()
    season = await client.get(f"cup-{number}")
    start = season.start_at.ToMilliseconds()
    store.now_ms = lambda: start
    director.reschedule()
    while season.state != FINISHED:
        season = await client.get(f"cup-{number}")
        await client.at_rest()
    return season


async def list_seasons(client: Client, slug: str = "cup") -> tournaments_pb2.ListSeasonsResponse:
    return await client.tournaments.ListSeasons(tournaments_pb2.ListSeasonsRequest(name=f"tournaments/{slug}"))


async def test_seasons_follow_each_other_also_after_a_restart(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        async with client.online(token, "ada", "bob"):
            await play_first_season(client, token)
            second = await play_next_week(client, 2)
            first = await client.get()
            assert (first.league, first.season, first.repeat) == ("tournaments/cup", 1, tournaments_pb2.REPEAT_WEEKLY)
            assert (second.season, second.owner, second.games_done) == (2, "alice", 2)
            assert second.start_time.ToMilliseconds() == first.start_time.ToMilliseconds() + WEEK_MS
            assert second.seed != first.seed
    async with client_of(tmp_path / "x.sqlite") as client, client.online(token, "ada", "bob"):
        await play_next_week(client, 3)
        league = await list_seasons(client, "cup-2")
    assert (league.league, league.stopped) == ("tournaments/cup", False)
    assert [(season.number, season.tournament, season.entries) for season in league.seasons] == [
        (3, "tournaments/cup-3", 2),
        (2, "tournaments/cup-2", 2),
        (1, "tournaments/cup", 2),
    ]
    assert all(season.winner in ("ada", "bob") for season in league.seasons)


async def test_season_names_all_bots_that_share_its_first_place(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        await play_first_season(client, token, games_per_pair=2, draw_after=3)
    cup = await client.get()
    winners = [standing.label for standing in cup.standings if standing.rank == 1]
    (season,) = (await list_seasons(client)).seasons
    assert (len(winners), list(season.winners), season.winner) == (2, winners, winners[0])


async def test_repeating_is_stopped_by_its_owner_only(client: Client) -> None:
    token, other = await client.token(), await client.token("bob")
    async with client.online(token, "ada", "bob"):
        await play_first_season(client, token)
        await client.server.director.open_seasons()
        request = tournaments_pb2.StopRepeatingRequest(name="tournaments/cup")
        refusal = await refusal_of(client.tournaments.StopRepeating(request, metadata=bearer(other)))
        assert refusal.reason == "PERMISSION_DENIED"
        answer = await client.tournaments.StopRepeating(request, metadata=bearer(token))
    assert (answer.tournament.name, answer.tournament.reason) == ("tournaments/cup-2", "its league was stopped")
    assert (await client.get()).repeat == tournaments_pb2.REPEAT_UNSPECIFIED
    assert (await list_seasons(client)).stopped
    await client.server.director.open_seasons()
    assert await client.slugs() == ["cup-2", "cup"]


async def test_a_ladder_cannot_repeat_and_a_single_tournament_has_no_league(client: Client) -> None:
    token = await client.token()
    weekly, ladder = tournaments_pb2.REPEAT_WEEKLY, tournaments_pb2.SCHEDULE_LADDER
    refusal = await refusal_of(client.create(token, schedule=ladder, repeat=weekly))
    assert refusal.fields() == ["tournament.repeat"]
    await client.create(token, "once")
    assert (await list_seasons(client, "once")).league == ""
    stopping = tournaments_pb2.StopRepeatingRequest(name="tournaments/once")
    refusal = await refusal_of(client.tournaments.StopRepeating(stopping, metadata=bearer(token)))
    assert refusal.reason == "NOT_FOUND"


async def test_damaged_league_delays_no_scheduled_start_and_no_other_season(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token, store = await client.token(), client.server.store
        for slug in ("damaged", "cup"):
            await client.create(token, slug, repeat=tournaments_pb2.REPEAT_WEEKLY)
        change(tmp_path / "x.sqlite", "UPDATE leagues SET slug = 'missing' WHERE slug = 'damaged'")
        for slug in ("damaged", "cup"):
            await client.cancel(token, slug)
        start = Timestamp()
        start.FromMilliseconds(store.now_ms() + WEEK_MS // 2)
        await client.create(token, "later", start_at=start)
        store.now_ms = start.ToMilliseconds
        client.server.director.reschedule()
        async with asyncio.timeout(PATIENCE):
            while (await client.get("later")).state != CANCELLED or "cup-2" not in await client.slugs():
                await client.at_rest()
