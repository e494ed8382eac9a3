"""A program on its author's machine on a server elsewhere: `noughts bot run exec:...`."""

import asyncio
import math
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noughts_bots.connection.events import ConnectionLost, Online
from noughts_bots.connection.session import Login
from noughts_bots.reference.specs import BotSpec
from noughts_referee.rules import Termination
from noughts_server.launching.launcher import Locking
from noughts_server.launching.relay import RelayEvent, RelayPlan, relay
from tests.support.children.field import PLAYER
from tests.support.league_server import LeagueServer, league_server_at
from tests.support.loopback import Link, wait_until


@pytest.fixture
async def league_server(tmp_path: Path) -> AsyncIterator[LeagueServer]:
    async with league_server_at(tmp_path) as opened:
        yield opened


@asynccontextmanager
async def relayed(
    league_server: LeagueServer,
    notes: Path,
    habit: str,
    processes: int = 1,
    address: str = "",
    wait: float = math.inf,
    lines: str = "",
) -> AsyncIterator[list[RelayEvent]]:
    """The player with this habit as the bot `mine`, and the events about it."""
    events: list[RelayEvent] = []
    spec = BotSpec(None, "exec", shlex.join([sys.executable, str(PLAYER), str(notes), habit]))
    if lines:
        spec = BotSpec(None, "lines", lines)
    # The player counts its lives in a file, which the lock would not let it write.
    plan = RelayPlan(spec, locking=Locking.OFF, processes=processes)
    login = Login(address or league_server.address, league_server.token, name="mine", version="1", wait=wait)
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(relay(plan, login, events.append, lambda said: None))
        await league_server.until_online("mine")
        yield events
        playing.cancel()


async def test_program_that_fails_with_exit_code_1_is_started_again(
    league_server: LeagueServer, tmp_path: Path
) -> None:
    file, failed = tmp_path / "fails_once.py", tmp_path / "failed"
    file.write_text(
        "import pathlib, sys\n"
        "for line in sys.stdin:\n"
        f"    if len(line.split()) > 4 and not pathlib.Path({str(failed)!r}).exists():\n"
        f"        pathlib.Path({str(failed)!r}).touch()\n"
        "        sys.exit(1)\n"
        "    print(next(cell for cell in range(9) if str(cell) not in line.split()[2:]), flush=True)\n"
    )
    command = shlex.join([sys.executable, str(file)])
    async with relayed(league_server, tmp_path, "", lines=command) as events, league_server.opponent("first-free"):
        await league_server.start("cup", "mine", "first-free", games_per_pair=2, concurrency=1, seed=5)
        games = await league_server.games("cup")
    assert [Termination(game.termination) for game in games] == [Termination.LINE] * 2
    assert "the player: it ended with exit code 1" in map(str, events)


@pytest.mark.parametrize("habit", ["honest", "crash once"])
async def test_a_program_plays_all_games_also_when_it_has_to_be_started_again(
    league_server: LeagueServer, tmp_path: Path, habit: str
) -> None:
    notes = tmp_path / "pids"
    async with relayed(league_server, notes, habit) as events, league_server.opponent("first-free"):
        await league_server.start("cup", "mine", "first-free", games_per_pair=6, concurrency=2, seed=5)
        games = await league_server.games("cup")
    # Whoever dies at its author's has the grace to come back: its running games are sent to it again.
    assert [Termination(game.termination) for game in games] == [Termination.LINE] * 6
    lives = 2 if habit == "crash once" else 1
    assert len(notes.read_text().split()) == lives
    assert events.count(Online("bots/mine/versions/1")) == lives
    assert ("the player: it ended with exit code 3" in map(str, events)) == (lives == 2)


async def test_several_processes_share_the_games_behind_one_stream(league_server: LeagueServer, tmp_path: Path) -> None:
    notes = tmp_path / "pids"
    async with relayed(league_server, notes, "honest", processes=3) as events, league_server.opponent("first-free"):
        for variant, number in (("tictactoe", 12), ("mnk:5,5,4", 4)):
            name = f"cup-{number}"
            await league_server.start(
                name, "mine", "first-free", games_per_pair=number, concurrency=8, seed=5, variant=variant
            )
            games = await league_server.games(name)
            assert [Termination(game.termination) for game in games] == [Termination.LINE] * number
    assert len(notes.read_text().split()) == 3
    assert events.count(Online("bots/mine/versions/1")) == 1


async def test_when_one_of_several_processes_ends_all_begin_anew(league_server: LeagueServer, tmp_path: Path) -> None:
    notes = tmp_path / "pids"
    async with relayed(league_server, notes, "honest", processes=2) as events:
        first, _ = map(int, notes.read_text().split())
        os.kill(first, signal.SIGKILL)
        await wait_until(lambda: len(notes.read_text().split()) == 4)
        await league_server.until_online("mine")
        async with league_server.opponent("first-free"):
            await league_server.start("cup", "mine", "first-free", games_per_pair=6, concurrency=4, seed=5)
            games = await league_server.games("cup")
    assert [Termination(game.termination) for game in games] == [Termination.LINE] * 6
    assert "the player: it was ended by signal 9 (SIGKILL)" in map(str, events)


async def test_program_that_was_online_reconnects_without_limit(league_server: LeagueServer, tmp_path: Path) -> None:
    link = Link(int(league_server.address.rpartition(":")[2]))
    notes = tmp_path / "pids"
    listener = await asyncio.start_server(link.carry, "127.0.0.1", 0)
    address = "{}:{}".format(*listener.sockets[0].getsockname())
    async with relayed(league_server, notes, "honest", address=address, wait=0.0) as events:
        listener.close()
        os.kill(int(notes.read_text()), signal.SIGKILL)
        await wait_until(lambda: len([event for event in events if isinstance(event, ConnectionLost)]) >= 2)
        async with await asyncio.start_server(link.carry, "127.0.0.1", int(address.rpartition(":")[2])):
            await wait_until(lambda: events.count(Online("bots/mine/versions/1")) == 2)
            link.cut()
