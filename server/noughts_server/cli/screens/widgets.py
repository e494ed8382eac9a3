"""The widgets of the screen: the board, and the help over it."""

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from noughts_referee.rules import Variant
from noughts_server.cli.screens.board_layout import Layout, Scene


class Board(Widget):
    """The board: draws a scene and reports clicks on cells."""

    class Clicked(Message):
        """The user clicked a cell."""

        def __init__(self, cell: int) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self, variant: Variant) -> None:
        super().__init__(id="board")
        self.layout_of_board = Layout(variant, (0, 0))
        self._scene = Scene({})

    def fit(self, variant: Variant, space: tuple[int, int]) -> None:
        """Show a board of this variant in the largest size that fits into these columns and lines."""
        self.layout_of_board = Layout(variant, space)
        self.refresh(layout=True)

    def show(self, scene: Scene) -> None:
        """Draw this scene from now on."""
        if scene != self._scene:
            self._scene = scene
            self.refresh()

    def render(self) -> Text:
        return self.layout_of_board.draw(self._scene)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return self.layout_of_board.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.layout_of_board.height

    def on_click(self, event: events.Click) -> None:
        cell = self.layout_of_board.cell_at(event.x, event.y)
        if cell is not None:
            self.post_message(self.Clicked(cell))


class Help(ModalScreen[None]):
    """Explains the keys until any key is pressed."""

    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static(self._text, id="help")

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()
