"""The mode that shows all games of a feed, and opens one of them."""

from textual import events
from textual.app import ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from noughts_server.cli.screens.board_mode import Mode
from noughts_server.cli.screens.watch.games_of_feed import GamesOfFeed
from noughts_server.cli.screens.watch.mode import WatchMode
from noughts_server.cli.screens.watch.overview import Overview

_KEYS = "←→ choose a game  Enter open it  q quit"
_TURNS = {"left": -1, "up": -1, "p": -1, "shift+tab": -1, "right": 1, "down": 1, "n": 1, "tab": 1}


class _Pictures(Widget):
    """The overview, fitted to the widget."""

    def __init__(self, overview: Overview, games: GamesOfFeed) -> None:
        super().__init__(id="pictures")
        self._overview = overview
        self._games = games
        self.has_selection = False
        """Whether the overview marks the selected game."""
        self._strips: list[Strip] = []

    def redraw(self) -> None:
        """Draw the overview, and send only the lines that differ to the terminal."""
        width, height = self.size
        selected = self._games.selected if self.has_selection else ""
        console = self.app.console
        lines = console.render_lines(
            self._overview.live(width, height, selected), console.options.update(width=width, height=height)
        )
        previous_strips = self._strips
        self._strips = [Strip(line).apply_style(self.rich_style) for line in lines]
        changed = [
            Region(0, line, width, 1)
            for line, strip in enumerate(self._strips)
            if line >= len(previous_strips) or strip != previous_strips[line]
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def on_resize(self) -> None:
        self._strips = []
        self.redraw()


class OverviewMode(Mode):
    """Shows the overview of a feed. If the feed is one game, its board opens as soon as it is known."""

    def __init__(self, games: GamesOfFeed, encoding: str) -> None:
        super().__init__(games)
        self._games = games
        self._pictures = _Pictures(Overview(games.state, encoding), games)
        self._opens_itself = "/games/" in games.state.resource
        games.stays = self._is_reading

    def compose(self) -> ComposeResult:
        yield self._pictures
        yield Static(_KEYS, id="keys")

    def show(self) -> None:
        if self._opens_itself and self._games.can_show:
            self._opens_itself = False
            self._open()
        self._pictures.redraw()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        key = event.key
        if key in ("q", "escape"):
            self.action_leave()
        elif key in ("enter", "space"):
            self._open()
        elif key in _TURNS:
            # The first key shows the selection, later ones move it.
            if not self._pictures.has_selection:
                self._pictures.has_selection = True
                self._games.select()
            elif not self._games.turn(_TURNS[key]):
                self.app.bell()
            self._pictures.redraw()

    def _open(self) -> None:
        if self._games.can_show:
            self.app.push_screen(WatchMode(self._games, overview=True))
        else:
            self.app.bell()

    def _is_reading(self) -> bool:
        """Return whether the user looks at an earlier position, which the end of the feed must not close."""
        top = self.app.screen
        return isinstance(top, WatchMode) and top.shows_earlier_position
