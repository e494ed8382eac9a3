"""Limits of the tables at which visitors play, for each address."""

import asyncio

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import types_pb2
from noughts_server.testing import ServerUnderTest
from noughts_server.web.play_tables import PlayTable, PlayTables, TableSettings, Wish
from noughts_server.web.upstream import Failure, Upstream
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.processes


async def test_visitor_who_asks_for_many_tables_at_once_gets_one(server: ServerUnderTest) -> None:
    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    settings = TableSettings(most=4, address_most=2, kept=0.0, pause=0.0)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        rooms = PlayTables(upstream, tasks, server.token("crowd"), settings)
        for number in range(4):
            await rooms.open(wish, f"192.0.2.{number}")
        answers = await asyncio.gather(*(rooms.open(wish, "192.0.2.9") for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(answer, PlayTable) for answer in answers) == 1
        await rooms.close()
        await upstream.close()


async def test_addresses_with_many_games_leave_others_their_first_one(server: ServerUnderTest) -> None:
    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    settings = TableSettings(address_most=4, games_a_minute=2, pause=0.0)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        rooms = PlayTables(upstream, tasks, server.token("rush"), settings)
        for address in ("192.0.2.1", "192.0.2.1"):
            await rooms.open(wish, address)
        with pytest.raises(Failure, match="2 games have been started"):
            await rooms.open(wish, "192.0.2.1")
        for address in ("192.0.2.2", "192.0.2.3"):
            await rooms.open(wish, address)
        with pytest.raises(Failure, match="4 games have been started"):
            await rooms.open(wish, "192.0.2.4")
        await rooms.close()
        await upstream.close()
