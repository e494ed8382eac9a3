"""Sessions of one bot: the newest one replaces the others; their ends and the presence of the bot."""

import asyncio

import grpc

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.stream_closed import StreamClosed
from tests.support.games import Question, conditions, unit
from tests.support.loopback import Loopback, RawBot, ScriptedContext, raw_bot, serve_scripted, turns, wait_until


async def test_a_newer_session_closes_the_older_and_takes_over_its_games(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    async with raw_bot(server, 1) as older:
        await older.next_questions()
        async with raw_bot(server, 1) as newer:
            assert await newer.next_questions() == [Question(1, 0, 0)]
            assert await older.refusal() == (grpc.StatusCode.ABORTED, "SESSION_REPLACED")
            assert server.wire(1).online
            await newer.send((1, 0, 4))
            assert await second.next_questions() == [Question(1, 1, 4)]


async def test_of_eight_simultaneous_sessions_one_remains(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))

    async def session() -> tuple[grpc.StatusCode, str]:
        async with raw_bot(server, 1) as bot:
            return await bot.refusal()

    async with asyncio.TaskGroup() as tasks:
        sessions = [tasks.create_task(session()) for _ in range(8)]
        await wait_until(lambda: sum(session.done() for session in sessions) == 7)
        async with raw_bot(server, 1) as last:
            assert await last.next_questions() == [Question(1, 0, 0)]
            await wait_until(lambda: all(session.done() for session in sessions))
            await last.send((1, 0, 4))
            assert await second.next_questions() == [Question(1, 1, 4)]
    assert {session.result() for session in sessions} == {(grpc.StatusCode.ABORTED, "SESSION_REPLACED")}


async def test_a_session_replaced_before_its_welcome_is_closed(server: Loopback) -> None:
    wire = server.wire(1)
    contexts = [ScriptedContext() for _ in range(3)]
    for context in contexts[1:]:
        context.flowing.clear()
    async with asyncio.TaskGroup() as tasks:
        sessions = [tasks.create_task(serve_scripted(wire, context)) for context in contexts]
        await wait_until(lambda: contexts[0].written)
        # The two newer ones wait for their welcomes to be written; they come through in this order.
        for context in contexts[1:]:
            context.flowing.set()
            await wait_until(lambda context=context: context.written)  # type: ignore[misc]
        await wait_until(lambda: sessions[0].done() and sessions[1].done())
        assert [session.result() for session in sessions[:2]] == ["SESSION_REPLACED"] * 2
        assert not sessions[2].done()
        contexts[2].leave()
    assert sessions[2].result() is None
    assert not wire.online


async def test_answers_of_a_replaced_session_do_not_count(server: Loopback, second: RawBot) -> None:
    wire = server.wire(1)
    older, newer = ScriptedContext(), ScriptedContext()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve_scripted(wire, older))
        await wait_until(lambda: older.written)
        server.referee.add(unit(conditions(), 1))
        await wait_until(lambda: len(older.written) == 2)
        # The answer lies in the older stream when the newer one takes over.
        newer.flowing.clear()
        session = tasks.create_task(serve_scripted(wire, newer))
        await asyncio.sleep(0)
        newer.flowing.set()
        older.send(pb.PlayRequest(done_through=1, moves=pb.Moves(game=[1], ply=[0], cell=[4])))
        await wait_until(lambda: len(newer.written) == 2)
        frame = newer.written[1]
        (starts,) = frame.starts
        # In either order, the messages to the newer session must be consistent.
        assert turns(frame) == ([Question(1, 0, 0)] if not starts.moves else [])
        newer.leave()
    assert session.result() is None


async def test_an_older_session_that_does_not_read_is_closed_too(server: Loopback, second: RawBot) -> None:
    wire = server.wire(1)
    older = ScriptedContext()
    async with asyncio.TaskGroup() as tasks:
        session = tasks.create_task(serve_scripted(wire, older))
        await wait_until(lambda: older.written)
        older.flowing.clear()
        server.referee.add(unit(conditions(), 1))
        await wait_until(lambda: not server.referee.player(1).outbox)  # the frame is being written, for ever
        async with raw_bot(server, 1) as newer:
            assert await newer.next_questions() == [Question(1, 0, 0)]
            await wait_until(session.done)
    assert session.result() == "SESSION_REPLACED"
    assert len(older.written) == 1


async def test_presence_is_reported_when_a_bot_connects_and_leaves(server: Loopback) -> None:
    wire = server.wire(1)
    presences: list[bool] = []
    wire.on_presence = lambda: presences.append(wire.online)
    async with raw_bot(server, 1):
        # The welcome may be here before the bot counts as present.
        await wait_until(lambda: presences == [True])
        async with raw_bot(server, 1) as newer:
            await wait_until(lambda: presences == [True, True])
            await newer.call.done_writing()
            await wait_until(lambda: not wire.online)
    assert presences == [True, True, False]


async def test_a_stream_closed_by_the_server_ends_with_its_reason(server: Loopback) -> None:
    async with raw_bot(server, 1) as bot:
        stopping = StreamClosed(grpc.StatusCode.UNAVAILABLE, "DRAINING", "the server is shutting down")
        server.wire(1).close(stopping)
        server.wire(1).close(StreamClosed(grpc.StatusCode.ABORTED, "OTHER", "a second reason changes nothing"))
        assert await bot.refusal() == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert bot.call.done()
        assert await bot.call.details() == "the server is shutting down"
    server.wire(1).close(stopping)  # without a stream, this has no effect
    async with raw_bot(server, 1):
        assert server.wire(1).online
