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
from noughts_server.play.drawing import Layout, Scene
from noughts_server.play.key_input import Typing

_KEYS = (
    ("arrows, Enter or Space", "move the cursor, play there; or click"),
    ("n, F2", "new game"),
    ("u, F3", "take back to your last turn"),
    ("h, F4", "hint: the cursor goes where a reference bot would play"),
    ("q, F10, Ctrl-C", "quit; on a server you resign"),
    ("Esc, Backspace", "clear the input, or delete a character"),
)


def help_text(variant: Variant) -> Text:
    """Return the help on the keys for a board of this variant."""
    text = Text("Keys\n\n", style="bold")
    for keys, words in _KEYS:
        text.append(f"{keys:<24}", style="bold").append(f"{words}\n", style="not bold")
    typing = Typing(variant).expected
    text.append(f"\nOr {typing}.", style="not bold")
    if variant.gravity:
        text.append(" The stone falls as far as it can.", style="not bold")
    text.append("\nA letter that names a column waits for its number; Enter makes it the command.", style="not bold")
    text.append("\n\n[ ] the cursor   ( ) the last move   * * the line that won", style="not bold")
    if variant.forbids is not None:
        text.append("   \N{MULTIPLICATION SIGN} forbidden to you", style="not bold")
    text.append("\n\nAny key goes back to the game.", style="not bold")
    return text


class Board(Widget):
    """The board: draws a scene and reports clicks on cells."""

    class Clicked(Message):
        def __init__(self, cell: int) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self, variant: Variant) -> None:
        super().__init__(id="board")
        self.layout_of_board = Layout(variant, (0, 0))
        self._scene = Scene({})

    def fit(self, variant: Variant, room: tuple[int, int]) -> None:
        """Show a board of this variant in the largest size that fits into these columns and lines."""
        self.layout_of_board = Layout(variant, room)
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
    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self._variant = variant

    def compose(self) -> ComposeResult:
        yield Static(help_text(self._variant), id="help")

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()
