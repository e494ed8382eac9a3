"""The command line as a typer application."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.core import TyperGroup

from noughts_server.cli.command import WordlessFlags, escaped, lazy, summary
from noughts_server.cli.errors import FAILED, Problem, show
from noughts_server.cli.tree import FORMER_NAMES, TREE, Group
from noughts_server.version import software_version


def run(arguments: Sequence[str]) -> None:
    """Does what the arguments say, as they come after `noughts`. Ends with SystemExit when there is an exit code."""
    try:
        try:
            application()(args=list(arguments), prog_name="noughts")
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        # stdout takes no more. What is left in its buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reported = isinstance(error.__context__, SystemExit) and error.__context__.code
        # A reader that has enough, as `head`, is no error to report.
        if not reported and not isinstance(error, BrokenPipeError):
            show(Problem(f"standard output: {error.strerror}"))
        sys.exit(FAILED)


def application() -> typer.Typer:
    """All commands."""
    app = _filled(TREE, "noughts")
    app.callback(epilog="Begin with: noughts demo")(_root)
    return app


class _Group(WordlessFlags, TyperGroup):
    """A group of commands."""


def _filled(group: Group, line: str) -> typer.Typer:
    app = typer.Typer(
        cls=_Group,
        help=escaped(group.summary),
        context_settings={"help_option_names": ["--help", "-h"]},
        no_args_is_help=True,
        rich_markup_mode="rich",
        # Our errors are messages; what is left is a fault of this program, for which a plain traceback is best.
        pretty_exceptions_enable=False,
    )
    for panel, members in group.panels.items():
        for name, member in members.items():
            beneath = f"{line} {name}"
            if isinstance(member, Group):
                app.add_typer(_filled(member, beneath), name=name, rich_help_panel=panel)
            else:
                app.command(
                    name,
                    cls=lazy(beneath, member),
                    help=summary(member),
                    rich_help_panel=panel,
                    hidden=panel == FORMER_NAMES,
                )(_listed)
    return app


def _listed() -> None:
    """In the place of a command that has not been loaded."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noughts {software_version()}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Before every command."""
