"""A long game survives kills of its server and its bots: the moves stay, and no clock is charged for a crash."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from noughts_referee.clock import clocks_after, parse_time_control
from noughts_referee.work_units import unpack_times
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.store.people.tokens import create_token
from noughts_server.store.tournaments.tournaments import NewTournament
from tests.support.arena import NOW, make_tournament, open_arena
from tests.support.loopback import wait_until
from tests.support.processes import PROGRAM, environment, run_here

pytestmark = pytest.mark.at_length

LIMIT = parse_time_control("120+1")
KILLS = (
    ("server",),
    ("left",),
    ("server",),
    ("left", "right"),
    ("server", "right"),
    ("server",),
    ("server", "left", "right"),
)
# On this board, two bots that take the lowest free cell play 133 plies until a column is complete.
VARIANT, PLIES = "mnk:12,12,12", 133
SLEEPER = """
import time
from noughts_bots import Bot, run

class Sleeper(Bot):
    def choose(self, position):
        time.sleep(0.01)
        return position.free[0]

run(Sleeper(), name="{name}")
"""


class GameRow(NamedTuple):
    """The game, as a row of the journal or of the table of games."""

    moves: bytes
    times: list[int]
    clocks_us: tuple[int, ...]


def read_row(path: Path, statement: str) -> GameRow | None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        row = connection.execute(statement).fetchone()
    return None if row is None else GameRow(row[0], unpack_times(row[1]), row[2:])


def journal_row(path: Path) -> GameRow | None:
    return read_row(path, "SELECT moves, times, first_clock_us, second_clock_us FROM journal")


class KillableLeague:
    """A server and two bots, which are killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "noughts.db"
        self.server_seconds = 0.0
        """The time for which a server has run, without that of the current one."""
        self.env = environment()
        self._folder = folder
        self._began = 0.0
        self._address = "127.0.0.1:0"
        self._processes: dict[str, subprocess.Popen[str]] = {}

    async def begin(self) -> None:
        """Create the database, with a tournament of one game that resumes when a server starts."""
        new = NewTournament("long", TournamentSettings(VARIANT, LIMIT, games_per_pair=1))
        async with open_arena(self.path) as arena:
            await arena.store.write(partial(make_tournament, new=new, bots=("left", "right"), start=True))
            token = await arena.store.write(partial(create_token, owner="alice", now_ms=NOW))
        self.env["NOUGHTS_TOKEN"] = token.secret

    def serve(self) -> None:
        self._began = time.monotonic()
        serve = [
            *PROGRAM,
            "serve",
            "--no-web",
            "--grace",
            "120",
            "--listen",
            self._address,
            "--db",
            str(self.path),
            "--format",
            "json",
        ]
        server = self._start("server", serve)
        assert server.stdout is not None
        self._address = json.loads(server.stdout.readline())["grpc"]
        self.env["NOUGHTS_SERVER"] = self._address

    def play(self, *names: str) -> None:
        for name in names:
            bot = self._folder / f"{name}.py"
            bot.write_text(SLEEPER.format(name=name))
            self._start(name, [sys.executable, str(bot)])

    def kill(self, *names: str) -> None:
        for name in names:
            process = self._processes.pop(name)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if name == "server":
                self.server_seconds += time.monotonic() - self._began

    def kill_all(self) -> None:
        self.kill(*self._processes)

    async def wait_for_plies(self, plies: int) -> None:
        """Wait until this number of plies is committed."""
        await wait_until(lambda: len((journal_row(self.path) or GameRow(b"", [], ())).moves) >= plies)

    def _start(self, name: str, command: list[str]) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self._processes[name] = process
        return process


@contextmanager
def killable_league(folder: Path) -> Iterator[KillableLeague]:
    league = KillableLeague(folder)
    try:
        yield league
    finally:
        league.kill_all()


@pytest.mark.timeout(300)
async def test_game_keeps_moves_and_clocks_after_kills_of_all_processes(tmp_path: Path) -> None:
    rows_at_kills: list[GameRow] = []
    with killable_league(tmp_path) as league:
        await league.begin()
        league.serve()
        league.play("left", "right")
        for number, victims in enumerate(KILLS, start=1):
            await league.wait_for_plies(15 * number)
            league.kill(*victims)
            row = journal_row(league.path)
            assert row is not None
            rows_at_kills.append(row)
            if "server" in victims:
                league.serve()
            if len(victims) == 3:
                document = json.loads(run_here(["game", "show", "long/1", "--format", "json"], league.env).stdout)
                assert (bytes(document["moves"]), document["termination"]) == (row.moves, "going_on")
            league.play(*(name for name in victims if name != "server"))
        await wait_until(lambda: read_row(league.path, "SELECT moves, times FROM games") is not None)
        league.kill("server")
    game = read_row(league.path, "SELECT moves, times FROM games")
    assert game is not None
    assert game.moves == bytes(range(PLIES))
    assert journal_row(league.path) is None
    for row in rows_at_kills:
        assert 10 < len(row.moves) < PLIES, "the kill came before or after the game"
        assert game.moves[: len(row.moves)] == row.moves
        assert game.times[: len(row.times)] == row.times
        assert row.clocks_us == clocks_after((LIMIT, LIMIT), row.times)
    # One bot thinks at a time. All charged times fit into the time with a server, so crashes were not charged.
    assert sum(game.times) / 1e6 < league.server_seconds
