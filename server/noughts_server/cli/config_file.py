"""Settings of a command in a file: `--config` reads it, `--print-config` prints it.

A key is an option's name. The options themselves have the types, limits, defaults and help. The command line overrides
the environment (`NOUGHTS_SERVE_LISTEN` for `noughts serve --listen`), which overrides the file.
"""

import json
import textwrap
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from noughts_proto.transport import SERVER_VARIABLE
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.explanations import reporting
from noughts_server.cli.times import Seconds
from noughts_server.core.addresses import without_passwords

_WIDTH = 110
COMMANDS = ("serve", "referee", "web")
"""The commands with a configuration file. The file can have a table for each, named after the command."""

_SHARED = {"server": (SERVER_VARIABLE,), "tls-ca": ("NOUGHTS_TLS_CA",)}
"""Variables of the environment that other commands read, too, by option."""
_TYPES: tuple[tuple[Any, str], ...] = ((bool, "true or false"), ((int, float), "a number"))
"""Types of an option's default, and the value that TOML must have. Options of other types need a text."""


def _load(context: typer.Context, file: Path | None) -> Path | None:
    """Make the file's settings the defaults of the command's options."""
    with reporting(context.command_path):
        if file is not None:
            context.default_map = {**(context.default_map or {}), **_read(context.command, file)}
    return file


@dataclass(frozen=True, slots=True)
class Configuration:
    """The options of a command that can read its options from a file."""

    config: Annotated[
        Path | None,
        Option(
            "--config",
            metavar="FILE",
            help="TOML file with settings; options given here override it",
            is_eager=True,
            callback=_load,
            rich_help_panel="Configuration file",
        ),
    ] = None
    print_config: Annotated[
        bool,
        Option(
            "--print-config",
            help="Print the effective settings as a file for --config",
            rich_help_panel="Configuration file",
        ),
    ] = False


def name_variables(command: Any) -> None:
    """Give each option of the command a variable of the environment."""
    for key, option in _settings(command).items():
        if option.envvar is None:
            variables = [f"NOUGHTS_{command.name}_{name}".replace("-", "_").upper() for name in _keys(option)]
            option.envvar = [*variables, *_SHARED.get(key, ())]
            option.show_envvar = False


def print_config(context: Any) -> None:
    """Print the effective settings of a command, each below its help."""
    for number, (key, option) in enumerate(_settings(context.command).items()):
        value = context.params[option.name]
        text = textwrap.fill(option.help or "", _WIDTH, initial_indent="# ", subsequent_indent="# ")
        # A setting without a value is a comment.
        is_unset = value is None or (option.multiple and not value)
        shown_value = _without_passwords(value)
        line = f'# {key} = "{option.metavar}"' if is_unset else f"{key} = {_toml(shown_value)}"
        if shown_value != value:
            text += "\n# Its password is not printed. Add it here, or set the environment variable."
            line = f"# {line}"
        separator = "\n" if number else ""
        typer.echo(f"{separator}{text}\n{line}")


def _without_passwords(value: Any) -> Any:
    """Return a setting, or a list of settings, without the passwords of addresses."""
    if isinstance(value, list | tuple):
        return type(value)(map(_without_passwords, value))
    return without_passwords(value) if isinstance(value, str) and "://" in value else value


def _settings(command: Any) -> dict[str, Any]:
    """Return the options that a file can set, by key."""
    options = {_keys(option)[0]: option for option in command.params}
    return {key: option for key, option in options.items() if key not in ("config", "print-config", "help")}


def read_toml(file: Path) -> dict[str, Any]:
    """Return the document in a file of `--config`. Raises UsageProblem."""
    option = f"--config {file}"
    with problems_with(option, OSError), problems_with(f"{option}: it is not TOML", ValueError):
        return tomllib.loads(file.read_text(encoding="utf-8"))


def _keys(option: Any) -> list[str]:
    """Return the keys that set the option: its name, then its former names."""
    return [name.removeprefix("--") for name in option.opts if name.startswith("--")]


def _read(command: Any, file: Path) -> dict[str, Any]:
    """Return the file's settings for the command, by the names of its parameters. Raise UsageProblem."""
    place = f"--config {file}"
    document = read_toml(file)
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    entries = {key: value for key, value in document.items() if key not in tables} | tables.get(command.name, {})
    options = {key: option for option in _settings(command).values() for key in _keys(option)}
    for key in tables:
        _check_known(place, "table", key, COMMANDS)
    for key in entries:
        _check_known(place, "setting", key, options)
    for key, value in entries.items():
        _check_type(f"{place}: --{key}", options[key], value)
    return {options[key].name: value for key, value in entries.items()}


def _check_known(place: str, kind: str, key: str, known_keys: Iterable[str]) -> None:
    """Raise UsageProblem for an unknown key, with the most similar known one."""
    names = list(known_keys)
    if key not in names:
        (similar,) = get_close_matches(key, names, n=1, cutoff=0.0)
        raise UsageProblem(f"{place}: unknown {kind} {key!r}", f"Did you mean {similar!r}?")


def _check_type(subject: str, option: Any, value: Any) -> None:
    """Raise UsageProblem for a value whose TOML type the option does not accept."""
    kind: Any = str
    expected = "text"
    for default_type, description in _TYPES:
        if isinstance(option.default, default_type):
            kind, expected = default_type, description
            break
    if isinstance(option.default, Seconds):
        kind, expected = (int, float, str), 'a duration such as "30s"'
    if option.multiple:
        expected = "a list of strings"
    values = value if option.multiple and isinstance(value, list) else [value]
    # In Python a bool is an int, so a number must not be a bool.
    has_right_type = isinstance(value, list) == option.multiple and all(
        isinstance(item, kind) and (kind is bool or not isinstance(item, bool)) for item in values
    )
    if not has_right_type:
        raise UsageProblem(f"{subject}: got {_toml(value)}, expected {expected}")


def _toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    plain = value.value if isinstance(value, Enum) else value
    is_bare = isinstance(plain, bool | int | float) and not isinstance(plain, Seconds)
    return json.dumps(plain if is_bare else str(plain), ensure_ascii=False)
