"""The command line in this process."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import structlog
import typer
import typer.testing
from typer.testing import CliRunner, Result

from noughts_server.cli import commands
from noughts_server.cli.app import application

# Build the table of commands once, not for each command line, which takes longer than most commands.
typer.testing._get_command = cache(typer.main.get_command)  # type: ignore[attr-defined]
_application = cache(application)


def invoke(
    words: Sequence[str],
    *,
    code: int | None = 0,
    stdin: str | bytes | None = None,
    env: Mapping[str, str | None] | None = None,
) -> Result:
    """Run `noughts` with these words; fail unless it exits with `code` (None: any). `env`: changed variables."""
    with _own_logging():
        result = CliRunner().invoke(_application(), words, input=stdin, env=env, prog_name="noughts")
    assert code is None or result.exit_code == code, f"{words}: {result.exit_code}\n{result.stdout}\n{result.stderr}"
    return result


@contextmanager
def _own_logging() -> Iterator[None]:
    """Undo the changes of a command to logging: bots in other threads would write to its closed standard error."""
    root, events = logging.getLogger(), structlog.get_config()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    logging.raiseExceptions = False
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.raiseExceptions = raising
        structlog.configure(**events)


def command_words(line: str) -> int:
    """Return how many words of a command line name the command, e.g. 2 of `bot list --all`."""
    folder = Path(commands.__file__).parent
    words = line.split()
    number = 1
    while (folder / words[number - 1].replace("-", "_")).is_dir() and number < len(words):
        folder = folder / words[number - 1].replace("-", "_")
        number += 1
    return number


def commands_and_groups() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command and group with its path, except hidden ones; `noughts` itself is first."""
    yield from _beneath((), typer.main.get_command(application()))


def _beneath(path: tuple[str, ...], node: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, node
    for name, child in getattr(node, "commands", {}).items():
        if child.hidden:
            continue
        yield from _beneath((*path, name), child)
