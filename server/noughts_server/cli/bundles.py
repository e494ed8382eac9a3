"""Options that several commands share: a parameter whose type is a dataclass stands for the fields of that class.

For example:

    @dataclass(frozen=True, slots=True)
    class OutputOptions:
        format: Annotated[Format, Option("--format", help="Output format")] = Format.TEXT

    def show(name: Annotated[str, Argument(metavar="NAME")], output: OutputOptions) -> None: ...

`spread(show)` has the parameters `name` and `format`, which typer reads. It calls `show` with an `OutputOptions`.
"""

from collections.abc import Callable
from dataclasses import is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any


def bundles(function: Callable[..., None]) -> dict[str, type[Any]]:
    """Return the dataclasses among the types of a function's parameters, by the name of the parameter."""
    parameters = signature(function, eval_str=True).parameters
    types = {name: each.annotation for name, each in parameters.items()}
    return {name: each for name, each in types.items() if isinstance(each, type) and is_dataclass(each)}


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function with the fields of dataclasses as parameters, which calls `function` with the dataclasses.

    Raises ValueError if two parameters have the same name.
    """
    classes = bundles(function)
    fields = {name: tuple(signature(each, eval_str=True).parameters.values()) for name, each in classes.items()}
    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for name, own in signature(function, eval_str=True).parameters.items()
        for parameter in fields.get(name, (own,))
    ]

    def call(**values: Any) -> None:
        built = {
            name: classes[name](**{field.name: values.pop(field.name) for field in own}) for name, own in fields.items()
        }
        function(**values, **built)

    vars(call).update(__signature__=Signature(parameters))
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
