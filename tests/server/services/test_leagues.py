"""A tournament that repeats, at a server: it needs neither a cron job nor a token between its seasons."""

from pathlib import Path
from typing import Any

from noughts_proto.v1 import tournaments_pb2
from tests.support.client import Client, bearer, client_of, refusal_of

FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED
WEEK_MS = 7 * 24 * 3600 * 1000


async def begin(client: Client, token: str, **fields: Any) -> None:
    await client.create(token, repeat=tournaments_pb2.REPEAT_WEEKLY, **fields)
    for bot in ("ada", "bob"):
        await client.join(token, bot)
    await client.start(token)
    await client.until(lambda cup: cup.state == FINISHED)


async def play_next_week(client: Client, number: int) -> tournaments_pb2.Tournament:
    """Let a week pass, and return the season with this number when it is over."""
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


async def seasons(client: Client, slug: str = "cup") -> tournaments_pb2.ListSeasonsResponse:
    return await client.tournaments.ListSeasons(tournaments_pb2.ListSeasonsRequest(name=f"tournaments/{slug}"))


async def test_seasons_follow_each_other_also_after_a_restart(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        async with client.online(token, "ada", "bob"):
            await begin(client, token)
            second = await play_next_week(client, 2)
            first = await client.get()
            assert (first.league, first.season, first.repeat) == ("tournaments/cup", 1, tournaments_pb2.REPEAT_WEEKLY)
            assert (second.season, second.owner, second.games_done) == (2, "alice", 2)
            assert second.start_time.ToMilliseconds() == first.start_time.ToMilliseconds() + WEEK_MS
            assert second.seed != first.seed
    async with client_of(tmp_path / "x.sqlite") as client, client.online(token, "ada", "bob"):
        await play_next_week(client, 3)
        listed = await seasons(client, "cup-2")
    assert (listed.league, listed.stopped) == ("tournaments/cup", False)
    assert [(each.number, each.tournament, each.entries) for each in listed.seasons] == [
        (3, "tournaments/cup-3", 2),
        (2, "tournaments/cup-2", 2),
        (1, "tournaments/cup", 2),
    ]
    assert all(each.winner in ("ada", "bob") for each in listed.seasons)


async def test_season_names_all_bots_that_share_its_first_place(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        await begin(client, token, games_per_pair=2, draw_after=3)
    cup = await client.get()
    first = [each.label for each in cup.standings if each.rank == 1]
    (season,) = (await seasons(client)).seasons
    assert (len(first), list(season.winners), season.winner) == (2, first, first[0])


async def test_repeating_is_stopped_by_its_owner_only(client: Client) -> None:
    token, other = await client.token(), await client.token("bob")
    async with client.online(token, "ada", "bob"):
        await begin(client, token)
        await client.server.director.open_seasons()
        request = tournaments_pb2.StopRepeatingRequest(name="tournaments/cup")
        refusal = await refusal_of(client.tournaments.StopRepeating(request, metadata=bearer(other)))
        assert refusal.reason == "PERMISSION_DENIED"
        answer = await client.tournaments.StopRepeating(request, metadata=bearer(token))
    assert (answer.tournament.name, answer.tournament.reason) == ("tournaments/cup-2", "its league was stopped")
    assert (await client.get()).repeat == tournaments_pb2.REPEAT_UNSPECIFIED
    assert (await seasons(client)).stopped
    await client.server.director.open_seasons()
    assert await client.slugs() == ["cup-2", "cup"]


async def test_what_cannot_repeat_is_refused(client: Client) -> None:
    token = await client.token()
    weekly, ladder = tournaments_pb2.REPEAT_WEEKLY, tournaments_pb2.SCHEDULE_LADDER
    refusal = await refusal_of(client.create(token, schedule=ladder, repeat=weekly))
    assert refusal.fields() == ["tournament.repeat"]
    await client.create(token, "once")
    assert (await seasons(client, "once")).league == ""
    stopping = tournaments_pb2.StopRepeatingRequest(name="tournaments/once")
    refusal = await refusal_of(client.tournaments.StopRepeating(stopping, metadata=bearer(token)))
    assert refusal.reason == "NOT_FOUND"
