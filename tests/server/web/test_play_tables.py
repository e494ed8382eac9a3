"""Limits of the tables at which visitors play, for each address."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from noughts_bots import Bot, Position
from noughts_proto.security import Dialling
from noughts_proto.v1 import types_pb2
from noughts_server.testing import ServerUnderTest
from noughts_server.web import play_tables
from noughts_server.web.play_tables import PlayTable, PlayTables, TableSettings, Wish
from noughts_server.web.upstream import Failure, Upstream
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.processes


@asynccontextmanager
async def rooms_of(server: ServerUnderTest, owner: str, settings: TableSettings) -> AsyncIterator[PlayTables]:
    """The tables of a website that uses the token of this owner."""
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        rooms = PlayTables(upstream, tasks, server.token(owner), settings)
        yield rooms
        await rooms.close()
        await upstream.close()


async def test_visitor_who_asks_for_many_tables_at_once_gets_one(server: ServerUnderTest) -> None:
    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    settings = TableSettings(most=4, address_most=2, kept=0.0, pause=0.0)
    async with rooms_of(server, "crowd", settings) as rooms:
        for number in range(4):
            await rooms.open(wish, f"192.0.2.{number}")
        answers = await asyncio.gather(*(rooms.open(wish, "192.0.2.9") for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(answer, PlayTable) for answer in answers) == 1


async def test_addresses_with_many_games_leave_others_their_first_one(server: ServerUnderTest) -> None:
    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    settings = TableSettings(address_most=4, games_a_minute=2, pause=0.0)
    async with rooms_of(server, "rush", settings) as rooms:
        for address in ("192.0.2.1", "192.0.2.1"):
            await rooms.open(wish, address)
        with pytest.raises(Failure, match="2 games have been started"):
            await rooms.open(wish, "192.0.2.1")
        for address in ("192.0.2.2", "192.0.2.3"):
            await rooms.open(wish, address)
        with pytest.raises(Failure, match="4 games have been started"):
            await rooms.open(wish, "192.0.2.4")


async def test_new_visitor_gets_the_table_that_was_idle_the_longest(server: ServerUnderTest) -> None:
    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    settings = TableSettings(most=2, address_most=1, kept=600.0, pause=0.0)
    async with rooms_of(server, "full", settings) as rooms:
        first, second = [await rooms.open(wish, f"192.0.2.{number}") for number in (1, 2)]
        for table in (first, second):
            table.guests[0].last_move_time -= 700
        await first.guest(0).move(4, 0)
        rooms.find(second.keys[0])  # a visit is not a move
        third = await rooms.open(wish, "192.0.2.3")
        assert rooms.find(first.keys[0]) is first
        with pytest.raises(Failure, match="no such table"):
            rooms.find(second.keys[0])
        assert rooms.find(third.keys[0]) is third
        with pytest.raises(Failure, match="All 2 tables are taken"):
            await rooms.open(wish, "192.0.2.4")


async def test_a_hint_belongs_to_the_game_in_which_it_was_asked(
    server: ServerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking, answer = threading.Event(), threading.Event()

    class Slow(Bot):
        def choose(self, position: Position) -> int:
            thinking.set()
            assert answer.wait(PATIENCE)
            return position.free[-1]

    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        rooms = PlayTables(upstream, tasks, server.token("hints"), TableSettings(pause=0.0))
        table = await rooms.open(wish)
        with monkeypatch.context() as patch:
            patch.setattr(play_tables, "make_bot", lambda _: Slow())
            hint = tasks.create_task(rooms.hint(table, 0))
            await wait_until(thinking.is_set)
        first_game = table.game
        await rooms.again(table, first_game, swap=False)
        answer.set()
        await hint
        assert list(table.hints) == [(first_game, 0)]
        await rooms.close()
        await upstream.close()


async def test_a_table_that_was_closed_is_not_removed_again(
    server: ServerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish = Wish("house:random", "tictactoe", "you", "begins", types_pb2.TimeControl())
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        rooms = PlayTables(upstream, tasks, server.token("sweep"), TableSettings(idle=20.0, pause=0.0))
        opened = [await rooms.open(wish, browser=browser) for browser in ("one", "two", "three")]
        is_removing, may_end = asyncio.Event(), asyncio.Event()
        call_off = rooms._call_off

        async def call_off_later(table: PlayTable) -> None:
            if table is opened[0]:
                is_removing.set()
                await may_end.wait()
            await call_off(table)

        monkeypatch.setattr(rooms, "_call_off", call_off_later)
        for table in opened:
            table.seen = time.monotonic() - 30
        await is_removing.wait()
        await rooms.shut(opened[1])
        tables = [await rooms.open(wish)]
        may_end.set()
        await wait_until(lambda: not rooms.tables_of("three"))
        tables += [await rooms.open(wish) for _ in range(2)]
        assert len({table.number for table in tables}) == 3
        await rooms.close()
        await upstream.close()
