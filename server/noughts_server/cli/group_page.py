"""The help of `noughts` and of its groups: a list of commands, drawn without loading what reads options.

Where rich is installed it looks as typer draws the help of a command.
"""

import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from textwrap import fill
from typing import TYPE_CHECKING

from noughts_server.cli.commands import Group

if TYPE_CHECKING:
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table

_WIDTH = 100
_HELP = ("--help", "-h", "Show this message and exit.")
_VERSION = ("--version", "", "Show the version.")
_COMPLETION = (
    ("--install-completion", "", "Install completion for the current shell."),
    ("--show-completion", "", "Show completion for the current shell, to copy it or customize the installation."),
)


def print_page(program: str, path: Sequence[str], group: Group) -> None:
    """Prints the help of the group at this path."""
    usage = f"Usage: {' '.join([program, *path])} [OPTIONS] COMMAND [ARGS]..."
    completion = _COMPLETION if find_spec("typer") else ()
    options = [_HELP] if path else [_VERSION, *completion, _HELP]
    (_draw if find_spec("rich") else _write)(usage, group, options)


def _panels(group: Group) -> dict[str, list[tuple[str, str]]]:
    """Names and summaries by heading."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for child in group.children:
        # A group's summary is one paragraph.
        panels.setdefault(child.panel or "Commands", []).append((child.name, child.summary))
    return panels


def _write(usage: str, group: Group, options: Sequence[tuple[str, str, str]]) -> None:
    print(usage)
    for paragraph in group.summary.split("\n\n"):
        print(f"\n{fill(paragraph, _WIDTH)}")
    named = [(f"{name}, {short}" if short else name, summary) for name, short, summary in options]
    panels = {"Options": named, **_panels(group)}
    room = max(len(name) for rows in panels.values() for name, _ in rows) + 4
    for heading, rows in panels.items():
        print(f"\n{heading}:")
        for name, summary in rows:
            print(fill(f"  {name:{room - 2}}{summary}", _WIDTH, subsequent_indent=" " * room))
    if group.epilog:
        print(f"\n{group.epilog}")


def _draw(usage: str, group: Group, options: Sequence[tuple[str, str, str]]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = _console()
    console.print(Padding(console.highlighter(usage), 1), style="bold")
    first, _, rest = group.summary.partition("\n\n")
    console.print(Padding(console.highlighter(Text(first)), (0, 1, 0 if rest else 1, 1)))
    if rest:
        console.print(Padding(console.highlighter(Text(f"\n{rest}", style="dim")), (0, 1, 1, 1)))
    console.print(_options_panel(console, options))
    for panel in _command_panels(console, group):
        console.print(panel)
    if group.epilog:
        console.print(Padding(console.highlighter(Text(group.epilog)), 1))


def _console() -> "Console":
    from rich.console import Console
    from rich.highlighter import RegexHighlighter
    from rich.theme import Theme

    class Highlighter(RegexHighlighter):
        highlights = (
            r"(^|\W)(?P<switch>\-\w+)(?![a-zA-Z0-9])",
            r"(^|\W)(?P<option>\-\-[\w\-]+)(?![a-zA-Z0-9])",
            r"(?P<usage>Usage: )",
        )

    theme = Theme({"option": "bold cyan", "switch": "bold green", "usage": "yellow"})
    forced = any(map(os.environ.get, ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS")))
    return Console(theme=theme, highlighter=Highlighter(), force_terminal=forced or None)


def _options_panel(console: "Console", options: Sequence[tuple[str, str, str]]) -> "Panel":
    from rich.columns import Columns

    table = _table()
    for name, short, summary in options:
        # Three columns stay empty: names that switch off, and what is given with an option.
        row = (console.highlighter(name), console.highlighter(short), "", "", "")
        table.add_row(*row, Columns([console.highlighter(summary)]))
    return _panel(table, "Options")


def _command_panels(console: "Console", group: Group) -> "Iterator[Panel]":
    from rich.text import Text

    width = max(len(child.name) for child in group.children)
    for heading, rows in _panels(group).items():
        table = _table()
        table.add_column(style="bold cyan", no_wrap=True, width=width)
        table.add_column(ratio=10)
        for name, summary in rows:
            table.add_row(Text(name), console.highlighter(Text(summary)))
        yield _panel(table, heading)


def _table() -> "Table":
    from rich.table import Table

    return Table(show_header=False, expand=True, box=None, pad_edge=False, padding=(0, 1))


def _panel(table: "Table", heading: str) -> "Panel":
    from rich.panel import Panel

    return Panel(table, border_style="dim", title=heading, title_align="left")
