"""Commands that are not in `commands/` yet: `--format` and encryption are variables of the context.

Every command has the option `--format`, and every command with a parameter `server` the options of encryption.
"""

import inspect
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from copy import copy
from dataclasses import is_dataclass
from typing import Any, TypeVar

import typer

from noughts_server.cli.command import LoadedCommand, escaped
from noughts_server.cli.config_file import Configuration, name_variables
from noughts_server.cli.connection_options import ENCRYPTION, Encryption
from noughts_server.cli.errors import reporting, require_extra
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.output import FORMAT, chosen

_Function = TypeVar("_Function", bound=Callable[..., None])


def command(*, example: str, extra: str | None = None, configured: bool = False) -> Callable[[_Function], _Function]:
    """Declare that a function is a command."""

    def declared(function: _Function) -> _Function:
        vars(function).update(example=example, extra=extra, configured=configured, load_former=load_former)
        return function

    return declared


def load_former(line: str, name: str, function: Any) -> Any:
    """Return the command of a function that `command` declares here."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(
        name,
        cls=LoadedCommand,
        help=escaped("\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)),
    )(_callback(line, function))
    found: Any = typer.main.get_command(app)
    found.example = function.example.strip()
    if function.configured:
        name_variables(found)
    return found


def _callback(line: str, function: Any) -> Callable[..., None]:
    """Return a function for typer that runs the command; an error that has an explanation ends it with a message."""
    own = inspect.signature(function, eval_str=True).parameters
    bundles = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}
    parameters = [
        field for name, each in own.items() for field in (_fields(bundles[name]) if name in bundles else [each])
    ]
    names = {parameter.name for parameter in parameters}
    calls, prints = "server" in names and "tls" not in names, "output_format" not in names
    if prints:
        parameters += _fields(OutputOptions)
    if calls:
        parameters += _fields(Encryption)
    if function.configured:
        parameters += _fields(Configuration)

    def run(**values: Any) -> None:
        if function.configured:
            _taken(Configuration, values)
        encrypting = chosen(ENCRYPTION, _taken(Encryption, values)) if calls else nullcontext()
        printed = chosen(FORMAT, _taken(OutputOptions, values).format) if prints else nullcontext()
        for name, bundle in bundles.items():
            values[name] = _taken(bundle, values)
        with reporting(line), encrypting, printed:
            if function.extra is not None:
                require_extra(line, function.extra)
            function(**values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([parameter.replace(kind=keyword) for parameter in parameters])
    vars(run).update(__signature__=signature)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def declaration(parameter: inspect.Parameter) -> tuple[Any, Any]:
    """Return the type of a parameter, and a copy of its declaration for typer, whose default is its first name."""
    kind: Any = parameter.annotation
    return kind.__origin__, copy(kind.__metadata__[0])


def _fields(bundle: Any) -> Iterable[inspect.Parameter]:
    return inspect.signature(bundle, eval_str=True).parameters.values()


def _taken(bundle: Any, values: dict[str, Any]) -> Any:
    """Return the bundle of these values, which are removed from `values`."""
    return bundle(**{field.name: values.pop(field.name) for field in _fields(bundle)})
