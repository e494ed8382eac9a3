"""A challenge is begun by a bot that is online, and not by one that is still trying to get there."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from noughts_bots import Bot, Position
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import parse_spec
from noughts_proto.v1 import challenges_pb2, tournaments_pb2
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.server_games.challenges import play_challenge_with
from noughts_server.cli.server_games.tournament_end import TournamentEnd
from noughts_server.client.failures import CallFailed
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token
from tests.support.loopback import Link, wait_until


async def test_a_bot_challenges_once_its_lost_connection_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connections = 0
    async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'x.sqlite'}")) as server:
        token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
        link = Link(int(server.address.rpartition(":")[2]))

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            if connections == 1:
                writer.transport.abort()
            else:
                await link.carry(reader, writer)

        async with await asyncio.start_server(carry, "127.0.0.1", 0) as listener:
            address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            request = challenges_pb2.CreateChallengeRequest(challenger="bots/ada", opponent="bots/nobody", games=1)
            with (
                AddressOptions(server=address).connected_with(token.secret) as client,
                pytest.raises(ExceptionGroup) as failed,
            ):
                await play_challenge_with(parse_spec("random"), client, request, OutputOptions())
            link.cut()
    (problem,) = failed.value.exceptions
    assert isinstance(problem, CallFailed)
    # Whoever is offline is refused for that, before anybody looks at the opponent.
    assert "bots/nobody does not exist" in problem.message
    assert "cannot reach a server at" in capsys.readouterr().err


async def test_challenge_is_played_to_its_end_if_the_server_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, resumed = asyncio.Event(), asyncio.Event()
    looks, look = Counter[str](), TournamentEnd.look

    def counted(end: TournamentEnd) -> tournaments_pb2.Tournament | None:
        looks["begun"] += 1
        return look(end)

    monkeypatch.setattr(TournamentEnd, "look", counted)

    class Waiting(Bot):
        async def choose(self, position: Position) -> int:
            begun.set()
            await resumed.wait()
            return position.free[0]

    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'x.sqlite'}")
    request = challenges_pb2.CreateChallengeRequest(challenger="bots/ada", opponent="bots/bob", games=2)
    online = asyncio.Event()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        async with running_server(settings) as server:
            token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
            bob = tasks.create_task(play(Waiting(), Login(server.address, token.secret, "bob"), lambda _: online.set()))
            await online.wait()
            client = stack.enter_context(AddressOptions(server=server.address).connected_with(token.secret))
            challenge = tasks.create_task(play_challenge_with(parse_spec("random"), client, request, OutputOptions()))
            await begun.wait()
        resumed.set()
        # The command looks while no server answers.
        before = looks["begun"]
        await wait_until(lambda: looks["begun"] > before + 1)
        async with running_server(replace(settings, listen=server.address)):
            played = await challenge
            bob.cancel()
    assert (played.state, played.games_done) == (tournaments_pb2.TOURNAMENT_STATE_FINISHED, 2)
