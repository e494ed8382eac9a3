"""A feed on a terminal: boards, clocks and standings, redrawn as they change."""

import time
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.drawing.feed_lines import tournament_line
from noughts_server.cli.screens.watch.game_picture import Picture, picture
from noughts_server.cli.screens.watch.layout import arranged, packed

_REDRAWN_A_SECOND = 8
_ARROW_SECONDS = 4.0
_BAR_WIDTH = 60
_NARROW = 60
"""With fewer columns, standings omit wins, draws and losses."""


class Screen:
    """Draws the feed a few times a second, fitted to the terminal.

    At the end the boards remain, with the whole standings below them.
    """

    def __init__(self, resource: str, console: Console, get_time: Callable[[], float] = time.monotonic) -> None:
        """`get_time` is a clock in seconds, e.g. `time.monotonic`."""
        self._get_time = get_time
        self._resource = resource
        self._console = console
        self._view = View()
        self._lost = ""
        self._lost_at: float | None = None
        """When the connection was lost; clocks stop then because no data arrives."""
        self._over = False
        self._moved_at: dict[str, float] = {}
        """When the last ply of each game arrived."""
        self._arrows: dict[tuple[str, str], tuple[str, float]] = {}
        """Arrows with their times, by entry (tournament, label) whose rank changed lately."""
        self._lock = Lock()
        self._up, self._down = ("▲", "▼") if console.encoding.lower().startswith("utf") else ("^", "v")
        self._live = Live(
            get_renderable=self._drawn,
            console=console,
            refresh_per_second=_REDRAWN_A_SECOND,
            # Nothing else prints here, and the redirected streams would have an unknown encoding.
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._over = True
        self._live.stop()

    def message(self, message: pb.WatchResponse, view: View) -> None:
        """Take in a message, which the next refresh draws."""
        now = self._get_time()
        with self._lock:
            self._lost, self._lost_at = "", None
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
        with self._lock:
            self._lost = f"Connection lost, trying again: {reason}"
            self._lost_at = self._lost_at or self._get_time()

    def _note_ranks(self, tournaments: Iterable[pb.WatchedTournament], view: View, now: float) -> None:
        for tournament in tournaments:
            before = view.tournaments.get(tournament.name)
            ranks = {row.standing.label: row.rank for row in before.standings} if before else {}
            for row in tournament.standings:
                label = row.standing.label
                if ranks.get(label, row.rank) != row.rank:
                    self._arrows[tournament.name, label] = (self._up if row.rank < ranks[label] else self._down, now)

    # Drawing, in the display's thread.

    def _drawn(self) -> RenderableType:
        with self._lock:
            tournaments = list(self._view.tournaments.values())
            above: list[RenderableType] = []
            if not self._view.seen:
                above.append(Text(f"Waiting for {self._resource} ..."))
            elif not tournaments and not self._view.games:
                above.append(Text("No games are live. Press Ctrl-C to leave."))
            if self._lost:
                above.append(Text(printing.printable(self._lost), style="yellow", no_wrap=True, overflow="ellipsis"))
            if self._over:
                return Group(*self._at_the_end(tournaments), *above)
            above += [part for tournament in tournaments for part in self._head(tournament)]
            # Leave the last line free: a display that fills the terminal scrolls.
            return Group(*above, *self._body(tournaments, self._console.height - 1 - len(above)))

    def _body(self, tournaments: Sequence[pb.WatchedTournament], height: int) -> list[RenderableType]:
        width = self._console.width

        def draw(full: bool, most: int | None) -> list[Picture]:
            return [picture(game, self._passed, width, full=full, height=most) for game in self._view.games.values()]

        entries = [len(each.standings) for each in tournaments]
        layout = arranged(draw, entries, width, height)
        hidden = len(self._view.games) - sum(map(len, layout.boards))
        if hidden:
            layout = arranged(draw, entries, width, height - 1)
            hidden = len(self._view.games) - sum(map(len, layout.boards))
        room = width - layout.boards[0][0].width - 1 if layout.beside else width
        standings = [self._standings(each, layout.rows, room) for each in tournaments if each.standings and layout.rows]
        boards: list[RenderableType] = [_row(each.panel for each in row) for row in layout.boards]
        if hidden:
            boards.append(
                Text(f"... {printing.count(hidden, 'more game')} not shown (terminal too small)", style="dim")
            )
        if layout.beside:
            return [_row([boards[0], Group(*standings)]), *boards[1:]]
        return [*standings, *boards]

    def _at_the_end(self, tournaments: Sequence[pb.WatchedTournament]) -> list[RenderableType]:
        """Return what remains at the end: all boards, and the final result below them."""
        width = self._console.width
        games = [picture(game, self._passed, width) for game in self._view.games.values()]
        parts: list[RenderableType] = [_row(each.panel for each in row) for row in packed(games, width)]
        for tournament in tournaments:
            parts += self._head(tournament)
            if count := len(tournament.standings):
                parts.append(self._standings(tournament, count, width))
        return parts

    def _head(self, tournament: pb.WatchedTournament) -> list[RenderableType]:
        heading = Text(printing.printable(tournament_line(tournament)), style="bold", no_wrap=True, overflow="ellipsis")
        if tournament.title:
            heading.append(f"  {printing.printable(tournament.title)}", style="not bold")
        if self._lost and not self._over:
            return [heading]  # the line about the lost connection replaces the bar
        width = min(_BAR_WIDTH, self._console.width - 1)
        return [
            heading,
            # A bar does not end its line.
            Padding(ProgressBar(total=max(1, tournament.games_total), completed=tournament.games_done, width=width)),
        ]

    def _standings(self, tournament: pb.WatchedTournament, rows: int, width: int) -> Table:
        narrow = width < _NARROW
        record = () if narrow else (">wins", ">draws", ">losses")
        # The column is shown only if there are faults, which are rare.
        faults = (">faults",) if any(row.standing.faults for row in tournament.standings) else ()
        table = printing.table(("", ">#", "bot", ">points", *record, *faults, ">rating"), ())
        # Shorten long names with an ellipsis instead of breaking rows.
        table.columns[2].no_wrap, table.columns[2].overflow = True, "ellipsis"
        for row in tournament.standings[:rows]:
            standing = row.standing
            table.add_row(
                self._arrow(tournament.name, standing.label),
                str(standing.rank or row.rank),
                Text(printing.printable(standing.label)),
                printing.points(standing.points),
                *(() if narrow else map(str, (standing.wins, standing.draws, standing.losses))),
                *(str(standing.faults) for _ in faults),
                printing.rating(standing.rating if standing.HasField("rating") else None),
            )
        if rows < len(tournament.standings):
            table.add_row("", "", f"... {len(tournament.standings) - rows:,} more")
        return table

    def _arrow(self, tournament: str, label: str) -> Text:
        arrow, since = self._arrows.get((tournament, label), ("", 0.0))
        if not arrow or self._get_time() - since > _ARROW_SECONDS:
            return Text(" ")
        return Text(arrow, style="green" if arrow == self._up else "red")

    def _passed(self, game: str) -> float:
        """Seconds since the game's last ply, as far as that is known."""
        now = self._lost_at or self._get_time()
        return max(0.0, now - self._moved_at.get(game, now))


def _row(parts: Iterable[RenderableType]) -> Table:
    """The parts side by side, a blank column between two of them."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(*parts)
    return grid
