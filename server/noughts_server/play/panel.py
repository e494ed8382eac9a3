"""The panel next to the board: players and clocks, score and moves. On a narrow screen it is a strip of a few lines."""

from rich.text import Text

from noughts_referee.rules import cell_name
from noughts_server.play.drawing import MARK_STYLES, QUIET
from noughts_server.play.match import Match
from noughts_server.play.opponents import Seating
from noughts_server.play.status_line import YOU, score_rows

PANEL_WIDTH = 25
STRIP_LINES = 3
_STRIP_NAME = 14
"""Maximum length of a name in the strip."""


def panel(seating: Seating, cursor: int | None, lines: int) -> Text:
    """Return the panel with `lines` lines; moves fill the rest. `cursor` is a cell, None for no cursor."""
    match = seating.match
    text = Text()
    for player in (match.first, 1 - match.first):
        text.append_text(_player(match, player, PANEL_WIDTH - 6)).append("\n")
        if seating.clocks is not None:
            style = "reverse" if _to_move(match, player) else ""
            text.append(f"    {seating.clocks[player]}\n", style=style)
    text.append("\nGames so far\n")
    for name, count in score_rows(match):
        text.append(f"  {shortened(name, PANEL_WIDTH - 9):<{PANEL_WIDTH - 9}}{count:>4}\n")
    text.append("\n")
    text.append(f"{match.variant.name}, game {len(match.played) + 1}\n", style=QUIET)
    for line in (_last(match, PANEL_WIDTH - 4), score_text(seating)):
        if line:
            text.append(f"{line}\n", style=QUIET)
    if cursor is not None:
        text.append(f"cursor: {cell_name(match.variant, cursor)}\n", style=QUIET)
    # Leave space for a blank line and a heading.
    room = lines - text.plain.count("\n") - 2
    if rows := _move_rows(match, room):
        text.append("\nMoves\n")
        text.append("\n".join(rows), style=QUIET)
    return text


def strip(seating: Seating, cursor: int | None, width: int) -> Text:
    """Return the same in three lines of at most `width` characters."""
    match = seating.match
    counts = dict(zip((0, None, 1), (count for _, count in score_rows(match)), strict=True))
    players = Text()
    for player in (match.first, 1 - match.first):
        players.append_text(_player(match, player, _STRIP_NAME)).append(f" {counts[player]}")
        if seating.clocks is not None:
            players.append(f" {seating.clocks[player]}", style="reverse" if _to_move(match, player) else "")
        players.append("  ")
    players.append(f"draws {counts[None]}")
    now = [_last(match, _STRIP_NAME), score_text(seating)]
    if cursor is not None:
        now.insert(0, f"cursor: {cell_name(match.variant, cursor)}")
    cells = [cell_name(match.variant, cell) for cell in match.moves]
    moves = " ".join(cells)
    if len(moves) > width - len("moves: "):
        moves = "... " + moves[-(width - len("moves: ... ")) :].partition(" ")[2]
    lines = [players, Text("  ".join(filter(None, now)), style=QUIET), Text(f"moves: {moves}", style=QUIET)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def score_text(seating: Seating) -> str:
    """Return the bot's score of its last move, on its own scale; empty if it has none."""
    plies = [ply for ply in seating.scores if ply < len(seating.match.moves)]
    if not plies:
        return ""
    match = seating.match
    ply = max(plies)
    return f"score of {cell_name(match.variant, match.moves[ply])}: {seating.scores[ply]:g}"


def shortened(name: str, width: int) -> str:
    """Return the name, cut to `width`; the status line shows it in full."""
    return name if len(name) <= width else f"{name[: width - 1]}\N{HORIZONTAL ELLIPSIS}"


def _to_move(match: Match, player: int) -> bool:
    return match.ended is None and player == match.turn


def _player(match: Match, player: int, width: int) -> Text:
    to_move, mark = _to_move(match, player), match.marks[player]
    text = Text("> " if to_move else "  ", style="bold")
    text.append(mark, style=MARK_STYLES[mark])
    return text.append(f" {shortened(match.players[player].name, width)}", style="bold" if to_move else "not bold")


def _last(match: Match, width: int) -> str:
    if not match.moves:
        return ""
    last = match.players[match.mover(len(match.moves) - 1)]
    who = "you" if last.name == YOU else last.name
    return f"last: {cell_name(match.variant, match.moves[-1])} ({shortened(who, width)})"


def _move_rows(match: Match, most: int) -> list[str]:
    """Return rows of the last moves, two plies and their number in each."""
    cells = [cell_name(match.variant, cell) for cell in match.moves]
    widest = max(map(len, cells), default=0)
    rows = [
        f"{ply // 2 + 1:>3}. {'  '.join(f'{cell:<{widest}}' for cell in cells[ply : ply + 2])}".rstrip()
        for ply in range(0, len(cells), 2)
    ]
    return rows[-most:] if most > 0 else []
