"""One game in a file: on a terminal on a screen that steps through it, else as text."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from noughts_referee.rules import in_words
from noughts_server.cli import output, printing
from noughts_server.cli.drawing.boards import cells_text, print_board
from noughts_server.cli.errors import UsageProblem, has_extra
from noughts_server.records.json_lines import json_document, winning_cells
from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.tables.recorded_game import RecordedGame

if TYPE_CHECKING:
    from noughts_server.play.replay_screen import ReplayedGame
Games = Callable[[str], "Iterator[RecordedGame]"]


def show_game(file: str, number: int, games: Games) -> None:
    """Shows the game at this place of the file, from 1."""
    game = game_in(file, number, games)
    if output.is_json():
        printing.print_json({"number": number, **json_document(game)})
        return
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    replayed = _replayed(game) if on_terminal and has_extra("play") else None
    if replayed is None:
        _print(number, game)
        return
    from noughts_server.play.replay_screen import ReplayScreen

    ReplayScreen(number, replayed, lambda wanted: _replayed(_found(file, wanted, games))).run()


def game_in(file: str, number: int, games: Games) -> RecordedGame:
    """Return the game at this place of the file, from 1. Raises UsageProblem."""
    game = _found(file, number, games)
    if game is None:
        count = sum(1 for _ in games(file))
        if not count:
            raise UsageProblem(f"{file}: got no games, expected at least one")
        raise UsageProblem(f"{file}: there is no game {number}, expected 1 to {count}", f"noughts records list {file}")
    return game


def _replayed(game: RecordedGame | None) -> "ReplayedGame | None":
    """For the screen; None for a game whose moves cannot be put on a board."""
    from noughts_server.play.replay_screen import ReplayedGame

    try:
        variant = variant_of(game.variant) if game else None
    except RecordError:
        return None
    if game is None or variant is None or not all(0 <= cell < variant.cells for cell in game.moves):
        return None
    return ReplayedGame(
        title=printing.printable(
            f"{game.first or '?'} (X) - {game.second or '?'} (O)  {game.result} {game.termination}"
        ),
        variant=variant,
        moves=game.moves,
        opening_plies=game.opening_plies,
        times_ms=game.times_ms,
        winning=frozenset(winning_cells(game) or ()),
    )


def _found(file: str, number: int, games: Games) -> RecordedGame | None:
    return next(islice(games(file), number - 1, None), None) if number > 0 else None


def _print(number: int, game: RecordedGame) -> None:
    console = printing.stdout()
    printing.heading(console, f"Game {number}: {game.first or '?'} (X) - {game.second or '?'} (O)")
    ended = f", {in_words(game.termination)}" if game.termination else ""
    console.print(f"{game.result}{ended}; {game.variant}, {printing.count(len(game.moves), 'ply', 'plies')}")
    if game.fault:
        console.print(printing.printable(f"The loser {game.fault}"), soft_wrap=True)
    print_board(console, game.variant, game.moves, winning_cells(game) or ())
    if game.opening_plies:
        console.print(f"opening: {cells_text(game.variant, game.opening)}", soft_wrap=True)
    console.print(f"moves: {cells_text(game.variant, game.moves)}", soft_wrap=True)
