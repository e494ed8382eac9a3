"""Local tournaments with child players, and checks that no process of these players remains."""

import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_referee.clock import parse_time_control
from noughts_server.competition.formats import GAUNTLET, ROUND_ROBIN
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.local.plan import LocalOutcome, LocalPlan, LocalStop
from noughts_server.local.run import play_locally
from noughts_server.store.engine.database import Store
from noughts_server.store.games.exports import ExportedGame
from noughts_server.store.games.notes import notes_of

PROGRAMS = Path(__file__).parent
PLAYER = PROGRAMS / "player.py"
QUICK = ChildSettings(start=10.0, silence=1.0, stop=0.2, heartbeat=0.2)
_SLUG = "SELECT slug FROM tournaments"


class RecordingLauncher:
    """A launcher that adds the first process of each child that it starts to `sessions`."""

    def __init__(self, launcher: Launcher, sessions: list[int]) -> None:
        self._launcher = launcher
        self._sessions = sessions

    async def start(self, command: ChildCommand, **more: Any) -> Started:
        child = await self._launcher.start(command, **more)
        self._sessions.append(child.pid)
        return child

    async def close(self) -> None:
        """Do nothing: the launcher beneath is closed by its own context."""


@dataclass
class Field:
    """A folder in which child players play tournaments."""

    folder: Path
    sandbox_mode: SandboxMode = SandboxMode.OFF
    games: list[ExportedGame] = field(default_factory=list)
    """The games of the last tournament, in slot order."""
    run_notes: list[str] = field(default_factory=list)
    """The lines that the last tournament printed for people."""
    sessions: list[int] = field(default_factory=list)
    """The first processes of all child players so far."""

    @property
    def notes(self) -> Path:
        """The file in which players write their process IDs."""
        return self.folder / "pids"

    @property
    def database(self) -> str:
        # Next to the folder: sandboxed players can read the folder, but must not reach a database.
        return f"sqlite:///{self.folder.with_suffix('.db')}"

    def player(self, habit: str, label: str = "bad") -> str:
        """The spec of a player with this habit."""
        return f"{label}=exec:{shlex.join([sys.executable, str(PLAYER), str(self.notes), habit])}"

    async def play(
        self,
        *specs: str,
        games: int = 2,
        time: str = "none",
        concurrency: int = 1,
        variant: str = "tictactoe",
        children: ChildSettings = QUICK,
        processes: int = 0,
        keep_times: bool = False,
        log: Path | None = None,
        messages: Path | None = None,
        gauntlet: bool = False,
    ) -> LocalOutcome:
        """Play a round robin of these bots, or a gauntlet: the first one against each of the others."""
        self.games, self.run_notes = [], []

        def export(played: Iterator[ExportedGame]) -> None:
            self.games += [game if keep_times else replace(game, times_us=[]) for game in played]

        plan = LocalPlan(
            specs=tuple(map(parse_spec, specs)),
            settings=TournamentSettings(
                variant=variant,
                time=parse_time_control(time),
                schedule=GAUNTLET if gauntlet else ROUND_ROBIN,
                games_per_pair=games,
                concurrency=concurrency,
                seed=5,
            ),
            database=self.database,
            children=children,
            sandbox_mode=self.sandbox_mode,
            processes=processes,
            log=log,
            messages=messages,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("noughts_server.local.run.launching", self._recording_launcher)
            return await play_locally(
                plan, on_progress=lambda progress: None, stop=LocalStop(), export=export, on_note=self.run_notes.append
            )

    @asynccontextmanager
    async def _recording_launcher(
        self, sandbox_mode: SandboxMode, tell: Callable[[str], None], all_memory_bytes: int, *, at_once: bool
    ) -> AsyncIterator[Launcher]:
        async with launching(sandbox_mode, tell, all_memory_bytes, at_once=at_once) as launcher:
            yield RecordingLauncher(launcher, self.sessions)

    async def notes_of_games(self) -> list[dict[str, str]]:
        """Return the notes of each game of the only tournament, by the label of the side."""
        store = await Store.open(self.database)
        try:
            slug = await store.read(lambda connection: str(connection.exec_driver_sql(_SLUG).scalar()))
            notes_by_game = [
                await store.read(partial(notes_of, slug=slug, ordinal=n)) for n in range(1, len(self.games) + 1)
            ]
        finally:
            await store.close()
        return [
            {(game.first, game.second)[side]: note for side, note in notes.items()}
            for game, notes in zip(self.games, notes_by_game, strict=True)
        ]

    def lives(self) -> list[int]:
        """Return the process IDs of all players so far."""
        return [int(line) for line in self.notes.read_text().split()] if self.notes.exists() else []

    def survivors(self) -> list[int]:
        """Return the IDs of processes in the session of a player, or with this folder's notes in their command."""
        sessions, mark = set(self.sessions), os.fsencode(self.notes)
        survivors = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(ProcessLookupError, FileNotFoundError):
                # A killed process is a zombie until its new parent has waited for it.
                is_zombie = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                is_player = mark in Path("/proc", name, "cmdline").read_bytes()
                if (os.getsid(int(name)) in sessions or is_player) and not is_zombie:
                    survivors.append(int(name))
        return survivors


def terminations(outcome: LocalOutcome) -> dict[str, int]:
    """Count how games ended."""
    return outcome.terminations


def losses(games: list[ExportedGame], label: str) -> int:
    """Return the number of games that the bot with this label has lost."""
    losers = [game.second if game.result == "1-0" else game.first for game in games if game.result != "1/2-1/2"]
    return losers.count(label)
