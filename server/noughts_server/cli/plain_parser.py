"""Reads a command line with the standard library.

So every line that is right is read: typer takes longer to load than most commands take to run. Where it is installed,
it writes the help, says what is wrong with a line that is not right, and completes words for a shell.
"""

import inspect
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from textwrap import fill
from types import NoneType
from typing import Any, NoReturn, get_args, get_origin

from noughts_server.cli.commands import Command, Group, LoadedCommand
from noughts_server.cli.errors import USAGE, UsageProblem, show
from noughts_server.cli.parameters import Argument, Option

_WIDTH = 100


class _UnreadableError(Exception):
    """The line is wrong, or asks for help."""


class _QuietParser(ArgumentParser):
    """Says nothing about what is wrong."""

    def error(self, message: str) -> NoReturn:
        raise _UnreadableError(message)


def read(loaded: LoadedCommand, arguments: Sequence[str]) -> dict[str, Any] | None:
    """The command's values by parameter; None for a line that is wrong or asks for help."""
    parser = _filled(_QuietParser(add_help=False, allow_abbrev=False), loaded)
    try:
        # Names and options in any order.
        read = vars(parser.parse_intermixed_args(arguments))
        return {name: None if value == [] else value for name, value in read.items()}
    except _UnreadableError:
        return None


def explain(command: Command, loaded: LoadedCommand, arguments: Sequence[str]) -> NoReturn:
    """Prints the command's help, or what is wrong with a line that `read` could not read; ends the program."""
    _parser(command, loaded).parse_intermixed_args(arguments)
    raise AssertionError(arguments)


def explain_group(line: str, group: Group, arguments: Sequence[str]) -> NoReturn:
    """The same for a line that names no command; `--version` is answered. Ends the program."""
    from noughts_server.version import software_version

    if "--version" in arguments and line == "noughts":
        print(f"noughts {software_version()}")
        sys.exit()
    names = [child.name for child in group.children]
    wrong = next((word for word in arguments if not word.startswith("-")), arguments[0])
    similar = get_close_matches(wrong, names)
    hint = f"Did you mean {' or '.join(similar)}?" if similar else ""
    show(UsageProblem(f"{line}: got {wrong!r}, expected one of {', '.join(names)}", hint))
    sys.exit(USAGE)


def _parser(command: Command, loaded: LoadedCommand) -> ArgumentParser:
    parser = ArgumentParser(
        prog=loaded.line,
        description="\n\n".join(fill(paragraph, _WIDTH) for paragraph in loaded.paragraphs),
        epilog="\n".join(["examples:", *(f"  {example}" for example in command.examples)]),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return _filled(parser, loaded)


def _filled(parser: ArgumentParser, loaded: LoadedCommand) -> ArgumentParser:
    """The parser, which now knows the command's parameters."""
    panels = {}
    for parameter in loaded.parameters:
        (declared,), kind = parameter.annotation.__metadata__, parameter.annotation.__origin__
        if isinstance(declared, Argument):
            _add_argument(parser, parameter, declared, kind)
            continue
        panel = declared.panel
        if panel is not None and panel not in panels:
            panels[panel] = parser.add_argument_group(panel)
        _add_option(parser if panel is None else panels[panel], parameter, declared, kind)
    return parser


def _add_argument(parser: Any, parameter: inspect.Parameter, declared: Argument, kind: Any) -> None:
    needed = parameter.default is inspect.Parameter.empty
    kind, several = one_of(kind)
    parser.add_argument(
        parameter.name,
        nargs=("+" if needed else "*") if several else None if needed else "?",
        type=reader(kind),
        default=None if needed else parameter.default,
        metavar=declared.metavar.removesuffix("..."),
        help=_help(declared, None),
    )


def _add_option(parser: Any, parameter: inspect.Parameter, declared: Option, kind: Any) -> None:
    needed, default = parameter.default is inspect.Parameter.empty, parameter.default
    common = {"dest": parameter.name, "default": default, "help": _help(declared, default)}
    if kind is bool:
        on, _, off = declared.names[0].partition("/")
        parser.add_argument(on, action="store_true", **common)
        if off:
            parser.add_argument(off, action="store_false", **{**common, "help": SUPPRESS})
        return
    kind, several = one_of(kind)
    parser.add_argument(
        *declared.names,
        action="append" if several else "store",
        type=reader(kind, declared.min, declared.max),
        required=needed,
        metavar=declared.metavar or _choices(kind),
        **{**common, "default": None if needed else default},
    )


def one_of(kind: Any) -> tuple[Any, bool]:
    """The type of one value of `T`, `list[T]`, `T | None` or `list[T] | None`, and whether there may be several."""
    if NoneType in get_args(kind):
        (kind,) = [part for part in get_args(kind) if part is not NoneType]
    return (*get_args(kind), True) if get_origin(kind) is list else (kind, False)


def reader(kind: Any, low: float | None = None, high: float | None = None) -> Callable[[str], Any]:
    """Makes the value of a text; what it raises is shown after the option's name."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            expected = _choices(kind) or {"int": "a whole number", "float": "a number"}.get(kind.__name__, "another")
            raise ArgumentTypeError(f"got {text!r}, expected {expected}") from None
        if (low is not None and value < low) or (high is not None and value > high):
            limits = f"{low} to {high}" if high is not None else f"{low} or more"
            raise ArgumentTypeError(f"got {text}, expected {limits}")
        return value

    return read


def _choices(kind: Any) -> str | None:
    return "|".join(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else None


def _help(declared: Option | Argument, default: Any) -> str:
    shown = declared.show_default and default not in (None, "", False, True, inspect.Parameter.empty)
    text = f"{declared.help} (default: {default})" if shown else declared.help
    return text.replace("%", "%%")
