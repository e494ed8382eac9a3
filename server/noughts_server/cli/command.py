"""Commands: functions whose parameters are annotated with typer's options and arguments."""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib import import_module
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

from noughts_server.cli.bundles import bundles, spread
from noughts_server.cli.config_file import Configuration, name_variables, print_config
from noughts_server.cli.explanations import reporting
from noughts_server.cli.extras import require_extra
from noughts_server.cli.lazy_commands import Command

_Function = TypeVar("_Function", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class _Declaration:
    """The declaration of a function as a command."""

    example: str
    extra: str | None


def command(*, example: str, extra: str | None = None) -> Callable[[_Function], _Function]:
    """Declare that a function is a command.

    `example` shows commands and what they print; the help prints it, and a test runs it. `extra` is the extra of
    Noughts that the command needs. Each parameter of the function has an `Option` or `Argument` of typer, or a
    dataclass as its type, see `bundles`. If one is a `Configuration`, the command can read its options from a file.
    """

    def declare(function: _Function) -> _Function:
        vars(function)["declaration"] = _Declaration(example, extra)
        return function

    return declare


def hide_former_names(option: Any) -> None:
    """Keep only the first long name of an option in its help: the others are former names, which still work."""
    option.opts, option.secondary_opts = _without_former(option.opts), _without_former(option.secondary_opts)


def _without_former(names: list[str]) -> list[str]:
    first = next((name for name in names if name.startswith("--")), None)
    return [name for name in names if name == first or not name.startswith("--")]


class ExampleInHelp:
    """A base class of commands and groups whose help ends with an example, and shows no type for flags."""

    example: str = ""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, then the example itself, because typer would wrap its lines."""
        parameters = self.get_params(ctx)
        names = [(parameter.opts, parameter.secondary_opts) for parameter in parameters]
        for parameter in parameters:
            hide_former_names(parameter)
        super().format_help(ctx, formatter)  # type: ignore[misc]
        # Another command line of this process can use the former names.
        for parameter, (opts, secondary_opts) in zip(parameters, names, strict=True):
            parameter.opts, parameter.secondary_opts = opts, secondary_opts
        if self.example:
            typer.echo(typer.style(" Example:", bold=True) + "\n\n" + textwrap.indent(self.example, "   ") + "\n")

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters without a metavar for flags."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class LoadedCommand(ExampleInHelp, TyperCommand):
    """A command whose module is imported."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, or print its settings."""
        if ctx.params.get("print_config"):
            return print_config(ctx)
        return super().invoke(ctx)


def lazy(line: str, row: Command) -> type[TyperCommand]:
    """Return the class of a command whose module is imported when the command is used, not when it is listed.

    `line` is what the user types, e.g. `noughts bot run`.
    """

    class Lazy(TyperCommand):
        place = row.place

        @cached_property
        def loaded(self) -> Any:
            return _load(line, row)

        def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
            """Import the command, and return its context for these arguments."""
            return self.loaded.make_context(info_name, args, parent, **extra)

    return Lazy


def escaped(text: str) -> str:
    """Return the text with its brackets escaped, which are markup to the help's renderer."""
    return text.replace("[", r"\[")


def _load(line: str, row: Command) -> Any:
    module, _, name = row.place.partition(":")
    with reporting(line):
        function = getattr(import_module(module), name)
    declaration: _Declaration = vars(function)["declaration"]
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(
        name,
        cls=LoadedCommand,
        # Each paragraph is one line, which the terminal wraps.
        help=escaped("\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)),
    )(_with_messages(line, function, declaration.extra))
    loaded: Any = typer.main.get_command(app)
    loaded.example = declaration.example.strip()
    if Configuration in bundles(function).values():
        name_variables(loaded)
    return loaded


def _with_messages(line: str, function: Callable[..., None], extra: str | None) -> Callable[..., None]:
    """Return the function that typer calls. It reports errors as messages, see `explanations.reporting`."""
    call = spread(function)

    @wraps(call)
    def run(**values: Any) -> None:
        with reporting(line):
            if extra is not None:
                require_extra(line, extra)
            call(**values)

    return run
