"""Limits of callers: each is enforced, reported and counted; and limits of messages before authentication."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from noughts_bots.connection.events import ConnectionLost, Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.callers import caller_network
from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import (
    bots_pb2,
    feed_pb2,
    feed_pb2_grpc,
    leaderboards_pb2,
    play_pb2,
    status_pb2,
    status_pb2_grpc,
    tokens_pb2,
)
from noughts_server.core.errors import InvalidArgument, LimitReached
from noughts_server.core.limits import BURST_SECONDS, Limits
from noughts_server.runtime.sessions import Ticket
from noughts_server.services.access import LARGE_REQUEST, SMALL_REQUEST
from noughts_server.services.batch_ratings import MOST_BOTS
from noughts_server.services.connections import peer_of
from noughts_server.services.limiter import Limiter
from noughts_server.store.engine.database import ANSWERERS
from tests.support.client import Client, bearer, client_of, create_request, hello, refusal_of
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def client_with_limits(folder: Path, **limits: int) -> AsyncIterator[Client]:
    """A client of a server with these limits."""
    async with client_of(folder / "x.sqlite", limits=Limits(**limits)) as opened:
        yield opened


async def check_limit_reached(call: Awaitable[object], name: str) -> None:
    """Check that the call is refused for the limit of this name, with a delay after which it can be retried."""
    refusal = await refusal_of(call)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    assert refusal.info.metadata["limit"] == name
    assert f"--set-limit {name}=NUMBER" in refusal.info.metadata["hint"]
    [retry] = [detail for detail in refusal.details if isinstance(detail, RetryInfo)]
    assert retry.retry_delay.ToMilliseconds() > 0


async def call_until_limit(call: Callable[[], Awaitable[object]], name: str) -> None:
    """Call until a call is refused for the limit of this name: how many are answered before depends on the machine."""
    for _ in range(100):
        try:
            await call()
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and name in str(error.trailing_metadata()):
                return
    pytest.fail(f"a hundred calls, and none of them reached {name}")


def list_bots(client: Client, **call: Any) -> Awaitable[bots_pb2.ListBotsResponse]:
    """Call a cheap method; `call` are options of the call."""
    answer: Awaitable[bots_pb2.ListBotsResponse] = client.bots.ListBots(bots_pb2.ListBotsRequest(), **call)
    return answer


def test_an_unknown_bound_or_an_impossible_number_is_refused() -> None:
    assert Limits().with_changes(bots=3).bots == 3
    with pytest.raises(InvalidArgument, match="sessions"):
        Limits().with_changes(rockets=3)
    with pytest.raises(InvalidArgument):
        Limits().with_changes(bots=0)


# Calls a second, on a clock that the test sets.


def test_an_idle_caller_can_make_the_calls_of_ten_seconds_at_once() -> None:
    clock = Clock()
    limiter = Limiter(Limits(address_rate=2), clock)
    for _ in range(2 * BURST_SECONDS):
        limiter.take("address_rate", "here", "calls")
    with pytest.raises(LimitReached) as caught:
        limiter.take("address_rate", "here", "calls")
    assert caught.value.retry_seconds == pytest.approx(0.5)
    limiter.take("address_rate", "elsewhere", "calls")
    clock.now += 0.5
    limiter.take("address_rate", "here", "calls")
    with pytest.raises(LimitReached):
        limiter.take("address_rate", "here", "calls")


def test_callers_without_recent_calls_are_forgotten() -> None:
    clock = Clock()
    limiter = Limiter(Limits(), clock)
    for number in range(20_000):
        clock.now += 1.0
        limiter.take("address_rate", number, "calls")
    assert len(limiter._free_at) <= 10_000


@pytest.mark.parametrize(
    "peer, network",
    [
        ("ipv4:192.0.2.7:4711", "192.0.2.7"),
        ("ipv6:%5B2001:db8::1%5D:4711", "2001:db8::/64"),
        ("ipv6:[2001:db8::ffff]:1", "2001:db8::/64"),
        ("ipv6:[::ffff:192.0.2.7]:1", "192.0.2.7"),
        ("ipv6:[fe80::1%25eth0]:1", "fe80::/64"),
        ("unix:/run/x", "unix:/run/x"),
    ],
)
def test_addresses_of_one_network_count_as_one_caller(peer: str, network: str) -> None:
    assert caller_network(peer_of(peer).host) == network


# On a server.


async def test_calls_of_an_address_and_of_a_token_are_bounded_by_the_second(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, address_rate=1) as client:
        await call_until_limit(lambda: list_bots(client), "address_rate")
        assert client.server.counters.refused == {"address_rate": 1}
    async with client_with_limits(tmp_path, token_rate=1) as client:
        metadata = bearer(await client.token())
        await call_until_limit(lambda: list_bots(client, metadata=metadata), "token_rate")
        await list_bots(client, metadata=bearer(await client.token("bob")))


async def test_a_ticket_frees_only_the_login_from_limits(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, address_rate=1) as client:
        metadata = bearer(client.server.sessions.issue_ticket(Ticket(1, "ada")))
        await call_until_limit(lambda: list_bots(client, metadata=metadata), "address_rate")


async def test_calls_and_connections_at_once_are_bounded(tmp_path: Path) -> None:
    for name, token in (("address_calls", False), ("token_calls", True)):
        async with client_with_limits(tmp_path, **{name: 2}) as client:
            metadata = bearer(await client.token()) if token else ()
            async with open_watchers(client, 2, metadata):
                await check_limit_reached(list_bots(client, metadata=metadata), name)
            await retry_until_answered(lambda: list_bots(client, metadata=metadata))  # noqa: B023  # awaited here
    async with client_with_limits(tmp_path, address_connections=1) as client, open_watchers(client, 1):
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(client.server.address, options=options) as other:
            status = status_pb2_grpc.StatusServiceStub(other)
            await check_limit_reached(status.GetStatus(status_pb2.GetStatusRequest()), "address_connections")
        await list_bots(client)


async def retry_until_answered(call: Callable[[], Awaitable[object]]) -> None:
    """Call until the call is answered: the server needs a moment to see that an earlier stream has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await call()
                return
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def open_watchers(client: Client, count: int, metadata: Any = ()) -> AsyncIterator[None]:
    """Keep `count` streams of the feed open while the block runs."""
    async with grpc.aio.insecure_channel(client.server.address, options=CLIENT_OPTIONS) as channel:
        stub: Any = feed_pb2_grpc.FeedServiceStub(channel)
        calls = [stub.Watch(feed_pb2.WatchRequest(name="featured"), metadata=metadata) for _ in range(count)]
        for call in calls:
            assert isinstance(await call.read(), feed_pb2.WatchResponse)
        yield
        for call in calls:
            call.cancel()


async def test_watchers_of_an_address_are_bounded(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, address_watchers=1) as client, open_watchers(client, 1):
        with pytest.raises(grpc.aio.AioRpcError, match="watchers at"):
            async with open_watchers(client, 1):
                pass


async def test_health_and_reflection_streams_count_as_watchers(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, address_watchers=1) as client, open_watchers(client, 1):
        channel = grpc.aio.insecure_channel(client.server.address)
        health: Any = health_pb2_grpc.HealthStub(channel)
        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        listing = reflection_pb2.ServerReflectionRequest(list_services="")
        async with channel:
            streams = health.Watch(health_pb2.HealthCheckRequest()), reflection.ServerReflectionInfo(iter([listing]))
            for stream in streams:
                with pytest.raises(grpc.aio.AioRpcError, match="watchers at"):
                    await stream.read()


async def test_an_owner_has_bounded_bots_versions_sessions_and_tokens(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, bots=2, versions=3, sessions=1, tournaments=1, tokens=2) as client:
        token = await client.token()
        metadata = bearer(token)
        for bot in ("ada", "bob"):
            await retry_until_answered(lambda: client.first_frame(hello(bot=bot), metadata))  # noqa: B023  # awaited here
        await wait_until(lambda: not client.server.sessions.present())
        await check_limit_reached(client.first_frame(hello(bot="eve"), metadata), "bots")
        await wait_until(lambda: not client.server.sessions.present())
        await client.first_frame(hello(bot="bob", version="2"), metadata)
        await wait_until(lambda: not client.server.sessions.present())
        await check_limit_reached(client.first_frame(hello(bot="bob", version="3"), metadata), "versions")
        await wait_until(lambda: not client.server.sessions.present())
        await client.first_frame(hello(bot="bob", version="2"), metadata)  # a known version is still accepted
        await wait_until(lambda: not client.server.sessions.present())
        stream = client.play.Play(metadata=metadata)
        await stream.write(hello(bot="ada"))
        assert isinstance(await stream.read(), play_pb2.PlayResponse)
        await check_limit_reached(client.first_frame(hello(bot="bob"), metadata), "sessions")
        stream.cancel()
        await client.create(token, "one")
        await check_limit_reached(client.create(token, "two"), "tournaments")
        await client.cancel(token, "one")
        await client.create(token, "two")
        await client.tokens.CreateToken(tokens_pb2.CreateTokenRequest(), metadata=metadata)
        await check_limit_reached(
            client.tokens.CreateToken(tokens_pb2.CreateTokenRequest(), metadata=metadata), "tokens"
        )
        assert client.server.counters.refused.keys() == {"bots", "versions", "sessions", "tournaments", "tokens"}


async def test_bytes_of_strangers_and_of_tokens_are_bounded_by_the_second(tmp_path: Path) -> None:
    padding = "x" * 30_000
    for name, token in (("address_bytes", False), ("token_bytes", True)):
        async with client_with_limits(tmp_path, **{name: 4_000}) as client:
            metadata = bearer(await client.token()) if token else ()
            request = bots_pb2.ListBotsRequest(page_token=padding)
            await call_until_limit(lambda: client.bots.ListBots(request, metadata=metadata), name)  # noqa: B023


async def test_a_bot_that_exceeds_the_bytes_of_its_token_is_disconnected(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, token_bytes=1_000) as client:
        stream = client.play.Play(metadata=bearer(await client.token()))
        await stream.write(hello())
        assert isinstance(await stream.read(), play_pb2.PlayResponse)

        async def flood() -> None:
            async with asyncio.timeout(PATIENCE):
                for _ in range(2 * BURST_SECONDS):
                    await stream.write(play_pb2.PlayRequest(done_through=1))
                while isinstance(await stream.read(), play_pb2.PlayResponse):
                    pass

        with pytest.raises((grpc.aio.AioRpcError, asyncio.InvalidStateError)):
            await flood()
        await wait_until(lambda: client.server.counters.refused["token_bytes"])


async def test_a_bot_refused_at_the_limit_of_sessions_reconnects_later(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, sessions=1) as client:
        token = await client.token()
        first = client.play.Play(metadata=bearer(token))
        await first.write(hello(bot="ada"))
        assert isinstance(await first.read(), play_pb2.PlayResponse)
        news: asyncio.Queue[SessionEvent] = asyncio.Queue()
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(play(Random(), Login(client.server.address, token, "bob"), news.put_nowait))
            lost = await news.get()
            assert isinstance(lost, ConnectionLost)
            first.cancel()
            while not isinstance(await news.get(), Online):
                pass
            playing.cancel()


# Before authentication.


async def test_frames_that_were_refused_are_not_kept(tmp_path: Path) -> None:
    rows = [1] * 10_000
    flood = play_pb2.PlayRequest(moves=play_pb2.Moves(game=rows, ply=rows, cell=rows))
    async with client_with_limits(tmp_path) as client:
        metadata = bearer(await client.token())
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                stream = client.play.Play(metadata=metadata)
                await stream.write(hello())
                for _ in ("welcome", "heartbeat"):
                    assert isinstance(await stream.read(), play_pb2.PlayResponse)
                await stream.write(flood)
                assert (await refusal_of(stream.read())).reason == "TOO_MANY_ANSWERS"
            frames = [item for item in gc.get_objects() if isinstance(item, play_pb2.PlayRequest)]
            floods = [frame for frame in frames if len(frame.moves.game) == len(rows)]
        finally:
            gc.enable()
        assert len(floods) <= 2  # this test's own frame, and perhaps the last refused one


async def test_compressed_messages_are_refused(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.bots.ListBots(
                bots_pb2.ListBotsRequest(page_token="x" * 2_000_000), compression=grpc.Compression.Gzip
            )
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_stream_without_a_token_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path) as client:
        stream = client.play.Play()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async with asyncio.timeout(PATIENCE):
                await stream.read()  # refused, though nothing was written
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_call_that_sends_no_request_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noughts_server.services.interceptor.REQUEST_SECONDS", 0.2)
    async with client_with_limits(tmp_path) as client, grpc.aio.insecure_channel(client.server.address) as channel:
        call: Any = channel.stream_stream("/noughts.v1.StatusService/GetStatus")()
        with pytest.raises(grpc.aio.AioRpcError, match="expected a message within 0 s"):
            async with asyncio.timeout(PATIENCE):
                await call.read()


async def test_a_broken_message_is_an_invalid_argument(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with client_with_limits(tmp_path) as client, grpc.aio.insecure_channel(client.server.address) as channel:
        list_bots_raw: Any = channel.unary_unary("/noughts.v1.BotService/ListBots")
        assert (await refusal_of(list_bots_raw(b"\xff\xff"))).reason == "INVALID_ARGUMENT"
        metadata = bearer(await client.token())
        for frames in ([b"rubbish"], [hello().SerializeToString(), b"rubbish"]):
            stream: Any = channel.stream_stream("/noughts.v1.PlayService/Play")(metadata=metadata)
            for frame in frames[:-1]:
                await stream.write(frame)
                for _ in ("welcome", "heartbeat"):
                    assert await stream.read()
            await stream.write(frames[-1])
            refusal = await refusal_of(stream.read())
            assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
        assert not client.server.counters.errors["INTERNAL"]


async def test_addresses_behind_a_proxy_count_only_if_the_proxy_is_configured(tmp_path: Path) -> None:
    numbers = iter(range(1_000))

    def list_bots_from_next_address(client: Client) -> Awaitable[object]:
        return list_bots(client, metadata=(("x-real-ip", f"192.0.2.{next(numbers) % 250}"),))

    async with client_of(tmp_path / "x.sqlite", limits=Limits(address_rate=1)) as client:
        await call_until_limit(lambda: list_bots_from_next_address(client), "address_rate")
    async with client_of(tmp_path / "x.sqlite", limits=Limits(address_rate=1), proxies=("127.0.0.1",)) as client:
        await asyncio.gather(*(list_bots_from_next_address(client) for _ in range(100)))
        assert not client.server.counters.refused


async def test_titles_and_labels_are_printable(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path) as client:
        token = await client.token()
        for title in ("a\x1b[31mb", "two\nlines", "left\u202eright", "zero\u200bwidth", "\u2066x"):
            refusal = await refusal_of(client.create(token, "cup", title=title))
            assert refusal.fields() == ["tournament.title"]
        assert (await client.create(token, "cup", title="Größe — 大会 №1")).title == "Größe — 大会 №1"
        request = tokens_pb2.CreateTokenRequest(token=tokens_pb2.Token(label="\x07"))
        assert (await refusal_of(client.tokens.CreateToken(request, metadata=bearer(token)))).fields() == [
            "token.label"
        ]
        refusal = await refusal_of(client.first_frame(hello(agent="x\x1b"), bearer(token)))
        assert refusal.fields() == ["hello"]


async def test_tokens_of_one_owner_share_its_limits(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, token_answer_bytes=1) as client:
        await client.register("one")
        await list_bots(client, metadata=bearer(await client.token()))
        await check_limit_reached(list_bots(client, metadata=bearer(await client.token())), "token_answer_bytes")
        await list_bots(client, metadata=bearer(await client.token("bob")))
    async with (
        client_with_limits(tmp_path, token_calls=2) as client,
        open_watchers(client, 2, bearer(await client.token())),
    ):
        await check_limit_reached(list_bots(client, metadata=bearer(await client.token())), "token_calls")


async def test_calls_that_wait_for_their_turn_keep_no_other_address_out(tmp_path: Path) -> None:
    async with (
        client_of(tmp_path / "x.sqlite", limits=Limits(strangers=2), proxies=("127.0.0.1",)) as client,
        asyncio.TaskGroup() as tasks,
        AsyncExitStack() as places,
    ):
        first, other = ((("x-real-ip", f"192.0.2.{number}"),) for number in (1, 2))
        for number in range(ANSWERERS):
            await places.enter_async_context(client.server.store._turns.turn(number))
        refusal = tasks.create_task(refusal_of(list_bots(client, metadata=first)))
        await wait_until(lambda: client.server.store._turns.busy)
        tasks.create_task(retry_until_answered(lambda: list_bots(client, metadata=first)))
        await wait_until(lambda: count_waiting(client) == 2)
        tasks.create_task(retry_until_answered(lambda: list_bots(client, metadata=other)))
        assert (await refusal).info.metadata["limit"] == "strangers"
        # Both addresses have one place now, so neither can take that of the other.
        await check_limit_reached(list_bots(client, metadata=first), "strangers")
        await places.aclose()


def count_waiting(client: Client) -> int:
    """Return the number of calls that wait for their turn."""
    return sum(len(calls) for group in client.server.store._turns._waiting.values() for calls in group.values())


async def test_large_requests_are_refused_before_they_are_read(client: Client) -> None:
    token = bearer(await client.token())
    rename_request = bots_pb2.UpdateBotRequest(name="bots/one", new_name="x" * SMALL_REQUEST)
    refusal = await refusal_of(client.bots.UpdateBot(rename_request, metadata=token))
    assert (refusal.code, refusal.fields()) == (grpc.StatusCode.INVALID_ARGUMENT, ["request"])
    create = create_request("cup", title="x" * LARGE_REQUEST)
    refusal = await refusal_of(client.tournaments.CreateTournament(create, metadata=token))
    assert refusal.fields() == ["request"]


async def test_bytes_of_requests_that_can_be_large_cost_more(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, token_bytes=10_000) as client:
        token = bearer(await client.token())
        await refusal_of(client.bots.ListBots(bots_pb2.ListBotsRequest(page_token="x" * 10_000), metadata=token))
        create = create_request("cup", title="x" * 10_000)
        await check_limit_reached(client.tournaments.CreateTournament(create, metadata=token), "token_bytes")


async def test_calls_that_change_something_are_limited_by_owner(tmp_path: Path) -> None:
    for limits in ({"changes": 1}, {"daily_changes": 2}):
        async with client_with_limits(tmp_path, **limits) as client:
            tokens = cycle([bearer(await client.token()) for _ in range(2)])
            request = bots_pb2.RetireBotRequest(name="bots/nobody")

            def change() -> Awaitable[object]:
                return client.bots.RetireBot(request, metadata=next(tokens))  # noqa: B023  # awaited here

            await call_until_limit(change, *limits)
            await client.tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=next(tokens))
            for _ in range(2 * BURST_SECONDS):
                admin = bearer(await client.token("eve", "admin"))
                assert (await refusal_of(client.bots.RetireBot(request, metadata=admin))).reason == "NOT_FOUND"


async def test_many_anchors_are_refused_before_they_are_read(client: Client) -> None:
    anchors = {f"bots/bot{number}": 1.0 for number in range(MOST_BOTS + 1)}
    refusal = await refusal_of(
        client.leaderboards.GetBatchRatings(leaderboards_pb2.GetBatchRatingsRequest(anchors=anchors))
    )
    assert "at most 2,000" in refusal.status.message


async def test_waiting_batch_ratings_of_one_caller_are_bounded(tmp_path: Path) -> None:
    async with client_with_limits(tmp_path, batch_ratings=1) as client:
        request = leaderboards_pb2.GetBatchRatingsRequest()
        calls = [client.leaderboards.GetBatchRatings(request) for _ in range(20)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        refusals = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert 0 < len(refusals) < len(calls)
        assert all("batch_ratings" in str(refusal.details()) + str(refusal.trailing_metadata()) for refusal in refusals)
