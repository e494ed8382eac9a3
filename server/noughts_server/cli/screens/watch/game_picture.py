"""A game of the feed as a picture: its board in a frame, the players, their clocks, the last moves."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.rules import VariantError, parse_variant
from noughts_server.cli import printing
from noughts_server.cli.drawing.boards import STYLES, board_lines, board_width, cells_text
from noughts_server.cli.drawing.feed_lines import clocks_of, ending_text, score_text, scores_of, short_game
from noughts_server.cli.screens.clocks import precise

_MOST_MOVES = 7
"""The last moves that fit into a narrow picture."""
_STATE_STYLES = {pb.GAME_STATE_ENDED: "bold green", pb.GAME_STATE_WAITING: "dim"}
_NARROWEST = 28
"""Columns that the players with their clocks need."""
_FRAME = 2
"""Lines of a frame, and the columns of each side with their padding."""


class Picture(NamedTuple):
    """A drawn game and its size."""

    panel: Panel
    width: int
    height: int
    """The height in lines. No line is wrapped."""


def picture(
    game: pb.WatchedGame,
    seconds_since_move: Callable[[str], float],
    width: int,
    *,
    full: bool = True,
    height: int | None = None,
    selected: bool = False,
) -> Picture:
    """Return the game in at most `width` columns, with all details (`full`) or as low as its board allows.

    `seconds_since_move` returns the seconds since a game's last ply. If the board exceeds `height` lines, the picture
    shows the part around the last move, and the title says so. A selected game has a heavy frame.
    """
    inner_width = width - 2 * _FRAME
    over = game.state == pb.GAME_STATE_ENDED
    mover = len(game.moves) & 1
    players = [_player(game, side, seconds_since_move, to_move=not over and side == mover) for side in (0, 1)]
    below = [Text(state_text(game), style=_STATE_STYLES.get(game.state, ""))]
    if full:
        if any(score is not None for score in scores_of(game)):
            below.append(_scores(game))
        first_ply = max(0, len(game.moves) - _MOST_MOVES)
        last = ("... " if first_ply else "") + cells_text(game.variant, game.moves[first_ply:])
        below.append(Text(last, style="dim", no_wrap=True, overflow="ellipsis"))
    board = board_lines(game.variant, game.moves, game.winning_cells, width=inner_width)
    title = printing.printable(short_game(game.name))
    board_height = None if height is None else height - _FRAME - len(players) - len(below)
    if board_height is not None and board_height < len(board):
        visible_lines = _window(game, board, max(1, board_height))
        title += f", {len(visible_lines)} of {len(board)} lines"
        board = visible_lines
    space = [Text("")] if full else []
    lines = [*players, *space, *board, *space, *below]
    panel_width = min(width, max(_NARROWEST, board_width(game.variant, inner_width) + 2 * _FRAME))
    frame = box.HEAVY if selected else box.ROUNDED
    return Picture(Panel(Group(*lines), frame, title=title, width=panel_width), panel_width, len(lines) + _FRAME)


def _window(game: pb.WatchedGame, board: Sequence[Text], count: int) -> list[Text]:
    """Return `count` lines of the board, centred on the last move if possible."""
    try:
        variant = parse_variant(game.variant)
        row = game.moves[-1] // variant.columns if game.moves else len(board) // 2
    except VariantError:
        row = 0
    first = max(0, min(row - count // 2, len(board) - count))
    return list(board[first : first + count])


def _player(game: pb.WatchedGame, side: int, seconds_since_move: Callable[[str], float], *, to_move: bool) -> Text:
    name = printing.printable((game.first, game.second)[side])
    text = Text(f"{'>' if to_move else ' '} ", no_wrap=True, overflow="ellipsis")
    text.append("XO"[side], style=STYLES[side]).append(f" {name}", style="bold" if to_move else "")
    clock_us = clocks_of(game)[side]
    if clock_us is not None:
        seconds_left = clock_us / 1e6
        if to_move and game.state == pb.GAME_STATE_RUNNING:
            seconds_left -= seconds_since_move(game.name)
        text.append(f"  {precise(seconds_left)}", style="reverse" if to_move else "")
    return text


def state_text(game: pb.WatchedGame) -> str:
    """Return e.g. `ply 12, 0.4 ms`, or how the game ended."""
    if game.state == pb.GAME_STATE_ENDED:
        return ending_text(game)
    if game.state == pb.GAME_STATE_WAITING:
        return f"ply {len(game.moves)}, waits for its bots" if game.moves else "has not begun"
    duration = f", {game.times_us[-1] / 1000:.1f} ms" if game.times_us else ""
    return f"ply {len(game.moves)}{duration}"


def _scores(game: pb.WatchedGame) -> Text:
    text = Text("score", no_wrap=True, overflow="ellipsis")
    for side, score in enumerate(scores_of(game)):
        text.append("  ").append("XO"[side], style=STYLES[side]).append(f" {score_text(score)}")
    return text
