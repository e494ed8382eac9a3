"""The command line as a typer application."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from noughts_proto.errors import FAILED, USAGE
from noughts_server.cli.command import ExampleInHelp, escaped, lazy
from noughts_server.cli.commands import GROUP
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.explanations import show
from noughts_server.cli.lazy_commands import FORMER_NAMES, Command, Group
from noughts_server.cli.wrong_values import wrong_value
from noughts_server.core.version import software_version


def run(arguments: Sequence[str]) -> None:
    """Run the command with these arguments, without `noughts`. Raises SystemExit with the exit code."""
    try:
        try:
            application()(args=list(arguments), prog_name="noughts")
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        # stdout is closed or full. Discard the rest of its buffer, or Python would report the error again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        is_reported = isinstance(error.__context__, SystemExit) and error.__context__.code
        # A reader that stops early, such as `head`, is not an error.
        if not is_reported and not isinstance(error, BrokenPipeError):
            show(Problem(f"standard output: {error.strerror}"))
        sys.exit(FAILED)


def application() -> typer.Typer:
    """Return the application with all commands, whose modules are not imported yet."""
    app = _group_application("noughts", GROUP)
    app.callback()(_root)
    return app


class _Group(ExampleInHelp, TyperGroup):
    """A group of commands, whose errors are reported like those of commands."""

    def main(self, *arguments: Any, **extra: Any) -> Any:
        """Run a command. Report wrong usage that typer finds like every other error. Raises SystemExit."""
        try:
            code = super().main(*arguments, **{**extra, "standalone_mode": False})
        except typer.Abort:
            code = FAILED
        except Exception as error:
            # The module of typer's class of usage errors depends on its version, so recognise it by a method.
            if not hasattr(error, "format_message"):
                raise
            code = USAGE
            if message := wrong_value(error):
                context = getattr(error, "ctx", None)
                path = context.command_path if context else "noughts"
                show(UsageProblem(message, f"See `{path} --help`."))
        sys.exit(code)


def _group_application(line: str, group: Group) -> typer.Typer:
    """Return the typer application of a group; `line` is what the user types, e.g. `noughts bot`."""

    class GroupWithExample(_Group):
        example = group.example.strip()

    app = typer.Typer(
        cls=GroupWithExample,
        help=escaped(group.summary),
        context_settings={"help_option_names": ["--help", "-h"]},
        no_args_is_help=True,
        rich_markup_mode="rich",
        # Expected errors are messages. Any other error is a defect, which needs a plain traceback.
        pretty_exceptions_enable=False,
    )
    for panel, members in group.panels.items():
        for name, member in members.items():
            if isinstance(member, Command):
                app.command(
                    name,
                    cls=lazy(f"{line} {name}", member),
                    help=escaped(member.summary),
                    rich_help_panel=panel,
                    hidden=panel == FORMER_NAMES,
                )(_not_loaded)
            else:
                app.add_typer(_group_application(f"{line} {name}", member), name=name, rich_help_panel=panel)
    return app


def _not_loaded() -> None:
    """The function of a command that is not loaded yet. It never runs."""


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"noughts {software_version()}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Run before every command."""
