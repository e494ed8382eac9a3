"""A board with the players, the clocks and the moves next to it: what the modes of the application share."""

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, ScrollableContainer, Vertical
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widgets import Static

from noughts_server.cli.screens.board_layout import Scene, fits
from noughts_server.cli.screens.panel import PANEL_WIDTH, STRIP_LINES, panel, strip
from noughts_server.cli.screens.shown_game import MoveSource, ShownGame
from noughts_server.cli.screens.widgets import Board

_NARROW = 60
"""Screens with fewer columns show the strip instead of the panel."""
_LINES_BELOW = 3


class Mode(Screen[None]):
    """A mode of the application."""

    def __init__(self, source: MoveSource) -> None:
        super().__init__()
        self.source = source

    def show(self) -> None:
        """Redraw what has changed."""

    def action_leave(self) -> None:
        """Leave the application."""
        self.app.exit()


class BoardMode(Mode):
    """A board, the panel or strip, a status line, a message and the keys."""

    key_line = ""
    """The keys, in Textual's markup."""

    def __init__(self, source: MoveSource) -> None:
        super().__init__(source)
        self._is_narrow = False
        """Whether a strip of lines replaces the panel."""
        self._texts: dict[str, str] = {}
        """The texts of the widgets, as markup."""
        self._is_composed = False
        """Whether the widgets exist: moves can arrive before that."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="middle"):
            board_area = ScrollableContainer(Board(self.source.game.variant), id="board-area")
            board_area.can_focus = False
            yield board_area
            side_panel = Vertical(Static(id="players"), id="panel")
            side_panel.styles.width = PANEL_WIDTH
            yield side_panel
        yield Static(id="strip")
        yield Static(id="status")
        yield Static(id="message")
        yield Static(self.key_line, id="keys")

    def on_mount(self) -> None:
        self._is_composed = True
        self.show()

    def on_resize(self, event: events.Resize) -> None:
        self.fit(event.size)
        self.show()

    def fit(self, size: Size) -> None:
        """Fit the board to the screen. If the panel would hide part of the board, the strip replaces it."""
        variant = self.source.game.variant
        width_beside_panel = size.width - PANEL_WIDTH
        self._is_narrow = size.width < _NARROW or not fits(variant, width_beside_panel)
        self.query_one("#panel").display = not self._is_narrow
        self.query_one("#strip").display = self._is_narrow
        lines = size.height - _LINES_BELOW
        space = (size.width, lines - STRIP_LINES) if self._is_narrow else (width_beside_panel, lines)
        self.query_one(Board).fit(variant, space)

    def show(self) -> None:
        if self._is_composed and self.is_attached:
            self.draw(self.source.game)

    def draw(self, game: ShownGame) -> None:
        """Draw this game. Subclasses add a cursor and the lines below the board."""
        self.draw_game(game, None)

    def draw_game(self, game: ShownGame, cursor: int | None) -> None:
        """Draw the board and the panel or strip."""
        board = self.query_one(Board)
        if board.layout_of_board.variant is not game.variant:
            # The next game can have another variant.
            self.fit(self.size)
        board.show(
            Scene(
                stones=game.stones,
                cursor=cursor,
                last=game.moves[-1] if game.moves else None,
                winning=game.winning,
                winning_colour=game.winning_colour,
                forbidden=game.forbidden,
            )
        )
        if self._is_narrow:
            self._update("strip", strip(game, cursor, self.size.width - 2))
        else:
            self._update("players", panel(game, cursor, self.size.height - _LINES_BELOW))

    def write(self, status: str, message: str) -> None:
        """Write the two lines below the board."""
        self._update("status", Text(status, no_wrap=True, overflow="ellipsis"))
        self._update("message", Text(message, no_wrap=True, overflow="ellipsis"))

    def _update(self, name: str, text: Text) -> None:
        """Update the text of a widget, unless it is the same."""
        if self._texts.get(name) != text.markup:
            self._texts[name] = text.markup
            self.query_one(f"#{name}", Static).update(text)

    def follow(self, cell: int) -> None:
        """Scroll to the cell if the board is larger than the screen."""
        board_area = self.query_one("#board-area", ScrollableContainer)
        layout = self.query_one(Board).layout_of_board
        place = layout.place(cell)
        left = place.column - 1
        top = place.line
        first_cell = layout.place(0)
        # At the first row or column, scroll to their names, too.
        if left < first_cell.column:
            left = 0
        if top <= first_cell.line:
            top = 0
        region = Region(left, top, place.column + layout.size.width + 1 - left, place.line + layout.size.height - top)
        if board_area.max_scroll_x or board_area.max_scroll_y:
            board_area.scroll_to_region(region, animate=False, force=True)
