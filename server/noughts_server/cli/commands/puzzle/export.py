"""The command `noughts puzzle export`."""

from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.puzzles import PuzzleFilter
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.position_files import write_positions
from noughts_server.records.puzzles import puzzle_document


@command(
    example="""
$ noughts puzzle export -o puzzles.jsonl
puzzles.jsonl: ...
"""
)
def export(
    file: Annotated[Path, Option("-o", "--output", metavar="FILE", help="File to write", rich_help_panel="Output")],
    *,
    puzzle_filter: PuzzleFilter,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Write puzzles to a file, one JSON document per line, on which `noughts bot check` tests a bot.

    The lines are those of `noughts puzzle list --format json`.
    """
    with server.connected() as client:
        count = write_positions(file, map(puzzle_document, puzzle_filter.puzzles(client)))
    text = f"{file}: {printing.count(count, 'puzzle')}. noughts bot check SPEC --puzzles {file} tests a bot on them."
    output.show({"file": str(file), "puzzles": count}, text)
