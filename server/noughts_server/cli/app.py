"""Runs a command line: finds the command in the tree, loads it, and has its options read."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from noughts_server.cli.commands import Command
from noughts_server.cli.errors import USAGE
from noughts_server.cli.tree import TREE


def run(arguments: Sequence[str]) -> None:
    """Does what the arguments say, as they come after `noughts`. Ends with SystemExit when there is an exit code."""
    if "_NOUGHTS_COMPLETE" in os.environ and find_spec("typer"):  # a shell asks which words may follow
        return _run_typer(arguments, None)
    path, node, rest = TREE.find(arguments)
    if not isinstance(node, Command) and rest in ([], ["--help"]):
        from noughts_server.cli.group_page import print_page

        print_page(TREE.name, path, node)
        if not rest:
            sys.exit(USAGE)
        print()
        return None
    if find_spec("typer"):
        return _run_typer(arguments, path)
    from noughts_server.cli.plain_parser import run_plainly

    return run_plainly(TREE.name, path, node, rest)


def _run_typer(arguments: Sequence[str], path: Sequence[str] | None) -> None:
    from noughts_server.cli.typer_parser import typer_app

    typer_app(TREE, path)(args=list(arguments), prog_name=TREE.name)
