"""The command `noughts game explain`."""

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument

from noughts_proto.v1 import games_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.records.files import game_in, require_moves
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.game_sources import FileDialect, games_in, record_of
from noughts_server.cli.options.names import read_numbered_game
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.records.explaining import explanation, sentences
from noughts_server.records.formats import FORMATS
from noughts_server.records.recorded_game import RecordError


@command(
    example="""
$ noughts game explain autumn/2
...
Ply ...: X (rival) played ... and turned a draw into a loss.
  Better: ...
...
"""
)
def explain(
    name: Annotated[
        str,
        Argument(metavar="GAME", help="Game on a server, e.g. `spring/7`, or a file of games or tournament before N"),
    ],
    number: Annotated[
        int | None, Argument(metavar="N", help="Number of the game in the file (default: 1) or tournament")
    ] = None,
    *,
    files: FileDialect,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Report the moves that turned a game: those that made its value worse for the mover, in order.

    The value is who wins if both sides play best, as `noughts solve` finds it: exact if few cells are free, a forced
    win that `threats` proves otherwise. Better moves keep the value; where it is unknown, they are only not known to
    lose. If no solver knows any position, the command says so.
    """
    if Path(name).exists():
        require_moves(name)
        number = 1 if number is None else number
        game = game_in(name, number, partial(games_in, dialect=files.dialect))
        label = f"{name}, game {number}"
    elif Path(name).suffix.lower() in FORMATS or (number is None and "/" not in name):
        raise UsageProblem(
            f"GAME: got {name!r}, expected an existing file of games, or a game on a server, e.g. `spring/7`",
            "Check the path." if Path(name).suffix else f"Name one game of a tournament: noughts game explain {name} 1",
        )
    else:
        game_name = read_numbered_game(name, number)
        with server.connected() as client:
            game = record_of(client.call(client.games.GetGame, pb.GetGameRequest(name=game_name)).game)
        label = name if number is None else f"{name}/{number}"
    with problems_with(label, RecordError, raises=Problem), counting("Positions") as show:
        verdict = explanation(game, show)
    lines = [f"{label}: {game.first} (X) - {game.second} (O), {game.result}; {game.variant}", *sentences(verdict)]
    output.show({"game": label, "variant": game.variant, **verdict}, printing.printable("\n".join(lines)))
