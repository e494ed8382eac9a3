"""The help that `?` shows."""

from rich.text import Text

from noughts_referee.rules import Variant
from noughts_server.play.key_input import Typing

_KEYS = (
    ("arrows, Enter or Space", "move the cursor, play there; or click"),
    ("n, F2", "new game"),
    ("u, F3", "take back to your last turn"),
    ("h, F4", "hint: the cursor goes where a reference bot would play"),
    ("q, F10, Ctrl-C", "quit; at a server you resign"),
    ("Esc, Backspace", "forget what is typed, or a character"),
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
