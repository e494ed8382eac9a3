"""Options that several commands share: if the type of a parameter is a dataclass, each field of the class is an option.

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
    types = {name: parameter.annotation for name, parameter in parameters.items()}
    return {name: kind for name, kind in types.items() if isinstance(kind, type) and is_dataclass(kind)}


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function with the fields of dataclasses as parameters, which calls `function` with the dataclasses.

    Raises ValueError if two parameters have the same name.
    """
    classes = bundles(function)
    fields = {name: tuple(signature(kind, eval_str=True).parameters.values()) for name, kind in classes.items()}
    parameters = [
        spread_parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(function, eval_str=True).parameters.items()
        for spread_parameter in fields.get(name, (parameter,))
    ]

    def call(**values: Any) -> None:
        instances = {}
        for name, parameters_of_class in fields.items():
            arguments = {parameter.name: values.pop(parameter.name) for parameter in parameters_of_class}
            instances[name] = classes[name](**arguments)
        function(**values, **instances)

    vars(call).update(__signature__=Signature(parameters))
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
