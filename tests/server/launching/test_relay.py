"""`noughts bot run exec:...`: a program on its author's machine plays on a server elsewhere."""

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
from noughts_server.launching.launcher import SandboxMode
from noughts_server.launching.relay import RelayEvent, RelayPlan, relay
from tests.support.children.field import PLAYER
from tests.support.league_server import LeagueServer, league_server_at
from tests.support.loopback import link_to, wait_until


@pytest.fixture
async def league_server(tmp_path: Path) -> AsyncIterator[LeagueServer]:
    async with league_server_at(tmp_path) as opened:
        yield opened


@asynccontextmanager
async def relayed(
    league_server: LeagueServer,
    pids: Path,
    habit: str,
    processes: int = 1,
    address: str = "",
    wait: float = math.inf,
    lines: str = "",
) -> AsyncIterator[list[RelayEvent]]:
    """Run the player with this habit, or the line bot `lines`, as the bot `mine`; the block gets its events.

    The player appends the id of each of its processes to the file `pids`.
    """
    events: list[RelayEvent] = []
    spec = BotSpec(None, "exec", shlex.join([sys.executable, str(PLAYER), str(pids), habit]))
    if lines:
        spec = BotSpec(None, "lines", lines)
    # Without a sandbox, because the player must write the file `pids`.
    plan = RelayPlan(spec, sandbox_mode=SandboxMode.OFF, processes=processes)
    login = Login(address or league_server.address, league_server.token, name="mine", version="1", wait=wait)
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(relay(plan, login, events.append, lambda line: None))
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
async def test_program_plays_all_games_even_if_it_crashes_once(
    league_server: LeagueServer, tmp_path: Path, habit: str
) -> None:
    pids = tmp_path / "pids"
    async with relayed(league_server, pids, habit) as events, league_server.opponent("first-free"):
        await league_server.start("cup", "mine", "first-free", games_per_pair=6, concurrency=2, seed=5)
        games = await league_server.games("cup")
    # A bot that reconnects in time gets its running games again.
    assert [Termination(game.termination) for game in games] == [Termination.LINE] * 6
    process_count = 2 if habit == "crash once" else 1
    assert len(pids.read_text().split()) == process_count
    assert events.count(Online("bots/mine/versions/1")) == process_count
    assert ("the player: it ended with exit code 3" in map(str, events)) == (process_count == 2)


async def test_several_processes_share_the_games_behind_one_stream(league_server: LeagueServer, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with relayed(league_server, pids, "honest", processes=3) as events, league_server.opponent("first-free"):
        for variant, number in (("tictactoe", 12), ("mnk:5,5,4", 4)):
            name = f"cup-{number}"
            await league_server.start(
                name, "mine", "first-free", games_per_pair=number, concurrency=8, seed=5, variant=variant
            )
            games = await league_server.games(name)
            assert [Termination(game.termination) for game in games] == [Termination.LINE] * number
    assert len(pids.read_text().split()) == 3
    assert events.count(Online("bots/mine/versions/1")) == 1


async def test_all_processes_restart_after_one_of_several_was_killed(
    league_server: LeagueServer, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    async with relayed(league_server, pids, "honest", processes=2) as events:
        first, _ = map(int, pids.read_text().split())
        os.kill(first, signal.SIGKILL)
        await wait_until(lambda: len(pids.read_text().split()) == 4)
        await league_server.until_online("mine")
        async with league_server.opponent("first-free"):
            await league_server.start("cup", "mine", "first-free", games_per_pair=6, concurrency=4, seed=5)
            games = await league_server.games("cup")
    assert [Termination(game.termination) for game in games] == [Termination.LINE] * 6
    assert "the player: it was ended by signal 9 (SIGKILL)" in map(str, events)


async def test_program_that_was_online_reconnects_without_limit(league_server: LeagueServer, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with (
        link_to(int(league_server.address.rpartition(":")[2])) as link,
        relayed(league_server, pids, "honest", address=f"127.0.0.1:{link.port}", wait=0.0) as events,
    ):
        link.refuse()
        os.kill(int(pids.read_text()), signal.SIGKILL)
        await wait_until(lambda: len([event for event in events if isinstance(event, ConnectionLost)]) >= 2)
        link.restore()
        await wait_until(lambda: events.count(Online("bots/mine/versions/1")) == 2)
