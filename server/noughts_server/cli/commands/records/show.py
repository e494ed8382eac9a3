"""The command `noughts records show`."""

import sys
from functools import partial
from typing import Annotated

from typer import Argument

from noughts_referee.rules import in_words
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.records.files import FileArgument, Games, find_game, game_in, require_moves
from noughts_server.cli.drawing.boards import cells_text, print_board
from noughts_server.cli.extras import has_extra
from noughts_server.cli.game_sources import FileDialect, games_in
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.screens.board_layout import WON
from noughts_server.cli.screens.shown_game import ShownGame, ShownPlayer
from noughts_server.records.json_lines import json_document, winning_cells
from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.tables.recorded_game import RecordedGame


@command(
    example="""
$ noughts records show games.jsonl 1
Game 1: three-stage (X) - minimax (O)
1/2-1/2, board full; tictactoe, 9 plies
 3 X O X
 2 X O O
 1 O X X
...
""",
    extra="server",
)
def show(
    file: FileArgument,
    number: Annotated[int, Argument(metavar="N", help="Number of the game in the file, from 1")] = 1,
    *,
    files: FileDialect,
    output: OutputOptions,
) -> None:
    """Show one game: step by step on a terminal, otherwise its last position and its moves.

    Keys: Left and Right step one ply, Up and Down ten; Home and End go to the first and last position; p and n show the
    previous and next game; q quits.
    """
    require_moves(file)
    _show_game(output, file, number, partial(games_in, dialect=files.dialect))


def _show_game(output: OutputOptions, file: str, number: int, games: Games) -> None:
    """Show the game at this place of the file, from 1."""
    game = game_in(file, number, games)
    if output.is_json:
        printing.print_json({"number": number, **json_document(game)})
        return
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    game_on_screen = _game_for_screen(number, game) if on_terminal and has_extra("play") else None
    if game_on_screen is None:
        _print(number, game)
        return
    from noughts_server.cli.screens.application import run_mode
    from noughts_server.cli.screens.watch.mode import WatchMode
    from noughts_server.cli.screens.watch.recorded import RecordedGames

    def find(number: int) -> ShownGame | None:
        return _game_for_screen(number, find_game(file, number, games))

    run_mode(WatchMode(RecordedGames(number, game_on_screen, find)))


def _game_for_screen(number: int, game: RecordedGame | None) -> ShownGame | None:
    """Return the game for the screen; None for a game whose moves cannot be put on a board."""
    try:
        variant = variant_of(game.variant) if game else None
    except RecordError:
        return None
    if game is None or variant is None or not all(0 <= cell < variant.cells for cell in game.moves):
        return None
    first, second = printing.printable(game.first or "?"), printing.printable(game.second or "?")
    ending = printing.printable(f"{game.result} {game.termination}")
    return ShownGame(
        variant=variant,
        caption=f"game {number}",
        players=(ShownPlayer(name=first, mark="X"), ShownPlayer(name=second, mark="O")),
        moves=game.moves,
        status=f"Game {number}: {first} (X) - {second} (O)  {ending}",
        over=True,
        times_ms=game.times_ms,
        opening_plies=game.opening_plies,
        winning=frozenset(winning_cells(game) or ()),
        winning_colour=WON,
    )


def _print(number: int, game: RecordedGame) -> None:
    console = printing.stdout()
    printing.heading(console, f"Game {number}: {game.first or '?'} (X) - {game.second or '?'} (O)")
    termination = f", {in_words(game.termination)}" if game.termination else ""
    console.print(f"{game.result}{termination}; {game.variant}, {printing.count(len(game.moves), 'ply', 'plies')}")
    if game.fault:
        console.print(printing.printable(f"The loser {game.fault}"), soft_wrap=True)
    print_board(console, game.variant, game.moves, winning_cells(game) or ())
    if game.opening_plies:
        console.print(f"opening: {cells_text(game.variant, game.opening)}", soft_wrap=True)
    console.print(f"moves: {cells_text(game.variant, game.moves)}", soft_wrap=True)
