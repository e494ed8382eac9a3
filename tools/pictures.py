"""Draw the pictures of docs/how-to/playing.md: play in a real terminal and save its screen.

python -m tools.pictures
"""

import re
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.system.terminal import ENTER, Terminal, terminal

DOCS = Path(__file__).resolve().parents[1] / "docs" / "images"
_FONT = "ui-monospace, DejaVu Sans Mono, monospace"
# The colours of an ordinary dark terminal.
_THEME = TerminalTheme(
    background=(18, 18, 18),
    foreground=(224, 224, 224),
    normal=[
        (0, 0, 0),
        (205, 49, 49),
        (13, 188, 121),
        (229, 229, 16),
        (36, 114, 200),
        (188, 63, 188),
        (17, 168, 205),
        (229, 229, 229),
    ],
    bright=[
        (120, 120, 120),
        (241, 76, 76),
        (35, 209, 139),
        (245, 245, 67),
        (59, 142, 234),
        (214, 112, 214),
        (41, 184, 219),
        (255, 255, 255),
    ],
)


def save_picture(screen: Terminal, name: str, title: str) -> None:
    """Save the screen as docs/images/NAME.svg."""
    rows: list[Text] = []
    for _, in_row in groupby(screen.characters(), key=lambda placed: placed[0]):
        runs: list[tuple[Style, str]] = []
        for _, _, character in in_row:
            style = _style(character)
            # Neighbours of the same style are one element of the picture. Of a blank only the background counts.
            if runs and (style == runs[-1][0] or (character.data == " " and _ground(style) == _ground(runs[-1][0]))):
                style, before = runs.pop()
                runs.append((style, before + character.data))
            else:
                runs.append((style, character.data))
        rows.append(Text.assemble(*((text, style) for style, text in runs)))
    while rows and not rows[-1].plain.strip():
        rows.pop()
    console = Console(record=True, width=screen.size[0], file=StringIO(), force_terminal=True)
    for text in rows:
        console.print(text, no_wrap=True, overflow="crop")
    drawn = console.export_svg(title=title, theme=_THEME, unique_id=f"noughts-{name}")
    (DOCS / f"{name}.svg").write_text(without_remote_fonts(drawn))
    print(f"docs/images/{name}.svg")


def without_remote_fonts(svg: str) -> str:
    """Return the picture with fonts of the reader's machine: a page must fetch none from another host."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    # Blanks at the beginning of a text must stay.
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    return svg.replace("Fira Code, monospace", _FONT)


def _style(character: Any) -> Style:
    return Style(
        color=_colour(character.fg),
        bgcolor=_colour(character.bg),
        bold=character.bold,
        underline=character.underscore,
        reverse=character.reverse,
    )


def _ground(style: Style) -> tuple[Color | None, bool]:
    """Return the color of a blank in this style, and whether it is underlined."""
    return style.color if style.reverse else style.bgcolor, bool(style.underline)


def _colour(name: str) -> Color | None:
    """Return a colour of the emulator as a colour of rich."""
    if name == "default":
        return None
    if re.fullmatch("[0-9a-f]{6}", name):
        return Color.parse(f"#{name}")
    name = {"brown": "yellow", "brightbrown": "bright_yellow"}.get(name, name)
    return Color.parse(re.sub("^bright(?=[a-z])", "bright_", name))


def press_keys(screen: Terminal, keys: str, *replies: str) -> None:
    """Press these keys; before the next one, wait for the bot's reply on the board."""
    for key, reply in zip(keys, [*replies, ""], strict=False):
        screen.press(key)
        if reply:
            screen.until(f"last: {reply} (first-free)")


def main() -> None:
    """Play all games, and save the pictures."""
    with terminal("play first-free --first me --mark X") as screen:
        screen.until("Your turn")
        press_keys(screen, "5", "a3")
        screen.press("7")
        screen.until("a3 is taken")
        save_picture(screen, "play-refused", "noughts play first-free")
        press_keys(screen, "91", "b3")
        screen.until("You win")
        screen.until("n begins a new game.")
        save_picture(screen, "play-win", "noughts play first-free")
    with terminal("play first-free --first opponent --mark X") as screen:
        screen.until("last: a3 (first-free)")
        press_keys(screen, "32", "b3")
        screen.until("first-free wins")
        screen.until("n begins a new game.")
        save_picture(screen, "play-loss", "noughts play first-free")
    with terminal("play first-free --first me --mark O") as screen:
        screen.until("Your turn")
        press_keys(screen, "84513", "a3", "c3", "c2", "b1")
        screen.until("Nobody wins")
        screen.until("n begins a new game.")
        save_picture(screen, "play-draw", "noughts play first-free")
    with terminal("play fives --variant mnk:15,15,5 --first me --mark X --seed 4") as screen:
        screen.until("Your turn")
        for ply, cell in enumerate(("h8", "g9", "i9", "g7"), start=1):
            screen.press(cell + ENTER)
            screen.until(lambda shown, ply=ply: shown.count("O") >= ply and "Your turn" in shown)  # type: ignore[misc]
        save_picture(screen, "play-gomoku", "noughts play fives --variant mnk:15,15,5")


if __name__ == "__main__":
    main()
