"""A command that a child can run in another folder, and the paths that it names."""

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
    kind: ChildKind
    target: str
    options: Mapping[str, str]
    readable: tuple[str, ...]
    """Paths that the child can read because the command names them."""

    @property
    def words(self) -> list[str]:
        """Return the program and its arguments. Raises ValueError if there are none, or for an open quote."""
        words = shlex.split(self.target)
        if not words:
            raise ValueError(f"{self.kind.name}: got no program, expected a program and its arguments")
        return words


def resolve(command: ChildCommand) -> Resolved:
    """Make existing paths absolute, for a child in another working folder. Raises ValueError for an unknown kind."""
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
            # A module can be in the current folder. Installed modules are readable in any case.
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
        return line  # running it reports the error
    return shlex.join(absolute(word, program=index == 0) for index, word in enumerate(words))
