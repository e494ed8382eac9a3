"""A feed on a terminal: boards, clocks, standings, redrawn as they change."""

import time
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli import output
from noughts_server.cli.drawing.boards import STYLES, board_lines, board_width, cells_text
from noughts_server.cli.remote.watch_lines import (
    clocks_of,
    ended_line,
    rating_of,
    score_text,
    scores_of,
    short_game,
    tournament_line,
)
from noughts_server.feed.view import View

if TYPE_CHECKING:
    from rich.console import Console

_REDRAWN_A_SECOND = 8
_ARROW_SECONDS = 4.0
_MOST_MOVES = 7
_LINES_BESIDE_STANDINGS = 20


class Screen:
    """Draws what is known, a few times a second; what stands there at the end stays."""

    def __init__(self, resource: str, console: "Console") -> None:
        self._resource = resource
        self._console = console
        self._view = View()
        self._lost = ""
        self._moved_at: dict[str, float] = {}
        """When the last ply of each game arrived."""
        self._arrows: dict[tuple[str, str], tuple[str, float]] = {}
        """Of an entry (tournament, label) that has lately changed its rank: the arrow, and since when."""
        self._lock = Lock()
        self._up, self._down = ("▲", "▼") if console.encoding.lower().startswith("utf") else ("^", "v")
        self._live = Live(
            get_renderable=self._drawn,
            console=console,
            refresh_per_second=_REDRAWN_A_SECOND,
            # Nothing else prints here, and what would be put in its place does not know its encoding.
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.stop()

    def message(self, message: pb.WatchResponse, view: View) -> None:
        """Takes a message in; it is drawn by and by."""
        now = time.monotonic()
        with self._lock:
            self._lost = ""
            for game in (*message.snapshot.games, *message.increments.games):
                self._moved_at[game.name] = now
            for ply in message.increments.plies:
                self._moved_at[ply.game] = now
            for name in message.increments.gone:
                self._moved_at.pop(name, None)
            self._note_ranks(message.increments.tournaments, view, now)
            view.take(message)
            self._view = view

    def lost(self, reason: str) -> None:
        """Shows that the connection is lost."""
        with self._lock:
            self._lost = f"Connection lost, trying again: {reason}"

    def _note_ranks(self, tournaments: Iterable[pb.WatchedTournament], view: View, now: float) -> None:
        for tournament in tournaments:
            before = view.tournaments.get(tournament.name)
            ranks = {row.standing.label: row.rank for row in before.standings} if before else {}
            for row in tournament.standings:
                label = row.standing.label
                if ranks.get(label, row.rank) != row.rank:
                    self._arrows[tournament.name, label] = (self._up if row.rank < ranks[label] else self._down, now)

    # Drawing; in the thread of the display.

    def _drawn(self) -> RenderableType:
        with self._lock:
            parts: list[RenderableType] = []
            if not self._view.seen:
                parts.append(Text(f"Waiting for {self._resource} ..."))
            elif not self._view.tournaments and not self._view.games:
                parts.append(Text("Nothing is being played now. Ctrl-C to leave."))
            for tournament in self._view.tournaments.values():
                parts += self._tournament(tournament)
            boards = [self._board(game) for game in self._view.games.values()]
            if boards:
                parts.append(Columns(boards, padding=(0, 1)))
            if self._lost:
                parts.append(Text(output.printable(self._lost), style="yellow"))
            return Group(*parts)

    def _tournament(self, tournament: pb.WatchedTournament) -> list[RenderableType]:
        heading = Text(output.printable(tournament_line(tournament)), style="bold")
        if tournament.title:
            heading.append(f"  {output.printable(tournament.title)}", style="not bold")
        width = min(60, self._console.width - 1)
        parts: list[RenderableType] = [
            heading,
            # A bar does not end its line by itself.
            Padding(ProgressBar(total=max(1, tournament.games_total), completed=tournament.games_done, width=width)),
        ]
        if tournament.standings:
            parts += [self._standings(tournament), Text("")]
        return parts

    def _standings(self, tournament: pb.WatchedTournament) -> Table:
        room = max(3, self._console.height - _LINES_BESIDE_STANDINGS)
        shown = list(tournament.standings)[:room]
        table = output.table(("", ">#", "bot", ">points", ">wins", ">draws", ">losses", ">rating"), ())
        for row in shown:
            standing = row.standing
            table.add_row(
                self._arrow(tournament.name, standing.label),
                str(row.rank),
                Text(output.printable(standing.label)),
                output.points(standing.points),
                *map(str, (standing.wins, standing.draws, standing.losses)),
                output.rating(rating_of(row)),
            )
        if len(shown) < len(tournament.standings):
            table.add_row("", "", f"... {len(tournament.standings) - len(shown):,} more", "", "", "", "", "")
        return table

    def _arrow(self, tournament: str, label: str) -> Text:
        arrow, since = self._arrows.get((tournament, label), ("", 0.0))
        if not arrow or time.monotonic() - since > _ARROW_SECONDS:
            return Text(" ")
        return Text(arrow, style="green" if arrow == self._up else "red")

    def _board(self, game: pb.WatchedGame) -> RenderableType:
        room = self._console.width - 4
        over = game.state == pb.GAME_STATE_ENDED
        mover = len(game.moves) & 1
        lines = [self._player(game, side, to_move=not over and side == mover) for side in (0, 1)]
        lines += [Text(""), *board_lines(game.variant, game.moves, game.winning_cells, width=room), Text("")]
        if over:
            lines.append(Text(ended_line(game), style="bold green"))
        elif game.state == pb.GAME_STATE_WAITING:
            lines.append(Text("has not begun", style="dim"))
        else:
            took = f", {game.times_us[-1] / 1000:.1f} ms" if game.times_us else ""
            lines.append(Text(f"ply {len(game.moves)}{took}"))
        if any(score is not None for score in scores_of(game)):
            lines.append(_scores(game))
        lines.append(Text(_last_moves(game), style="dim", no_wrap=True, overflow="ellipsis"))
        # In a frame with padding of four.
        width = min(self._console.width, max(28, board_width(game.variant, room) + 4))
        return Panel(Group(*lines), title=output.printable(short_game(game.name)), width=width)

    def _player(self, game: pb.WatchedGame, side: int, *, to_move: bool) -> Text:
        name = output.printable((game.first, game.second)[side])
        text = Text(f"{'>' if to_move else ' '} ", no_wrap=True, overflow="ellipsis")
        text.append("XO"[side], style=STYLES[side]).append(f" {name}", style="bold" if to_move else "")
        clock_us = clocks_of(game)[side]
        if clock_us is not None:
            left = clock_us / 1e6
            if to_move and game.state == pb.GAME_STATE_RUNNING:
                left -= time.monotonic() - self._moved_at.get(game.name, time.monotonic())
            text.append(f"  {_clock(left)}", style="reverse" if to_move else "")
        return text


def _scores(game: pb.WatchedGame) -> Text:
    """What each side thinks of its position."""
    text = Text("score", no_wrap=True, overflow="ellipsis")
    for side, score in enumerate(scores_of(game)):
        text.append("  ").append("XO"[side], style=STYLES[side]).append(f" {score_text(score)}")
    return text


def _last_moves(game: pb.WatchedGame) -> str:
    begin = max(0, len(game.moves) - _MOST_MOVES)
    return ("... " if begin else "") + cells_text(game.variant, game.moves[begin:])


def _clock(seconds: float) -> str:
    """`1:05.2`; tenths are cut, so that a minute never shows as 0:60.0."""
    tenths = max(0, int(seconds * 10))
    return f"{tenths // 600}:{tenths // 10 % 60:02}.{tenths % 10}"
