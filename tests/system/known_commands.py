"""Command lines of `noughts` in other files, parsed by the application without running them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer

from noughts_server.cli.app import application


def check_command(words: Sequence[str]) -> None:
    """Parse a command line, without `noughts`. The test fails if a command, an option or a value does not exist."""
    node: Any = _root()
    path, rest = ["noughts"], list(words)
    while hasattr(node, "commands"):
        path.append(rest.pop(0))
        node = node.commands[path[-1]]
    node.make_context(" ".join(path), rest)


@cache
def _root() -> Any:
    return typer.main.get_command(application())
