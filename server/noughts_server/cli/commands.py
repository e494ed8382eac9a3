"""How commands are put into the tree: with a worked example in their help, and errors reported."""

from collections.abc import Callable
from typing import ParamSpec

import typer

from noughts_server.cli.problems import reporting

Parameters = ParamSpec("Parameters")


def group(summary: str) -> typer.Typer:
    """A command that only has commands beneath it."""
    return typer.Typer(help=summary, no_args_is_help=True, rich_markup_mode="rich")


def command(
    app: typer.Typer, name: str, *examples: str, panel: str | None = None
) -> Callable[[Callable[Parameters, None]], Callable[Parameters, None]]:
    """Registers a function as command `name`; its help shows the examples."""
    heading = "[bold]Example:[/bold]" if len(examples) == 1 else "[bold]Examples:[/bold]"
    epilog = "\n\n".join([heading, *(example.replace("[", r"\[") for example in examples)])

    def register(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
        reported = reporting(function)
        app.command(name, epilog=epilog, rich_help_panel=panel)(reported)
        return reported

    return register
