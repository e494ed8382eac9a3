"""What a command is: a line in the table of `tree`, and a function whose module is loaded when the command is run."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from dataclasses import is_dataclass as is_bundle
from importlib import import_module
from typing import Any

from noughts_server.cli.errors import reporting, require_extra


@dataclass(frozen=True, slots=True)
class Command:
    """Something to do."""

    name: str
    place: str
    """Its function, `MODULE:FUNCTION` beneath `noughts_server.cli`."""
    summary: str
    """The first paragraph of the function's docstring, which is not loaded for a list of commands."""
    examples: tuple[str, ...]
    panel: str | None = None
    """The heading under which the help lists it."""
    extra: str | None = None
    """The extra of our package without which it can do nothing; its help can be read all the same."""

    def load(self, line: str) -> "LoadedCommand":
        """The command with its module imported; `line` is what one types for it, e.g. `noughts bot run`."""
        module, _, function = self.place.partition(":")
        with reporting(line):
            return LoadedCommand(line, getattr(import_module(f"noughts_server.cli.{module}"), function), self.extra)


@dataclass(frozen=True, slots=True)
class Group:
    """A command that only has commands beneath it."""

    name: str
    summary: str
    children: "tuple[Command | Group, ...]"
    panel: str | None = None
    epilog: str = ""

    def find(self, arguments: Sequence[str]) -> "tuple[tuple[str, ...], Command | Group, list[str]]":
        """The longest path of names in the arguments, the command or group there, and the arguments after it.

        What begins with a dash before the command stays with the arguments: groups have no options with values.
        """
        path: tuple[str, ...] = ()
        node: Command | Group = self
        skipped: list[str] = []
        for place, word in enumerate(arguments):
            if isinstance(node, Command):
                return path, node, [*skipped, *arguments[place:]]
            if word.startswith("-"):
                skipped.append(word)
                continue
            child = next((child for child in node.children if child.name == word), None)
            if child is None:
                return path, node, [*skipped, *arguments[place:]]
            path, node = (*path, word), child
        return path, node, skipped

    def commands(self, path: tuple[str, ...] = ()) -> "Iterator[tuple[tuple[str, ...], Command]]":
        """All commands beneath it, with their paths."""
        for child in self.children:
            beneath = (*path, child.name)
            if isinstance(child, Group):
                yield from child.commands(beneath)
            else:
                yield beneath, child


class LoadedCommand:
    """A command's function and its parameters, each with an Option or an Argument in its annotation.

    A parameter whose type is a dataclass stands for that class's fields: options that several commands share. Every
    command with a parameter `server` has the options of encryption as well.
    """

    def __init__(self, line: str, function: Callable[..., None], extra: str | None) -> None:
        self.line = line
        self._extra = extra
        self._function = function
        own = inspect.signature(function, eval_str=True).parameters
        self._bundles: dict[str, Any] = {
            name: parameter.annotation for name, parameter in own.items() if is_bundle(parameter.annotation)
        }
        self.parameters: list[inspect.Parameter] = []
        """By name only. Fields of bundles stand where the bundle stands."""
        for name, parameter in own.items():
            fields = _fields(self._bundles[name]) if name in self._bundles else [parameter]
            self.parameters += [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in fields]
        self._calls = any(parameter.name == "server" for parameter in self.parameters)
        if self._calls:
            from noughts_server.cli.connection_options import Encryption

            self.parameters += _fields(Encryption)

    @property
    def paragraphs(self) -> list[str]:
        """The function's docstring with a line a paragraph: where lines end is for the terminal to say."""
        paragraphs = inspect.cleandoc(self._function.__doc__ or "").split("\n\n")
        return [" ".join(paragraph.split()) for paragraph in paragraphs]

    def run(self, **values: Any) -> None:
        """Does it. An error that has an explanation ends the program with a message and an exit code."""
        from noughts_server.cli import connection_options

        encrypting = (
            connection_options.encryption(_taken(connection_options.Encryption, values))
            if self._calls
            else nullcontext()
        )
        for name, bundle in self._bundles.items():
            values[name] = _taken(bundle, values)
        with reporting(self.line), encrypting:
            if self._extra is not None:
                require_extra(self.line, self._extra)
            self._function(**values)


def _fields(bundle: Any) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    fields: Iterable[inspect.Parameter] = inspect.signature(bundle, eval_str=True).parameters.values()
    return [field.replace(kind=keyword) for field in fields]


def _taken(bundle: Any, values: dict[str, Any]) -> Any:
    """The bundle of these values, which are gone from `values`."""
    return bundle(**{field.name: values.pop(field.name) for field in _fields(bundle)})
