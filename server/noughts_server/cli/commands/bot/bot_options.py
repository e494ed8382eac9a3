"""The settings of one bot of `noughts bot run`: options of the command line, and keys of a file."""

from dataclasses import dataclass, replace
from inspect import signature
from types import NoneType
from typing import Annotated, Any, get_args

from typer import BadParameter, Option

from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.options.sandbox import START_SECONDS, MemoryOption, ProcessesOption, StartTimeoutOption
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import Seconds, seconds_option


@dataclass(frozen=True, slots=True, kw_only=True)
class BotOptions(ServerOptions):
    """The settings of one bot: options of the command line, and keys of the file."""

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
    seek: Annotated[
        str,
        Option(
            "--seek",
            metavar="WISH",
            help="Seek rated games, e.g. `variant=connect4,time=1/move,rating=+-200`",
            rich_help_panel="Game",
        ),
    ] = ""
    wait: Annotated[
        float,
        seconds_option("--connect-timeout", "--wait", least=0, most=86_400, help="Time limit for the first connection"),
    ] = Seconds(60)
    start_timeout: StartTimeoutOption = START_SECONDS
    processes: ProcessesOption = 0
    memory: MemoryOption = ""


def with_keys(options: BotOptions, table: dict[str, Any], place: str) -> BotOptions:
    """Return a copy of the options, with the values that a table of the file sets. Raises UsageProblem."""
    fields = {}  # The fields by the keys of a file: "concurrency" and "max-games" name the same field.
    for field in signature(BotOptions, eval_str=True).parameters.values():
        kind, option = get_args(field.annotation)
        for name in (option.default, *option.param_decls):
            fields[name.partition("/")[0].removeprefix("--")] = field.name, kind, option
    # The token of the table replaces the token file of the command line, and the other way round.
    values: dict[str, Any] = {"token": None, "token_file": None} if {"token", "token-file"} & {*table} else {}
    for key, value in table.items():
        if key not in fields:
            raise UsageProblem(f"{place}: got the key {key!r}, expected one of {', '.join(fields)}")
        name, kind, option = fields[key]
        with problems_with(f"{place}, {key}", ValueError):
            values[name] = _read(value, kind, option)
    return replace(options, **values)


def _read(value: Any, kind: Any, option: Any) -> Any:
    """Return the value of a key, read as on the command line. Raises ValueError with the reason."""
    kind = next((part for part in get_args(kind) if part is not NoneType), kind)
    if option.parser is not None:
        try:
            return option.parser(value)
        except BadParameter as error:
            raise ValueError(str(error)) from None
    is_switch = kind is bool
    if isinstance(value, bool) != is_switch or not isinstance(value, bool | int | float | str):
        raise ValueError(f"got {value!r}, expected {'true or false' if is_switch else 'one value'}")
    try:
        converted = value if is_switch else kind(str(value))
    except ValueError:
        raise ValueError(f"got {value!r}, expected a {'whole ' if kind is int else ''}number") from None
    low, high = option.min, option.max
    if (low is not None and not converted >= low) or (high is not None and not converted <= high):
        raise ValueError(f"got {value}, expected {f'{low} or more' if high is None else f'{low} to {high}'}")
    return converted
