"""The overview of a feed: its games as pictures, its tournaments with their progress and standings."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.drawing.feed_lines import tournament_line
from noughts_server.cli.screens.watch.feed_state import FeedState
from noughts_server.cli.screens.watch.game_picture import Picture, picture
from noughts_server.cli.screens.watch.layout import arrange, pack

_BAR_WIDTH = 60
_NARROW = 60
"""With fewer columns, standings omit wins, draws and losses."""


class Overview:
    """Draws the state of a feed, fitted to a size in characters."""

    def __init__(self, state: FeedState, encoding: str) -> None:
        """`encoding` is that of the terminal."""
        self._state = state
        self._encoding = encoding
        self._arrows = {True: "▲", False: "▼"} if printing.unicode(encoding) else {True: "^", False: "v"}

    def live(self, width: int, height: int, selected: str = "") -> RenderableType:
        """Return the live games and the standings in at most `height` lines; `selected` is the name of a game."""
        with self._state.lock:
            tournaments = list(self._state.view.tournaments.values())
            above = self._notices()
            above += [part for tournament in tournaments for part in self._head(tournament, width)]
            return Group(*above, *self._body(tournaments, width, height - len(above), selected))

    def final(self, width: int) -> RenderableType:
        """Return all games, and the final standings below them."""
        with self._state.lock:
            pictures = [
                picture(game, self._state.seconds_since_move, width) for game in self._state.view.games.values()
            ]
            parts: list[RenderableType] = [_row(picture.panel for picture in row) for row in pack(pictures, width)]
            for tournament in self._state.view.tournaments.values():
                parts += self._head(tournament, width, over=True)
                if count := len(tournament.standings):
                    parts.append(self._standings(tournament, count, width))
            return Group(*parts, *self._notices())

    def _notices(self) -> list[RenderableType]:
        state = self._state
        lines: list[RenderableType] = []
        if not state.view.has_snapshot:
            lines.append(Text(f"Waiting for {state.resource} ..."))
        elif not state.view.tournaments and not state.view.games:
            lines.append(Text("No games are live. Press Ctrl-C to leave."))
        if state.lost_reason:
            lines.append(Text(state.lost_reason, style="yellow", no_wrap=True, overflow="ellipsis"))
        return lines

    def _body(
        self, tournaments: Sequence[pb.WatchedTournament], width: int, height: int, selected: str
    ) -> list[RenderableType]:
        games = list(self._state.view.games.values())
        first = 0

        def draw(full: bool, height: int | None) -> list[Picture]:
            seconds_since_move = self._state.seconds_since_move
            return [
                picture(game, seconds_since_move, width, full=full, height=height, selected=game.name == selected)
                for game in games[first:]
            ]

        entries = [len(tournament.standings) for tournament in tournaments]
        layout = arrange(draw, entries, width, height)
        hidden = len(games) - sum(map(len, layout.boards))
        if hidden:
            index = next((index for index, game in enumerate(games) if game.name == selected), 0)
            # Begin with the selected game if it does not fit after the others.
            first = index if index >= len(games) - hidden else 0
            layout = arrange(draw, entries, width, height - 1)
            hidden = len(games) - sum(map(len, layout.boards))
        if layout.beside:
            [[board, *_], *_] = layout.boards
            standings_width = width - board.width - 1
        else:
            standings_width = width
        standings = [
            self._standings(tournament, layout.rows, standings_width)
            for tournament in tournaments
            if tournament.standings and layout.rows
        ]
        boards: list[RenderableType] = [_row(picture.panel for picture in row) for row in layout.boards]
        if hidden:
            boards.append(
                Text(f"... {printing.count(hidden, 'more game')} not shown (terminal too small)", style="dim")
            )
        if layout.beside:
            return [_row([boards[0], Group(*standings)]), *boards[1:]]
        return [*standings, *boards]

    def _head(self, tournament: pb.WatchedTournament, width: int, *, over: bool = False) -> list[RenderableType]:
        heading = Text(printing.printable(tournament_line(tournament)), style="bold", no_wrap=True, overflow="ellipsis")
        if tournament.title:
            heading.append(f"  {printing.printable(tournament.title)}", style="not bold")
        if self._state.lost_reason and not over:
            return [heading]  # the line about the lost connection replaces the bar
        progress_bar = ProgressBar(
            total=max(1, tournament.games_total),
            completed=tournament.games_done,
            width=min(_BAR_WIDTH, width - 1),
        )
        return [heading, Padding(progress_bar)]  # a bar alone would not end its line

    def _standings(self, tournament: pb.WatchedTournament, rows: int, width: int) -> Table:
        narrow = width < _NARROW
        record = () if narrow else (">wins", ">draws", ">losses")
        # The column is shown only if there are faults, which are rare.
        faults = (">faults",) if any(row.standing.faults for row in tournament.standings) else ()
        table = printing.table(("", ">#", "bot", ">points", *record, *faults, ">rating"), ())
        # Shorten long names with an ellipsis instead of breaking rows.
        table.columns[2].no_wrap = True
        table.columns[2].overflow = "ellipsis"
        for row in tournament.standings[:rows]:
            standing = row.standing
            table.add_row(
                self._arrow(tournament.name, standing.label),
                str(standing.rank or row.rank),
                Text(printing.printable(standing.label)),
                printing.points(standing.points, self._encoding),
                *(() if narrow else map(str, (standing.wins, standing.draws, standing.losses))),
                *(str(standing.faults) for _ in faults),
                printing.rating(standing.rating if standing.HasField("rating") else None),
            )
        if rows < len(tournament.standings):
            table.add_row("", "", f"... {len(tournament.standings) - rows:,} more")
        return table

    def _arrow(self, tournament: str, label: str) -> Text:
        has_risen = self._state.has_risen(tournament, label)
        if has_risen is None:
            return Text(" ")
        return Text(self._arrows[has_risen], style="green" if has_risen else "red")


def _row(parts: Iterable[RenderableType]) -> Table:
    """Return the parts side by side, with a blank column between them."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(*parts)
    return grid
