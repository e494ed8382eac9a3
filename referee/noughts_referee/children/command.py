"""A command as a child in another folder can run it, and which paths it names."""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from noughts_proto.child_kinds import VARIANTS, ChildKind, child_kind, module_and_class
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox import readable_for


@dataclass(frozen=True, slots=True)
class Resolved:
    """A command whose paths are absolute."""

    kind: ChildKind
    target: str
    options: Mapping[str, str]
    readable: tuple[str, ...]
    """What it may read because it is named."""

    @property
    def words(self) -> list[str]:
        """The program and its arguments. Raises ValueError when there are none, or a quote is open."""
        words = shlex.split(self.target)
        if not words:
            raise ValueError(f"{self.kind.name}: got no program, expected one and its arguments")
        return words


def resolve(command: ChildCommand) -> Resolved:
    """Makes absolute what names an existing file or folder: the child's working folder is another one.

    Raises ValueError for a kind that there is not.
    """
    readable: list[str] = []

    def absolute(word: str, *, program: bool = False) -> str:
        found = shutil.which(word) if program else word
        if not found or not os.path.exists(found):
            return word
        readable.extend(readable_for(os.path.abspath(found), program=program))
        return os.path.abspath(found)

    kind = child_kind(command.kind)
    if kind.target == "command":
        target = _each_word(command.target, absolute)
    elif kind.target == "class":
        file, _ = module_and_class(command.target)
        if file.endswith(".py"):
            target = absolute(file) + command.target.removeprefix(file)
        else:
            target = command.target
            # A module may lie in this folder; one that is installed may be read anyhow.
            package = file.partition(".")[0]
            readable.extend(place for module in (package, f"{package}.py") for place in _readable_if_there(module))
    else:
        target = absolute(command.target)
    options = {key: value if key == VARIANTS else absolute(value) for key, value in command.options.items()}
    return Resolved(kind, target, options, tuple(readable))


def _readable_if_there(module: str) -> tuple[str, ...]:
    return readable_for(os.path.abspath(module)) if module and os.path.exists(module) else ()


def _each_word(line: str, absolute: Callable[..., str]) -> str:
    try:
        words = shlex.split(line)
    except ValueError:
        return line  # whoever runs it says what is wrong with it
    return shlex.join(absolute(word, program=index == 0) for index, word in enumerate(words))
