"""The grammar of SGF FF[4]: read and write collections of game trees, one at a time.

Source: the Smart Game Format's definition, FF[4], https://www.red-bean.com/sgf/sgf4.html. Of several variations, only
the first one (the main line) is read. This module exists because maintained readers of Go games reject oblong boards
(`SZ[20:15]`).
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noughts_server.core.plain_text import without_controls
from noughts_server.records.recorded_game import RecordError


class Node:
    """The properties of a node in their order, which matters because some programs write several moves in a node."""

    __slots__ = ("_first", "properties")

    def __init__(self) -> None:
        self.properties: list[tuple[str, list[str]]] = []
        """The name and the unescaped values of each property."""
        self._first: dict[str, list[str]] = {}

    def add(self, name: str) -> list[str]:
        """Add a property; return the list of its values, for the reader to fill."""
        values: list[str] = []
        self.properties.append((name, values))
        self._first.setdefault(name, values)
        return values

    def __contains__(self, name: str) -> bool:
        return name in self._first

    def text(self, name: str) -> str:
        """Return the values of the properties of this name as one text."""
        if name not in self._first:
            return ""
        if len(self._first) == len(self.properties):
            return "".join(self._first[name])
        return "".join("".join(values) for other_name, values in self.properties if other_name == name)


LONGEST_TREE = 4_000_000
"""Limit of the characters of a game."""
MOST_NODES = 50_000
"""Limit of the nodes of a game, because a node needs many times as much memory as its character."""

_BEGIN = re.compile(r"\((?=\s*(?:;|$))")
"""The possible beginning of a tree: a node must follow, on this line or on the next line that is not blank."""
_OUTSIDE = re.compile(r"[\[()]")
_INSIDE = re.compile(r"[\\\]]")
_TOKEN = re.compile(r"\s*(?:([();])|([A-Za-z0-9]+)|\[((?:[^\\\]]++|\\.)*+)\])", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:(\r\n|\n\r|\n|\r)|(.))", re.DOTALL)


class Tree(NamedTuple):
    """A game tree, or its error."""

    line: int
    """The line of the file on which it begins."""
    nodes: list[Node] | RecordError
    """The nodes of the main line, or the error."""


def read_trees(lines: Iterable[str]) -> Iterator[Tree]:
    """Yield the game trees of a collection, with one tree at a time in memory. Ignore text between trees."""
    text_of_tree: list[str] = []
    size = 0
    depth = 0
    first_line = 0
    is_inside_value = False
    has_text = False
    has_tree = False
    # Whether a `(` at the end of a line can begin a tree: the next line shows it.
    is_undecided = False
    for number, line in enumerate(lines, start=1):
        has_text = has_text or not line.isspace()
        start = at = 0
        if is_undecided and not line.isspace():
            is_undecided = False
            if not line.lstrip().startswith(";"):  # it was a `(` in the text between trees
                text_of_tree = []
                size = 0
                depth = 0
        while match := _next_mark(line, at, depth, is_inside_value):
            at = match.end()
            mark = match.group()
            if mark == "\\":
                at += 1  # the escaped character
            elif mark == "]":
                is_inside_value = False
            elif mark == "[":
                is_inside_value = True
            elif mark == "(":
                if not depth:
                    first_line = number
                    start = match.start()
                    is_undecided = not line[at:].strip()
                depth += 1
            elif depth:
                depth -= 1
                if not depth:
                    has_tree = True
                    yield Tree(first_line, _parse("".join([*text_of_tree, line[start:at]])))
                    text_of_tree = []
                    size = 0
                    start = at
        if depth:
            text_of_tree.append(line[start:])
            size += len(line) - start
            if size > LONGEST_TREE:
                yield Tree(first_line, RecordError(f"a tree of more than {LONGEST_TREE:,} characters", "a game"))
                return
    if depth:
        yield Tree(first_line, RecordError("a tree that does not end", "a `)` for each `(`, and a `]` for each `[`"))
    elif has_text and not has_tree:
        yield Tree(1, RecordError("no game tree", "one that begins with `(;`"))


def _next_mark(line: str, at: int, depth: int, is_inside_value: bool) -> "re.Match[str] | None":
    """Return the next mark that matters at this place of a line: in a value, in a tree, or between trees."""
    if is_inside_value:
        return _INSIDE.search(line, at)
    return (_OUTSIDE if depth else _BEGIN).search(line, at)


def _parse(text: str) -> list[Node] | RecordError:
    """Return the nodes of the main line of a tree, or an error."""
    nodes: list[Node] = []
    values: list[str] | None = None
    at = 0
    is_main_line_over = False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at:].isspace():
                break
            return RecordError(repr(text[at : at + 20].strip()), "a property as in `B[hh]`")
        at = match.end()
        mark, name, value = match.groups()
        if mark == ")":
            # Only other variations follow.
            is_main_line_over = True
        if is_main_line_over:
            continue
        if mark == ";":
            if len(nodes) == MOST_NODES:
                return RecordError(f"a tree of more than {MOST_NODES:,} nodes", "a game")
            nodes.append(Node())
            values = None
        elif name is not None:
            if not nodes:
                return RecordError(f"the property {name} before any node", "a `;` first")
            # FF[1] to FF[3] allowed lower-case letters, which had no meaning.
            if not name.isupper():
                name = "".join(letter for letter in name if not letter.islower()) or name.upper()
            values = nodes[-1].add(name)
        elif value is not None:
            if values is None:
                return RecordError(f"a value [{value[:20]}] without a property", "its name before it, as in `B[hh]`")
            values.append(_unescaped(value))
    return nodes or RecordError("a tree without nodes", "a `;` and properties")


def _unescaped(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda match: match.group(2) or "", value)


def property_text(name: str, *values: str) -> str:
    """Return the text of a property with these values."""
    return name + "".join(f"[{_escaped(without_controls(value))}]" for value in values)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
