"""Sessions of bots that lose their connection, are refused or are replaced, over real gRPC."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import grpc
import pytest

from noughts_bots import run
from noughts_bots.connection.events import ConnectionLost, Online, SessionEvent
from noughts_bots.connection.session import BotRefused, Login, play
from noughts_bots.sdk.bot import Bot
from tests.bots.connection.sessions import KINDS, expected_moves, moves_of, running_bots
from tests.bots.random_bots import RandomBot, login
from tests.support.games import conditions, unit
from tests.support.loopback import Loopback, link_to, loopback, raw_bot, wait_until


@pytest.fixture
def port() -> Iterator[int]:
    """A port that no other process gets while servers start and stop: a socket that does not listen holds it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bot_reconnects_after_its_server_restarted(kind: type[Bot], port: int) -> None:
    async with loopback(port=port) as server:
        events: list[SessionEvent] = []
        async with asyncio.TaskGroup() as tasks:
            sessions = [tasks.create_task(play(kind(), login(port, key), events.append)) for key in (1, 2)]
            server.referee.add(unit(conditions("mnk:4,4,4"), 400))
            await wait_until(lambda: server.referee.plies > 0)
            await server.stop()
            await wait_until(lambda: len([event for event in events if isinstance(event, ConnectionLost)]) >= 2)
            async with loopback(port=port) as restarted:
                restarted.referee.add(unit(conditions(), 3))
                await restarted.finished_games(3)
                for session in sessions:
                    session.cancel()


async def test_bot_that_was_online_reconnects_without_limit(port: int) -> None:
    async with loopback(port=port) as server:
        events: list[SessionEvent] = []
        async with asyncio.TaskGroup() as tasks:
            session = tasks.create_task(play(RandomBot(), replace(login(port, 1), wait=0.0), events.append))
            await wait_until(lambda: any(isinstance(event, Online) for event in events))
            await server.stop()
            await wait_until(lambda: len([event for event in events if isinstance(event, ConnectionLost)]) >= 2)
            async with loopback(port=port):
                await wait_until(lambda: len([event for event in events if isinstance(event, Online)]) == 2)
                session.cancel()


async def test_bot_moves_to_the_next_address() -> None:
    async with loopback() as first, loopback() as second:
        events: list[SessionEvent] = []
        both = replace(login(first.port, 1), server=f"127.0.0.1:{first.port}, 127.0.0.1:{second.port}")
        async with asyncio.TaskGroup() as tasks:
            sessions = [
                tasks.create_task(play(RandomBot(), both, events.append)),
                tasks.create_task(play(RandomBot(), login(second.port, 2))),
            ]
            await wait_until(lambda: any(isinstance(event, Online) for event in events))
            await first.stop()
            second.referee.add(unit(conditions(), 3))
            await second.finished_games(3)
            for session in sessions:
                session.cancel()


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
async def test_a_cut_connection_changes_no_game(server: Loopback, kind: type[Bot]) -> None:
    shared = conditions("mnk:5,5,5", seed=8)
    slots = unit(shared, 40).slots
    async with link_to(server.port) as link, running_bots(link.port, bot_1=kind(), bot_2=kind()) as events:
        server.referee.add(unit(shared, slots))
        for share in (50, 200, 400):
            await wait_until(lambda share=share: server.referee.plies >= share)  # type: ignore[misc]
            link.cut()
        await wait_until(lambda: len(server.finished) == 40)
        assert len([event for event in events if isinstance(event, ConnectionLost)]) >= 2
    assert {game.ordinal: moves_of(game, shared.variant) for game in server.finished} == {
        slot.ordinal: expected_moves(shared, slot) for slot in slots
    }


async def test_without_reconnect_a_lost_server_is_an_error(server: Loopback) -> None:
    async with link_to(server.port) as link, asyncio.TaskGroup() as tasks:
        session = tasks.create_task(refusal_of_session(RandomBot(), login(link.port, 1, reconnect=False)))
        await wait_until(lambda: server.wire(1).online)
        link.cut()
        assert (await session).code is grpc.StatusCode.UNAVAILABLE


async def refusal_of_session(bot: Bot, session_login: Login) -> BotRefused:
    with pytest.raises(BotRefused) as raised:
        await play(bot, session_login)
    return raised.value


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refused_login_raises_the_message_of_the_server(server: Loopback, kind: type[Bot]) -> None:
    refusal = await refusal_of_session(kind(), Login(server.address, "not-this-one", name="bot-1"))
    assert refusal.code is grpc.StatusCode.UNAUTHENTICATED
    assert str(refusal) == "this token is not known here: ask for a new one"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bot_replaced_by_a_newer_session_stays_away(server: Loopback, kind: type[Bot]) -> None:
    async with asyncio.TaskGroup() as tasks:
        session = tasks.create_task(refusal_of_session(kind(), login(server.port, 1)))
        await wait_until(lambda: server.wire(1).online)
        async with raw_bot(server, 1):
            refusal = await session
        assert refusal.code is grpc.StatusCode.ABORTED
        assert "logged in again elsewhere" in str(refusal)


async def test_nine_of_ten_simultaneous_logins_are_replaced() -> None:
    # A server that measures the network asks at once. Some bots answer when their stream ends, and grpc.aio then
    # replaces the server's status by its own.
    events: list[SessionEvent] = []

    async def session(port: int) -> grpc.StatusCode | None:
        try:
            await play(RandomBot(), login(port, 1), events.append)
        except BotRefused as refusal:
            return refusal.code
        return None

    async with loopback(network_cap_us=100_000) as server:
        for _ in range(40):
            async with asyncio.TaskGroup() as tasks:
                sessions = [tasks.create_task(session(server.port)) for _ in range(10)]
                await wait_until(lambda: sum(task.done() for task in sessions) == 9)  # noqa: B023
                [last_session] = [task for task in sessions if not task.done()]
                last_session.cancel()
            assert {task.result() for task in sessions if task is not last_session} == {grpc.StatusCode.ABORTED}
    assert not any(isinstance(event, ConnectionLost) for event in events)


async def test_a_bot_waits_for_a_server_that_is_not_running(caplog: pytest.LogCaptureFixture, port: int) -> None:
    caplog.set_level(logging.INFO)
    async with running_bots(port, bot_1=RandomBot(), bot_2=RandomBot()) as events:
        await wait_until(lambda: len(events) >= 2)
        assert all("rying again in" in str(event) for event in events)
        async with loopback(port=port) as server:
            server.referee.add(unit(conditions(), 1))
            await server.finished_games(1)


async def test_run_plays_without_an_event_loop(server: Loopback) -> None:
    with pytest.raises(BotRefused, match="this token is not known here"):
        await asyncio.to_thread(partial(run, RandomBot(), server=server.address, token="not-this-one"))
