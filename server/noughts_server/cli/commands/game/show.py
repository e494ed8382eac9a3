"""The command `noughts game show`."""

import shlex
from pathlib import Path
from typing import Annotated

from typer import Argument

from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import Thought, in_words
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.boards import cells_text, print_board
from noughts_server.cli.drawing.game import allowances, game_document
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.names import read_numbered_game
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.convert.times import time_control
from noughts_server.records.server_games import recorded_game, result_text, termination_text


@command(
    example="""
$ noughts game show autumn/7
tournaments/autumn/games/7: mybot (X) - rival (O)
1/2-1/2, board full; tictactoe, time none, seed ...
 3 X O X
 2 O O X
 1 X X O
...
"""
)
def show(
    name: Annotated[
        str,
        Argument(metavar="NAME", help="Game: `spring/7` or `tournaments/spring/games/7`, or its tournament before N"),
    ],
    number: Annotated[int | None, Argument(metavar="N", help="Number of the game in the tournament")] = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Show one game: its moves, its last position, and the cause of a bot's fault.

    A live game with a long time control shows its moves so far (termination `going_on`).

    Only a bot's owner, the organiser and admins can see its output, so the command needs a token to show it.
    """
    if Path(name).is_file():
        fix = f"Show a game of a file: noughts records show {shlex.quote(name)} {number or 1}"
        raise UsageProblem(f"NAME: got {name!r}, a file, expected a game on a server, e.g. `spring/7`", fix)
    request = pb.GetGameRequest(name=read_numbered_game(name, number))
    with server.connected() as client:
        response = client.call(client.games.GetGame, request)
    sides = {1: "first", 2: "second"}
    notes = [{"side": sides.get(note.side, str(note.side)), "text": note.text} for note in response.notes]
    document = game_document(response.game)
    if notes:
        document["notes"] = notes
    output.show(document, lambda: _print(response.game, notes))


def _print(game: pb.Game, notes: list[dict[str, str]]) -> None:
    console = printing.stdout()
    printing.heading(console, f"{game.name}: {game.first} (X) - {game.second} (O)")
    ending = f"{result_text(game)}, {in_words(termination_text(game))}"
    console.print(f"{ending}; {game.variant}, {_times(game)}, seed {game.seed}")
    record = recorded_game(game)
    if record.fault and record.loser is not None:
        fault = record.lost_by(record.loser)
        sentence = f"{fault['bot']} at ply {fault['ply']}: it {record.fault}"
        console.print(printing.printable(sentence), soft_wrap=True, markup=False)
    if game.adjudication:
        console.print(printing.printable(f"adjudicated: {game.adjudication}"), soft_wrap=True, markup=False)
    print_board(console, game.variant, game.moves, game.winning_cells)
    if game.HasField("agreement"):
        agreement = game.agreement
        console.print(f"opening: {agreement.rule}, {agreement.stones} stones agreed on, begun by {agreement.opener}")
    if game.opening_plies:
        console.print(f"opening: {cells_text(game.variant, game.moves[: game.opening_plies])}", soft_wrap=True)
    console.print(f"moves: {cells_text(game.variant, game.moves)}", soft_wrap=True)
    thoughts = record.thoughts
    for ply in sorted(game.thoughts.keys() | (game.scores.keys() if game.thoughts else set())):
        console.print(_thought_line(game, ply, thoughts.get(ply)), soft_wrap=True, markup=False)
    if game.HasField("first_allowance"):
        first, second = (f"{side.network_us / 1000:g} ms and {side.margin_us / 1000:g} ms" for side in allowances(game))
        allowances_text = first if first == second else f"{first} (first), {second} (second)"
        console.print(f"network and margin of each move, beyond its clock: {allowances_text}", soft_wrap=True)
    if game.winning_cells:
        console.print(f"winning cells: {cells_text(game.variant, game.winning_cells)}", soft_wrap=True)
    for note in notes:
        label = game.first if note["side"] == "first" else game.second
        console.print(f"\n{label}: {printing.printable(note['text'])}", soft_wrap=True, markup=False)


def _thought_line(game: pb.Game, ply: int, thought: Thought | None) -> str:
    """Return `3. h8: score +35, depth 12, 34,000 nodes, 1.2 s, expects h8 i9`."""
    variant = game.variant
    move = cells_text(variant, [game.moves[ply]]) if ply < len(game.moves) else "no move"
    parts = [f"score {game.scores[ply]:+g}"] if ply in game.scores else []
    if thought is not None:
        if thought.depth:
            parts.append(f"depth {thought.depth}")
        if thought.nodes:
            parts.append(printing.count(thought.nodes, "node"))
        if thought.time_us:
            parts.append(f"{thought.time_us / 1e6:g} s")
        if thought.pv:
            parts.append(f"expects {cells_text(variant, thought.pv)}")
    return f"{ply + 1}. {move}: {', '.join(parts)}"


def _times(game: pb.Game) -> str:
    """Return `time 1/move`; `time 1/move (X) and 5/move (O)` if the sides differ; with the factor of scaled times."""
    first, second = str(time_control(game.first_time)), str(time_control(game.second_time))
    times = f"time {first}" if first == second else f"time {first} (X) and {second} (O)"
    return f"{times}, multiplied by {game.time_factor:g}" if game.HasField("time_factor") else times
