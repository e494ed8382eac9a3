"""Options of commands that play on this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.database import GamesDatabaseOption
from noughts_server.cli.options.game import DryRunOption, EveryOption, GamesFileOption
from noughts_server.cli.options.sandbox import (
    START_SECONDS,
    AffinityOption,
    MemoryOption,
    ProcessesOption,
    SandboxOptions,
    StartTimeoutOption,
)
from noughts_server.cli.options.time import LocalMarginOption
from noughts_server.cli.options.tournament import BasicGameOptions, GameOptions

_FIX_AT_SERVER = {
    "-o": "Leave it out: the server keeps the games, and `noughts game list NAME` and the tournament's page show them.",
    "--db": "Leave it out: the server keeps the games in its own database.",
    "--margin-of": "Use --margin, the time margin of all bots.",
    "--times": "Leave it out: the server keeps the times of all moves.",
    "--dry-run": "Use `noughts tournament create NAME --dry-run`.",
}
"""Advice on options that cannot be used if some bots are on a server; without an entry, a general sentence."""


@dataclass(frozen=True)
class ProcessOptions(SandboxOptions):
    """Options for the processes of the bots on this machine."""

    margin: LocalMarginOption = ""
    start_timeout: StartTimeoutOption = START_SECONDS
    processes: ProcessesOption = 0
    affinity: AffinityOption = None
    memory: MemoryOption = ""
    memory_total: Annotated[
        str,
        Option(
            "--memory-total",
            metavar="SIZE",
            help="Memory limit of all sandboxed processes. Default: 75 % of system memory",
            rich_help_panel="Players",
        ),
    ] = ""


@dataclass(frozen=True)
class LocalGameOptions(ProcessOptions, BasicGameOptions):
    """The options of every command that plays games of two or more bots on this machine."""


@dataclass(frozen=True)
class MachineOptions(ProcessOptions):
    """Options for games on this machine, which a tournament on a server cannot have."""

    margin_of: Annotated[
        list[str] | None,
        Option(
            "--margin-of",
            metavar="LABEL=DURATION",
            help="Time margin of one bot, e.g. `Slow=200ms` (repeatable)",
            rich_help_panel="Time control",
        ),
    ] = None
    log: Annotated[
        Path | None,
        Option(
            "--log",
            metavar="DIR",
            help="Folder for the dialogue with Gomocup engines, one file per game",
            rich_help_panel="Output",
        ),
    ] = None
    messages: Annotated[
        Path | None,
        Option(
            "--messages",
            metavar="FILE",
            help="File for comments from Gomocup engines, one JSON object per line",
            rich_help_panel="Output",
        ),
    ] = None
    database: GamesDatabaseOption = None
    resume: Annotated[
        bool,
        Option("--resume", help="Resume the newest run in --db; you can add games or bots", rich_help_panel="Output"),
    ] = False
    games_file: GamesFileOption = None
    times: Annotated[
        bool, Option("--times", help="With -o: add the thinking time of each move", rich_help_panel="Output")
    ] = False
    every: EveryOption = None
    fatal: Annotated[
        bool,
        Option(
            "--fatal",
            help="Stop with exit code 1 when a bot first loses through its own fault",
            rich_help_panel="Players",
        ),
    ] = False
    dry_run: DryRunOption = False

    def refuse_at_server(self) -> None:
        """Raise UsageProblem if one of these options was given."""
        given_options = {
            "--require-lock": self.require_lock,
            "--no-lock": self.no_lock,
            "--margin-of": self.margin_of,
            "--start-timeout": self.start_timeout != START_SECONDS,
            "--processes": self.processes,
            "--affinity": self.affinity is not None,
            "--memory": self.memory,
            "--memory-total": self.memory_total,
            "--log": self.log,
            "--messages": self.messages,
            "--db": self.database,
            "--resume": self.resume,
            "-o": self.games_file,
            "--times": self.times,
            "--every": self.every,
            "--fatal": self.fatal,
            "--dry-run": self.dry_run,
        }
        for option, is_given in given_options.items():
            if is_given:
                raise UsageProblem(
                    f"{option}: got a bot on a server as well, expected only bots on this machine",
                    _FIX_AT_SERVER.get(option, f"Leave {option} out, or play without bots of a server."),
                )


@dataclass(frozen=True)
class LocalOptions(MachineOptions, GameOptions, LocalGameOptions):
    """The options that `match` and `tournament run` share."""
