"""`noughts bot run`: connect one or more bots to a server, by command-line options or a file."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.connection.events import ConnectionLost, Online, is_news
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import BotSpec, make_built_in, parse_spec, unique_labels
from noughts_bots.sdk.errors import VariantRefused
from noughts_proto.v1 import types_pb2
from noughts_referee.children.running_child import ChildSettings
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.bot.bot_options import BotOptions, with_keys
from noughts_server.cli.commands.bot.player_output import PlayerOutput
from noughts_server.cli.config_file import read_toml
from noughts_server.cli.connection import require_token
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.explanations import explain, show
from noughts_server.cli.options.game import read_specs, read_variant
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import SandboxOptions, read_memory
from noughts_server.cli.options.startable import DIAL_YOURSELF, check_startable, require_frames_on_pipes
from noughts_server.cli.processes.signals import run_loop, until_terminated
from noughts_server.competition.seeks import SeekError, parse_seek
from noughts_server.convert.seeks import seek_message
from noughts_server.launching.launcher import SandboxMode
from noughts_server.launching.relay import RelayEvent, RelayPlan, relay

_Player = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class _PlannedBot:
    """A bot that will be connected."""

    name: str
    spec: BotSpec
    options: BotOptions
    token_source: str = "--token"
    """Where its token comes from, for errors."""


@command(
    example="""
$ noughts bot run nextstep:depth=3 --name patient --token-file token.txt
online as bots/patient/versions/1
"""
)
def run(
    specs: Annotated[
        list[str] | None,
        Argument(
            metavar="[NAME=]SPEC...",
            autocompletion=completion.specs,
            help="Bots, e.g. `random`, `Old=minimax`, 'exec:python bot.py'",
        ),
    ] = None,
    name: Annotated[
        str, Option("--name", metavar="NAME", help="Name of a single bot. Default: the name in its spec")
    ] = "",
    config: Annotated[
        Path | None, Option("--config", metavar="FILE", help="TOML file with bots and their options")
    ] = None,
    *,
    options: BotOptions,
    sandbox: SandboxOptions,
    output: OutputOptions,
) -> None:
    """Play as one or more bots on a server, until Ctrl-C; reconnects if the connection is lost.

    A bot that cannot make its first connection stops after --connect-timeout with exit code 1. A bot that has been
    online keeps trying to reconnect.

    A program or a plugin runs on this machine, with a new process for each connection.

    The --config file has a table [bots.NAME] for each bot, with `spec` and options as keys (`concurrency = 8`). Keys
    at the top of the file apply to all its bots. Keys in the file override command-line options.
    """
    if bool(specs) == bool(config):
        raise UsageProblem(f"got {'both' if specs else 'neither'}, expected either SPEC or --config FILE")
    bots = _bots_of_file(config, options) if config else _bots_of_arguments(specs or [], name, options)
    sandbox_mode = sandbox.sandbox_mode
    players = {
        bot.name: _player(bot, sandbox_mode, _event_printer(output, bot.name, alone=len(bots) == 1)) for bot in bots
    }
    configure_logs(LogLevel.WARNING)
    run_loop(until_terminated(_play_all(players)))


def _bots_of_arguments(specs: list[str], name: str, options: BotOptions) -> list[_PlannedBot]:
    if name and len(specs) != 1:
        raise UsageProblem(f"--name {name!r}: got {len(specs)} bots, expected one", "Name each bot: NAME=SPEC")
    parsed = read_specs(specs)
    return [
        _PlannedBot(name or label, spec, options) for label, spec in zip(unique_labels(parsed), parsed, strict=True)
    ]


def _bots_of_file(file: Path, options: BotOptions) -> list[_PlannedBot]:
    common = read_toml(file)
    tables = common.pop("bots", {})
    shared = with_keys(options, common, str(file))
    bots = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        place = f"{file}, [bots.{name}]"
        if not isinstance(table, dict) or not isinstance(spec := table.pop("spec", None), str):
            raise UsageProblem(
                f'{place}: got no spec, expected spec = "SPEC"', "Choose one from `noughts bot list --reference`."
            )
        bot_options = with_keys(shared, table, place)
        token_source = "--token" if bot_options.token is options.token else place
        bots.append(_PlannedBot(name, parse_spec(spec), bot_options, token_source))
    if not bots:
        raise UsageProblem(f'--config {file}: got no bot, expected a table [bots.NAME] with spec = "SPEC"')
    return bots


def _player(bot: _PlannedBot, sandbox_mode: SandboxMode, report_event: Callable[[RelayEvent], None]) -> _Player:
    """Return the function that plays as the bot. Raises an error if its spec, server or token is wrong."""
    spec, options = bot.spec, bot.options
    is_child = check_startable(spec, sandbox_mode)
    require_frames_on_pipes(spec, DIAL_YOURSELF)
    if not is_child:
        # Report wrong options now. A bot that does not play this variant may play others.
        with suppress(VariantRefused):
            make_built_in(spec, read_variant("tictactoe"))
    address = options.address
    secret = require_token(options.token, options.token_file, bot.token_source)
    login = Login(
        address,
        secret,
        bot.name,
        options.version,
        options.dialling(secret),
        wait=options.wait,
        seek=_seek(options.seek),
    )
    if is_child:
        plan = RelayPlan(
            spec=spec,
            max_games=options.max_games,
            challenges=options.challenges,
            times=ChildSettings(start=options.start_timeout),
            sandbox_mode=sandbox_mode,
            processes=options.processes or 1,
            memory_bytes=read_memory(options.memory),
        )

        async def play_child() -> None:
            output = PlayerOutput(report_event)
            with output.flushed_at_end():
                await relay(plan, login, output.report, output.receive)

        return play_child
    player = make_built_in(spec)
    player.max_games = options.max_games or player.max_games
    player.accepts_challenges = options.challenges
    player.prepare()

    async def play_here() -> None:
        try:
            await play(player, login, report_event)
        finally:
            player.close()

    return play_here


def _seek(text: str) -> types_pb2.Seek | None:
    try:
        return seek_message(parse_seek(text)) if text else None
    except SeekError as error:
        raise UsageProblem(f"--seek {error.got!r}: expected {error.expected}") from error


async def _play_all(players: dict[str, _Player]) -> None:
    """Play until all bots have ended. If one of several fails, the others continue."""
    failed_bots = []

    async def play(name: str, player: _Player) -> None:
        try:
            await player()
        except Exception as error:
            problem = explain(error)
            if problem is None or len(players) == 1:
                raise
            show(Problem(f"{name}: {problem.message}", problem.hint))
            failed_bots.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name, player in players.items():
            tasks.create_task(play(name, player))
    if failed_bots:
        raise Problem(f"{len(failed_bots)} of {len(players)} bots failed: {', '.join(failed_bots)}")


def _event_printer(output: OutputOptions, name: str, *, alone: bool) -> Callable[[RelayEvent], None]:
    """Return the function that prints events of a bot.

    Text omits failed attempts to connect that repeat the last one (see `is_news`); JSON has every event.
    """
    if output.is_json:
        return lambda event: printing.print_json({"bot": name, "event": str(event)})
    last_event: Online | ConnectionLost | None = None
    label = "" if alone else f"{name}: "

    def print_event(event: RelayEvent) -> None:
        nonlocal last_event
        if not isinstance(event, ConnectionLost) or is_news(event, last_event):
            # Flush, because another program can wait for a line at a pipe.
            print(printing.printable(f"{label}{event}"), flush=True)
        if isinstance(event, Online | ConnectionLost):
            last_event = event

    return print_event
