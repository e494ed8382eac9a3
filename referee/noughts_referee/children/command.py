"""A command that a child can run in another folder, and the paths that it names."""

import os
import shlex
import shutil
from collections.abc import Mapping
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
        path = shutil.which(word) if program else word
        if not path or not os.path.exists(path):
            return word
        readable.extend(readable_for(os.path.abspath(path), program=program))
        return os.path.abspath(path)

    kind = child_kind(command.kind)
    if kind.target == "command":
        try:
            words = shlex.split(command.target)
            target = shlex.join(absolute(word, program=index == 0) for index, word in enumerate(words))
        except ValueError:
            target = command.target  # running it reports the error
    elif kind.target == "class":
        file, _ = module_and_class(command.target)
        if file.endswith(".py"):
            target = absolute(file) + command.target.removeprefix(file)
        else:
            target = command.target
            # A module can be in the current folder. Installed modules are readable in any case.
            package = file.partition(".")[0]
            for module in (package, f"{package}.py"):
                absolute(module)
    else:
        target = absolute(command.target)
    options = {key: value if key == VARIANTS else absolute(value) for key, value in command.options.items()}
    return Resolved(kind, target, options, tuple(readable))
