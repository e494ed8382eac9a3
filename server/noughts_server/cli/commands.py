"""How commands are put into the tree: with a worked example in their help, and errors reported."""

import inspect
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
    """Registers a function as command `name`, with its docstring and the examples as help."""
    heading = "[bold]Example:[/bold]" if len(examples) == 1 else "[bold]Examples:[/bold]"
    epilog = "\n\n".join([heading, *map(_escaped, examples)])

    def register(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
        reported = reporting(function)
        app.command(name, help=help_text(function), epilog=epilog, rich_help_panel=panel)(reported)
        return reported

    return register


def help_text(function: Callable[..., object]) -> str:
    """The function's docstring with a line a paragraph: where lines end is for the terminal to say."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(_escaped(" ".join(paragraph.split())) for paragraph in paragraphs)


def _escaped(text: str) -> str:
    # Brackets are markup to the help's renderer.
    return text.replace("[", r"\[")
