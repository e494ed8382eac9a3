"""Commands that are not in `commands/` yet: texts in text files, and options by the names of parameters."""

import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from copy import copy
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_origin

import typer
from typer.models import ArgumentInfo

from noughts_server.cli.command import LoadedCommand, escaped
from noughts_server.cli.config_file import Configuration, name_variables
from noughts_server.cli.connection_options import ENCRYPTION, Encryption
from noughts_server.cli.errors import reporting, require_extra
from noughts_server.cli.options import Output
from noughts_server.cli.output import FORMAT, chosen
from noughts_server.cli.texts import sections

_VALUES: dict[Any, str] = {int: "N", int | None: "N", Path: "FILE", Path | None: "FILE"}
"""What the help calls the value of an option that declares no metavar, by type."""
_Function = TypeVar("_Function", bound=Callable[..., None])


def command(*, extra: str | None = None, configured: bool = False) -> Callable[[_Function], _Function]:
    """Declare that a function is a command, and the extra of our package that it needs.

    A parameter without an annotation of typer is an option with its name. A parameter whose type is a dataclass stands
    for that class's fields: options that several commands share. Every command has the option `--format`, and every
    command with a parameter `server` the options of encryption. If the command is `configured`, it can read its options
    from a file. The texts of its options are in `options.txt`, its examples in `examples.txt`.
    """

    def declared(function: _Function) -> _Function:
        vars(function).update(extra=extra, configured=configured, load_former=load_former)
        return function

    return declared


@cache
def panel_of(option: str) -> str | None:
    """Return the panel of `panels.txt` in which the help shows an option; None for the options of one command."""
    return next((panel for panel, names in sections("panels.txt").items() if option in names.split()), None)


@cache
def option_texts(line: str) -> dict[str, tuple[str, str]]:
    """Return the name of the value and the help of each option and argument of a command, by its first name.

    They are in the section of the command in `options.txt`, or in that of a group around it.
    """
    around = option_texts(line.rpartition(" ")[0]) if line else {}
    own = re.findall(r"(?m)^(\S+)(?: (\S+))?  +(.+)$", sections("options.txt").get(line, ""))
    return around | {name: (value, text) for name, value, text in own}


def load_former(line: str, name: str, function: Any) -> Any:
    """Return the command of a function that `command` declares here."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(
        name,
        cls=_Command,
        help=escaped("\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)),
    )(_callback(line, function))
    found: Any = typer.main.get_command(app)
    found.example = sections("examples.txt").get(line, "")
    if function.configured:
        name_variables(found)
    return found


class _Command(LoadedCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            if parameter.param_type_name == "option" and parameter.rich_help_panel is None:
                parameter.rich_help_panel = panel_of(parameter.opts[0])
        return parameters


def _callback(line: str, function: Any) -> Callable[..., None]:
    """Return a function for typer that runs the command; an error that has an explanation ends it with a message."""
    own = inspect.signature(function, eval_str=True).parameters
    bundles = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}
    parameters = [
        field for name, each in own.items() for field in (_fields(bundles[name]) if name in bundles else [each])
    ]
    names = {parameter.name for parameter in parameters}
    calls, prints = "server" in names, "output_format" not in names
    if prints:
        parameters += _fields(Output)
    if calls:
        parameters += _fields(Encryption)
    if function.configured:
        parameters += _fields(Configuration)
    parameters = [_described(parameter, option_texts(line)) for parameter in parameters]

    def run(**values: Any) -> None:
        if function.configured:
            _taken(Configuration, values)
        encrypting = chosen(ENCRYPTION, _taken(Encryption, values)) if calls else nullcontext()
        printed = chosen(FORMAT, _taken(Output, values).output_format) if prints else nullcontext()
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
    if get_origin(kind) is Annotated:
        return kind.__origin__, copy(kind.__metadata__[0])
    return kind, typer.Option(f"--{parameter.name.replace('_', '-')}")


def _described(parameter: inspect.Parameter, texts: dict[str, tuple[str, str]]) -> inspect.Parameter:
    """Return the parameter with the name of its value and its help, unless its declaration has them."""
    kind, declared = declaration(parameter)
    name: Any = declared.metavar if isinstance(declared, ArgumentInfo) else declared.default.partition("/")[0]
    value, text = texts.get(name, ("", ""))
    declared.metavar = declared.metavar or value or _VALUES.get(kind)
    declared.help = declared.help or text
    return parameter.replace(annotation=Annotated[kind, declared])


def _fields(bundle: Any) -> Iterable[inspect.Parameter]:
    return inspect.signature(bundle, eval_str=True).parameters.values()


def _taken(bundle: Any, values: dict[str, Any]) -> Any:
    """Return the bundle of these values, which are removed from `values`."""
    return bundle(**{field.name: values.pop(field.name) for field in _fields(bundle)})
