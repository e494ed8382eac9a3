"""The command `noughts puzzle list`."""

from functools import partial

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.puzzles import PuzzleFilter
from noughts_server.cli.options.server import ServerOptions
from noughts_server.records.puzzles import puzzle_document

_COLUMNS = ("variant", ">moves", "kind", "game", ">ply", "bot", "found", "position")


@command(
    example="""
$ noughts puzzle list --variant tictactoe --limit 2
...
"""
)
def list_puzzles(*, puzzle_filter: PuzzleFilter, server: ServerOptions, output: ListOptions) -> None:
    """List the puzzles of a server by variant and by moves to the win.

    A puzzle is a position of a stored game in which exactly one move wins, in two or more moves. Both are proven: by a
    search to the end of the game, or on large boards by forced wins that `threats` finds. On large boards there is a
    second kind, `continuous_fours`: exactly one move wins so that each further move threatens to complete a line with
    the next one; all such attacks were searched. Positions that are equal when they are turned or mirrored are one
    puzzle. The server searches its games in the background.
    """
    with server.connected() as client:
        puzzles = output.limited(partial(puzzle_filter.puzzles, client))
        output.show_each(
            map(puzzle_document, puzzles),
            lambda: printing.print_rows(_COLUMNS, map(_row, puzzles), "No such puzzles yet."),
        )


def _row(puzzle: pb.Puzzle) -> tuple[object, ...]:
    row = puzzle_document(puzzle)
    found = "yes" if row["found"] else "no"
    kind = row["kind"].replace("_", " ")
    return row["variant"], row["moves_to_win"], kind, row["game"], row["ply"], row["bot"], found, row["position"]
