"""How commands are put into the tree: with a worked example in their help, and errors reported."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import typer

from noughts_server.cli import options
from noughts_server.cli.errors import reporting

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
        app.command(name, help=help_text(function), epilog=epilog, rich_help_panel=panel)(_encrypting(reported))
        return reported

    return register


def _encrypting(function: Callable[..., None]) -> Callable[..., None]:
    """The command; one that calls a server, with the options that say how the connection is protected."""
    signature = inspect.signature(function, eval_str=True)
    if "server" not in signature.parameters:
        return function

    @wraps(function)
    def encrypting(*, tls: bool, tls_ca: Any, insecure: bool, **others: Any) -> None:
        with options.encryption(tls, tls_ca, insecure):
            function(**others)

    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter("tls", keyword, default=False, annotation=options.TlsOption),
        inspect.Parameter("tls_ca", keyword, default=None, annotation=options.CaOption),
        inspect.Parameter("insecure", keyword, default=False, annotation=options.InsecureOption),
    ]
    own = [parameter.replace(kind=keyword) for parameter in signature.parameters.values()]
    encrypting.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return encrypting


def help_text(function: Callable[..., object]) -> str:
    """The function's docstring with a line a paragraph: where lines end is for the terminal to say."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(_escaped(" ".join(paragraph.split())) for paragraph in paragraphs)


def _escaped(text: str) -> str:
    # Brackets are markup to the help's renderer.
    return text.replace("[", r"\[")
