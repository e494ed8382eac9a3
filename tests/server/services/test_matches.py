"""A match on a server: a decided test ends it at the same pair, at any concurrency and after a restart."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
from structlog.testing import capture_logs

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2, feed_pb2_grpc, tournaments_pb2, types_pb2
from noughts_server.store.games.exports import export
from noughts_server.store.tournaments.tournaments import get_tournament
from tests.support.client import Client, client_of

if TYPE_CHECKING:
    from noughts_proto.v1.feed_pb2_grpc import FeedServiceAsyncStub

BOTS = ("ada", "bob")
EASY_TEST = {
    "schedule": tournaments_pb2.SCHEDULE_MATCH,
    "sprt": "elo0=-200,elo1=-100,alpha=0.2,beta=0.2",
    "games_per_pair": 2000,
    "seed": 11,
    "variant": "mnk:4,4,3",
}
FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED


async def start_match(client: Client, token: str, **fields: Any) -> None:
    await client.register(*BOTS)
    await client.create(token, **{**EASY_TEST, **fields})
    for bot in BOTS:
        await client.join(token, bot)
    await client.start(token)


async def outcome(client: Client) -> tuple[tournaments_pb2.MatchStatistics, list[Any]]:
    """Wait for the end of the match, and return its statistics and its games without times."""
    finished = await client.until(lambda cup: cup.state == FINISHED)
    assert finished.games_done == finished.games_total == 2 * sum(finished.match.pentanomial) + finished.match.repeats
    await client.at_rest()

    def read(connection: Any) -> list[Any]:
        games = export(connection, get_tournament(connection, "cup").id)
        return [(game.first, game.moves, game.result, game.seed) for game in games]

    games = await client.server.store.read(read)
    assert len(games) == finished.games_total
    return finished.match, games


async def test_the_test_ends_at_the_same_pair_at_any_concurrency(tmp_path: Path) -> None:
    outcomes = []
    for concurrency in (1, 64):
        async with client_of(tmp_path / f"{concurrency}.sqlite") as client:
            token = await client.token()
            with capture_logs() as logs:
                async with client.online(token, *BOTS):
                    await start_match(client, token, concurrency=concurrency)
                    outcomes.append(await outcome(client))
            assert [line for line in logs if line["log_level"] == "error"] == []
            # Games that were still running at the decision are not stored afterwards either.
            assert (await client.get()).games_done == len(outcomes[-1][1])
    statistics, games = outcomes[0]
    assert outcomes[1] == outcomes[0]
    assert statistics.sprt.decision == "H1"
    assert statistics.sprt.llr >= statistics.sprt.upper > 1.3
    assert list(statistics.labels) == list(BOTS)
    assert 2 < len(games) < 2000


async def test_a_restart_in_the_middle_gives_the_same_verdict(tmp_path: Path) -> None:
    async with client_of(tmp_path / "whole.sqlite") as client:
        token = await client.token()
        async with client.online(token, *BOTS):
            await start_match(client, token, concurrency=4)
            expected = await outcome(client)
    async with client_of(tmp_path / "cut.sqlite") as client:
        token = await client.token()
        async with client.online(token, *BOTS):
            await start_match(client, token, concurrency=1, draw_after=0)
            await client.until(lambda cup: cup.games_done >= 3)
    async with client_of(tmp_path / "cut.sqlite") as client, client.online(token, *BOTS):
        assert await outcome(client) == expected


async def test_watchers_see_the_statistics_of_a_match(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        async with client.online(token, *BOTS), grpc.aio.insecure_channel(client.server.address) as channel:
            feed: FeedServiceAsyncStub = feed_pb2_grpc.FeedServiceStub(channel)
            await start_match(client, token, concurrency=8)
            view = View()
            async for message in feed.Watch(feed_pb2.WatchRequest(name="tournaments/cup")):
                view.take(message)
            expected, _ = await outcome(client)
    assert view.tournaments["tournaments/cup"].match == expected


async def test_watchers_of_a_game_after_the_decision_see_it_end_void(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        token = await client.token()
        async with grpc.aio.insecure_channel(client.server.address) as channel:
            feed: FeedServiceAsyncStub = feed_pb2_grpc.FeedServiceStub(channel)
            await start_match(client, token, concurrency=8)
            name = "tournaments/cup/games/1999"
            watching = feed.Watch(feed_pb2.WatchRequest(name=name))
            view = View()
            view.take(await anext(aiter(watching)))
            async with client.online(token, *BOTS):
                async for message in watching:
                    view.take(message)
    assert view.games[name].state == feed_pb2.GAME_STATE_ENDED
    assert view.games[name].result == types_pb2.RESULT_VOID
