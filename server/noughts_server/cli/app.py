"""Runs a command line: finds the command in the tree, loads it, and has its options read."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from noughts_server.cli import plain_parser
from noughts_server.cli.commands import Group
from noughts_server.cli.errors import FAILED, USAGE, Problem, show
from noughts_server.cli.tree import TREE


def run(arguments: Sequence[str]) -> None:
    """Does what the arguments say, as they come after `noughts`. Ends with SystemExit when there is an exit code."""
    try:
        try:
            _run(arguments)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        # stdout takes no more. What is left in its buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reported = isinstance(error.__context__, SystemExit) and error.__context__.code
        # A reader that has enough, as `head`, is no error to report.
        if not reported and not isinstance(error, BrokenPipeError):
            show(Problem(f"standard output: {error.strerror}"))
        sys.exit(FAILED)


def _run(arguments: Sequence[str]) -> None:
    if "_NOUGHTS_COMPLETE" in os.environ and find_spec("typer"):  # a shell asks which words may follow
        _run_typer(arguments, None)
        return
    path, node, rest = TREE.find(arguments)
    line = " ".join([TREE.name, *path])
    if isinstance(node, Group):
        if rest in ([], ["--help"], ["-h"]):
            _show_group(path, node, asked=bool(rest))
        elif find_spec("typer"):
            _run_typer(arguments, path)
        else:
            plain_parser.explain_group(line, node, rest)
        return
    loaded = node.load(line)
    values = plain_parser.read(loaded, rest)
    if values is not None:
        loaded.run(**values)
    elif find_spec("typer"):
        _run_typer(arguments, path)
    else:
        plain_parser.explain(node, loaded, rest)


def _show_group(path: Sequence[str], group: Group, *, asked: bool) -> None:
    from noughts_server.cli.group_page import print_page

    print_page(TREE.name, path, group)
    if not asked:
        sys.exit(USAGE)
    print()


def _run_typer(arguments: Sequence[str], path: Sequence[str] | None) -> None:
    from noughts_server.cli.typer_parser import typer_app

    typer_app(TREE, path)(args=list(arguments), prog_name=TREE.name)
