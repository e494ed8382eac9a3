"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import typer

from noughts_server.cli.app import application
from noughts_server.cli.command import hide_former_names
from noughts_server.cli.commands import GROUP
from noughts_server.cli.lazy_commands import FORMER_NAMES
from tools.generated_pages.markdown import code, fenced, prose, sentence, table

_HERE = "reference/commands"
_PAGE = re.compile(r"docs/((?:[\w-]+/)*[\w-]+)\.md")
_BOUNDS = re.compile(r"(?:(?P<least>[\d.]+)<=)?x(?:<=(?P<most>[\d.]+)|>=(?P<minimum>[\d.]+))?$")


class Command(NamedTuple):
    """A command that does something."""

    panel: str
    """The heading of the top-level help under which it, or its group, is listed."""
    itself: Any
    context: Any

    @property
    def line(self) -> str:
        """Return the command as the user types it, e.g. `noughts bot run`."""
        path: str = self.context.command_path
        return path


@cache
def all_commands() -> tuple[Command, ...]:
    """Return all commands, in the order of the help."""
    root: Any = typer.main.get_command(application())
    context = root.make_context("noughts", ["demo"], resilient_parsing=True)
    panels = {name: panel for panel, members in GROUP.panels.items() if panel != FORMER_NAMES for name in members}
    return tuple(
        Command(panel, *found) for name, panel in panels.items() for found in _below(root.commands[name], name, context)
    )


def _below(node: Any, name: str, parent: Any) -> Iterator[tuple[Any, Any]]:
    command = node.loaded if hasattr(node, "loaded") else node
    context = type(parent)(command, info_name=name, parent=parent)
    if hasattr(command, "commands"):
        for member, below in command.commands.items():
            yield from _below(below, member, context)
    else:
        yield command, context


def page_of(panel: str) -> str:
    """Return the name of a panel's page, e.g. `use-a-server`."""
    return panel.lower().replace(" ", "-")


def index(argument: str) -> str:
    """Return a table of all commands with links to their descriptions."""
    return "\n\n".join(
        f"## {panel}\n\n"
        + table(
            ("command", "purpose"),
            (
                (
                    f"[`{command.line}`](commands/{page_of(panel)}.md#{command.line.replace(' ', '-')})",
                    _summary(command),
                )
                for command in all_commands()
                if command.panel == panel
            ),
        )
        for panel in GROUP.panels
        if panel != FORMER_NAMES
    )


def of_panel(panel: str) -> str:
    """Return the description of each command under a heading of the top-level help."""
    commands = [command for command in all_commands() if command.panel == panel]
    if not commands:
        raise KeyError(panel)
    parts: list[str] = []
    groups: list[str] = []
    for command in commands:
        for context in reversed(list(_groups_of(command))):
            if (line := context.command_path) not in groups:
                groups.append(line)
                parts += [f"## {line}", _text(context.command.help), _example(context.command)]
        parts.append(_described(command))
    return "\n\n".join(parts)


def _groups_of(command: Command) -> Iterator[Any]:
    context = command.context.parent
    while context.parent is not None:
        yield context
        context = context.parent


def _described(command: Command) -> str:
    itself, context = command.itself, command.context
    usage = " ".join(itself.collect_usage_pieces(context))
    usage = usage.replace("[[", "[").replace("]]", "]").replace("...}...", "...").replace("{", "").replace("}", "")
    parameters = [
        parameter for parameter in itself.get_params(context) if not parameter.hidden and parameter.name != "help"
    ]
    panels: dict[str, list[Any]] = {}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            panels.setdefault(parameter.rich_help_panel or "Options", []).append(parameter)
    parts = [f"## {command.line}", _text(itself.help), fenced(f"{command.line} {usage}", "text")]
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    if arguments:
        parts.append(table(("argument", "meaning"), (described(argument, context)[:2] for argument in arguments)))
    for panel, options in sorted(panels.items(), key=lambda item: item[0] != "Options"):
        rows = (described(option, context) for option in options)
        parts.append(f"**{panel}**\n\n" + table(("option", "meaning", "default", "range"), rows))
    parts.append(_example(itself))
    return "\n\n".join(parts)


def _example(itself: Any) -> str:
    return "Example:\n\n" + fenced(itself.example, "text")


def described(parameter: Any, context: Any, folder: str = _HERE) -> tuple[str, str, str, str]:
    """Return how a parameter is written, its meaning, its default and its range; `folder` is that of the page."""
    hide_former_names(parameter)
    written, text = parameter.get_help_record(context)
    text, _, extra = _plain(text).removesuffix("]").partition("  [")
    default = bounds = ""
    if found := re.fullmatch(r"(.+)[.;] Default: (.+)", text):
        text, default = found[1], prose(found[2])
    for part in extra.split("; "):
        if part.startswith("default: "):
            default = code(part.removeprefix("default: "))
        elif found := _BOUNDS.search(part):
            bounds = _range(found["least"] or found["minimum"], found["most"])
    return (
        code(written.replace(" <str>", "").replace(" <list[str]>", "").strip()),
        sentence(_linked(prose(text), folder)),
        default,
        bounds,
    )


def _range(least: str | None, most: str | None) -> str:
    minimum, maximum = _with_commas(least), _with_commas(most)
    if minimum and maximum:
        return f"{minimum} to {maximum}"
    return f"at least {minimum}" if minimum else f"at most {maximum}"


def _with_commas(bound: str | None) -> str | None:
    return f"{int(bound):,}" if bound and bound.isdigit() else bound


def _summary(command: Command) -> str:
    return prose(_plain(command.itself.help).partition("\n\n")[0])


def _text(text: str) -> str:
    return _linked(prose(_plain(text)))


def _plain(text: str) -> str:
    """Return the text without the escapes of the help's renderer."""
    return text.replace("\\[", "[")


def _linked(text: str, folder: str = _HERE) -> str:
    """Return the text with links in the place of names of pages."""

    def link(found: re.Match[str]) -> str:
        return f"[{found[1].rpartition('/')[2]}]({os.path.relpath(found[1], folder)}.md)"

    return _PAGE.sub(link, text)
