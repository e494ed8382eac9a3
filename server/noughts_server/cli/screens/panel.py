"""The panel next to the board: players and clocks, score and moves. On a narrow screen it is a strip of a few lines."""

from rich.text import Text

from noughts_referee.rules import cell_name
from noughts_server.cli.screens.board_layout import MARK_STYLES, QUIET
from noughts_server.cli.screens.shown_game import YOU, ShownGame

PANEL_WIDTH = 25
STRIP_LINES = 3
_STRIP_NAME = 14
"""Maximum length of a name in the strip."""


def panel(game: ShownGame, cursor: int | None, lines: int) -> Text:
    """Return the panel with at most `lines` lines; the last moves fill it. `cursor` is a cell, None for no cursor."""
    text = Text()
    for index, player in enumerate(game.players):
        text.append_text(_player(game, index, PANEL_WIDTH - 6)).append("\n")
        if player.clock is not None:
            text.append(f"    {player.clock}\n", style="reverse" if index == game.mover else "")
    if game.tally:
        text.append("\nGames so far\n")
    for name, count in game.tally:
        text.append(f"  {shorten(name, PANEL_WIDTH - 9):<{PANEL_WIDTH - 9}}{count:>4}\n")
    text.append("\n")
    text.append(f"{game.variant.name}, {game.caption}\n", style=QUIET)
    for line in (_last_move(game, PANEL_WIDTH - 4), score_text(game)):
        if line:
            text.append(f"{line}\n", style=QUIET)
    if cursor is not None:
        text.append(f"cursor: {cell_name(game.variant, cursor)}\n", style=QUIET)
    # Leave space for a blank line and a heading.
    free_lines = lines - text.plain.count("\n") - 2
    if rows := _move_rows(game, free_lines):
        text.append("\nMoves\n")
        text.append("\n".join(rows), style=QUIET)
    return text


def strip(game: ShownGame, cursor: int | None, width: int) -> Text:
    """Return players, score and moves in three lines of at most `width` characters."""
    players = Text()
    for index, player in enumerate(game.players):
        players.append_text(_player(game, index, _STRIP_NAME))
        if player.wins is not None:
            players.append(f" {player.wins}")
        if player.clock is not None:
            players.append(f" {player.clock}", style="reverse" if index == game.mover else "")
        players.append("  ")
    if game.tally:
        _, (_, draws), _ = game.tally
        players.append(f"draws {draws}")
    details = [_last_move(game, _STRIP_NAME), score_text(game)]
    if cursor is not None:
        details.insert(0, f"cursor: {cell_name(game.variant, cursor)}")
    cells = [cell_name(game.variant, cell) for cell in game.moves]
    moves = " ".join(cells)
    if len(moves) > width - len("moves: "):
        moves = "... " + moves[-(width - len("moves: ... ")) :].partition(" ")[2]
    lines = [players, Text("  ".join(filter(None, details)), style=QUIET), Text(f"moves: {moves}", style=QUIET)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def score_text(game: ShownGame) -> str:
    """Return a bot's score of its last move, on its own scale; empty if it has none."""
    plies = [ply for ply in game.scores if ply < len(game.moves)]
    if not plies:
        return ""
    ply = max(plies)
    return f"score of {cell_name(game.variant, game.moves[ply])}: {game.scores[ply]:g}"


def shorten(name: str, width: int) -> str:
    """Return the name, cut to `width`; the status line shows it in full."""
    return name if len(name) <= width else f"{name[: width - 1]}\N{HORIZONTAL ELLIPSIS}"


def _player(game: ShownGame, index: int, width: int) -> Text:
    player = game.players[index]
    to_move = index == game.mover
    text = Text("> " if to_move else "  ", style="bold")
    text.append(player.mark, style=MARK_STYLES[player.mark])
    return text.append(f" {shorten(player.name, width)}", style="bold" if to_move else "not bold")


def _last_move(game: ShownGame, width: int) -> str:
    if not game.moves:
        return ""
    mover = (len(game.moves) - 1) % 2
    name = game.players[mover].name
    label = "you" if name == YOU else name
    return f"last: {cell_name(game.variant, game.moves[-1])} ({shorten(label, width)})"


def _move_rows(game: ShownGame, limit: int) -> list[str]:
    """Return rows of the last moves, two plies and their number in each."""
    cells = [cell_name(game.variant, cell) for cell in game.moves]
    widest = max(map(len, cells), default=0)
    rows = [
        f"{ply // 2 + 1:>3}. {'  '.join(f'{cell:<{widest}}' for cell in cells[ply : ply + 2])}".rstrip()
        for ply in range(0, len(cells), 2)
    ]
    return rows[-limit:] if limit > 0 else []
