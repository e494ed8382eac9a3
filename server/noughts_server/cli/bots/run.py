"""`noughts bot run`: connect one or more bots to a server, by command-line options or a file."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

from typer import Argument, BadParameter, Option

from noughts_bots.connection.events import ConnectionLost, Online, tells_more
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import BotSpec, make_built_in, parse_spec, unique_labels
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.children.running_child import ChildSettings
from noughts_server.cli import completion, connection_options, output, printing
from noughts_server.cli.config_file import read_toml
from noughts_server.cli.errors import Problem, UsageProblem, explain, problems_with, show
from noughts_server.cli.former_command import command, declaration
from noughts_server.cli.logs import LogLevel, configure_logs
from noughts_server.cli.options.game import read_specs, read_variant
from noughts_server.cli.options.sandbox import (
    START_SECONDS,
    MemoryOption,
    ProcessesOption,
    SandboxOptions,
    StartTimeoutOption,
    read_memory,
)
from noughts_server.cli.signals import run_loop, until_terminated
from noughts_server.cli.startable import DIAL_YOURSELF, check_startable, require_frames_on_pipes
from noughts_server.cli.times import Seconds, seconds_option
from noughts_server.launching.launcher import Locking
from noughts_server.launching.relay import PlayerRefused, RelayEvent, RelayPlan, relay


class PlayerOutput:
    """Holds the output before the first event: if the bot is refused, its last lines are part of the error."""

    def __init__(self, say: Callable[[RelayEvent], None]) -> None:
        """`say` reports an event to the user."""
        self._say = say
        self._kept: list[bytes] | None = []

    def heard(self, said: bytes) -> None:
        """Pass on or hold output of the player."""
        if self._kept is None:
            _pass_on(said)
        else:
            self._kept.append(said)

    def happened(self, event: RelayEvent) -> None:
        """Report an event, and pass on the held output: the player is not refused because of it."""
        self._release()
        self._say(event)

    @contextmanager
    def passed_on(self) -> Iterator[None]:
        """Pass on the held output at the end of the `with` block, after an error, too."""
        refusal = ""
        try:
            yield
        except PlayerRefused as error:
            refusal = str(error)
            raise
        finally:
            self._release(refusal)

    def _release(self, known: str = "") -> None:
        kept, self._kept = b"".join(self._kept or ()), None
        text = kept.decode(errors="replace")
        if known:
            text = text.rstrip().removesuffix(known)
        if text.strip():
            _pass_on(text.encode())


def _pass_on(said: bytes) -> None:
    sys.stderr.write(printing.printable(said.decode(errors="replace").expandtabs()))
    sys.stderr.flush()


Player = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class BotOptions:
    """The settings of one bot: options of the command line, and keys of the file."""

    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None
    version: Annotated[str, Option("--version", metavar="V", help="Version that the bot logs in as")] = "1"
    max_games: Annotated[
        int,
        Option(
            "--concurrency",
            "--max-games",
            metavar="C",
            min=0,
            max=65_536,
            help="Maximum concurrent games. Default 0: 1 in timed games, 1,024 in untimed",
            rich_help_panel="Game",
        ),
    ] = 0
    challenges: Annotated[bool, Option("--challenges/--no-challenges", help="Accept challenges to unrated games")] = (
        True
    )
    wait: Annotated[
        float,
        seconds_option("--connect-timeout", "--wait", least=0, most=86_400, help="Time limit for the first connection"),
    ] = Seconds(60)
    start_timeout: StartTimeoutOption = START_SECONDS
    token: Annotated[
        str | None,
        Option(
            "--token",
            metavar="TOKEN",
            help="Your token, visible to all local users; NOUGHTS_TOKEN or a file is safer",
            rich_help_panel="Connection",
        ),
    ] = None
    token_file: Annotated[
        Path | None,
        Option("--token-file", metavar="FILE", help="File that contains the token", rich_help_panel="Connection"),
    ] = None
    processes: ProcessesOption = 0
    memory: MemoryOption = ""


class _Planned(NamedTuple):
    name: str
    spec: BotSpec
    options: BotOptions
    token_source: str = "--token"


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
    *,
    chosen: BotOptions,
    name: Annotated[
        str, Option("--name", metavar="NAME", help="Name of a single bot. Default: the name in its spec")
    ] = "",
    config: Annotated[
        Path | None, Option("--config", metavar="FILE", help="TOML file with bots and their options")
    ] = None,
    sandbox: SandboxOptions = SandboxOptions(),
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
    bots = _in_file(config, chosen) if config else _named(specs or [], name, chosen)
    locking = sandbox.locking
    players = {bot.name: _player(bot, locking, _printing(bot.name, alone=len(bots) == 1)) for bot in bots}
    configure_logs(LogLevel.WARNING)
    run_loop(until_terminated(_play_all(players)))


def _named(specs: list[str], name: str, chosen: BotOptions) -> list[_Planned]:
    if name and len(specs) != 1:
        raise UsageProblem(f"--name {name!r}: got {len(specs)} bots, expected one", "Name each bot: NAME=SPEC")
    parsed = read_specs(specs)
    return [_Planned(name or label, spec, chosen) for label, spec in zip(unique_labels(parsed), parsed, strict=True)]


def _in_file(file: Path, chosen: BotOptions) -> list[_Planned]:
    common = read_toml(file)
    tables = common.pop("bots", {})
    shared = _with_keys(chosen, common, str(file))
    planned = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        place = f"{file}, [bots.{name}]"
        if not isinstance(table, dict) or not isinstance(spec := table.pop("spec", None), str):
            raise UsageProblem(
                f'{place}: got no spec, expected spec = "SPEC"', "Choose one from `noughts bot list --reference`."
            )
        own = _with_keys(shared, table, place)
        planned.append(_Planned(name, parse_spec(spec), own, "--token" if own.token is chosen.token else place))
    if not planned:
        raise UsageProblem(f'--config {file}: got no bot, expected a table [bots.NAME] with spec = "SPEC"')
    return planned


def _with_keys(chosen: BotOptions, table: dict[str, Any], place: str) -> BotOptions:
    """Return the options with those replaced that the table sets. Raises UsageProblem."""
    known = {}
    for parameter in signature(BotOptions).parameters.values():
        kind, declared = declaration(parameter)
        for option in (declared.default, *declared.param_decls):
            known[option.partition("/")[0].removeprefix("--")] = parameter.name, kind, declared
    values: dict[str, Any] = {"token": None, "token_file": None} if {"token", "token-file"} & {*table} else {}
    for key, value in table.items():
        if key not in known:
            raise UsageProblem(f"{place}: got the key {key!r}, expected one of {', '.join(known)}")
        name, kind, declared = known[key]
        with problems_with(f"{place}, {key}", ValueError):
            values[name] = _read(value, kind, declared)
    return replace(chosen, **values)


def _read(value: Any, kind: Any, declared: Any) -> Any:
    """Return the value of a key, read like its option. Raises ValueError, which says what is wrong."""
    kind = next((part for part in get_args(kind) if part is not NoneType), kind)
    if declared.parser is not None:
        try:
            return declared.parser(value)
        except BadParameter as error:
            raise ValueError(str(error)) from None
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, bool | int | float | str):
        raise ValueError(f"got {value!r}, expected {'true or false' if kind is bool else 'one value'}")
    try:
        read = kind(str(value)) if kind is not bool else value
    except ValueError:
        raise ValueError(f"got {value!r}, expected a {'whole ' if kind is int else ''}number") from None
    low, high = declared.min, declared.max
    if (low is not None and not read >= low) or (high is not None and not read <= high):
        raise ValueError(f"got {value}, expected {f'{low} or more' if high is None else f'{low} to {high}'}")
    return read


def _player(bot: _Planned, locking: Locking, say: Callable[[RelayEvent], None]) -> Player:
    """Return the function that plays as the bot. Raises an error if its spec, server or token is wrong."""
    spec, chosen = bot.spec, bot.options
    started = check_startable(spec, locking)
    require_frames_on_pipes(spec, DIAL_YOURSELF)
    if not started:
        # Report wrong options now. A bot that does not play this variant may play others.
        with suppress(VariantRefused):
            make_built_in(spec, read_variant("tictactoe"))
    address = connection_options.read_server(chosen.server)
    secret = connection_options.require_token(chosen.token, chosen.token_file, bot.token_source)
    dialling = connection_options.dialling(address, secret)
    login = Login(address, secret, bot.name, chosen.version, dialling, wait=chosen.wait)
    if started:
        times, memory = ChildSettings(start=chosen.start_timeout), read_memory(chosen.memory)
        plan = RelayPlan(spec, chosen.max_games, chosen.challenges, times, locking, chosen.processes or 1, memory)

        async def play_child() -> None:
            told = PlayerOutput(say)
            with told.passed_on():
                await relay(plan, login, told.happened, told.heard)

        return play_child
    made = make_built_in(spec)
    made.max_games, made.accepts_challenges = chosen.max_games or made.max_games, chosen.challenges
    made.prepare()

    async def play_here() -> None:
        try:
            await play(made, login, say)
        finally:
            made.close()

    return play_here


async def _play_all(players: dict[str, Player]) -> None:
    """Play until all bots have ended. If one of several fails, the others continue."""
    failed = []

    async def play(name: str, player: Player) -> None:
        try:
            await player()
        except Exception as error:
            problem = explain(error)
            if problem is None or len(players) == 1:
                raise
            show(Problem(f"{name}: {problem.message}", problem.hint))
            failed.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name, player in players.items():
            tasks.create_task(play(name, player))
    if failed:
        raise Problem(f"{len(failed)} of {len(players)} bots failed: {', '.join(failed)}")


def _printing(name: str, *, alone: bool) -> Callable[[RelayEvent], None]:
    if output.is_json():
        return lambda event: printing.print_json({"bot": name, "event": str(event)})
    before: Online | ConnectionLost | None = None
    label = "" if alone else f"{name}: "

    def say(event: RelayEvent) -> None:
        nonlocal before
        if not isinstance(event, ConnectionLost) or tells_more(event, before):
            # Flush, because another program can wait for a line at a pipe.
            print(printing.printable(f"{label}{event}"), flush=True)
        if isinstance(event, Online | ConnectionLost):
            before = event

    return say
