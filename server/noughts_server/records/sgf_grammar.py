"""The grammar of SGF FF[4]: read and write collections of game trees, one at a time.

Source: the Smart Game Format's definition, FF[4], https://www.red-bean.com/sgf/sgf4.html. Only main lines are kept: the
first of several variations. Maintained readers of Go games reject oblong boards (`SZ[20:15]`), so this module exists.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noughts_server.core.plain_text import without_controls
from noughts_server.records.recorded_game import RecordError


class Node:
    """The properties of a node in their order: files of several programs have more than one move in a node."""

    __slots__ = ("_first", "properties")

    def __init__(self) -> None:
        self.properties: list[tuple[str, list[str]]] = []
        """The name and the unescaped values of each."""
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
        return "".join("".join(values) for each, values in self.properties if each == name)


LONGEST_TREE = 4_000_000
"""Limit of the characters of a game."""
MOST_NODES = 50_000
"""Limit of the nodes of a game; each takes many times its character in memory."""

_BEGIN = re.compile(r"\((?=\s*(?:;|$))")
"""The possible begin of a tree: a node must follow, on this line or on the next that is not blank."""
_OUTSIDE = re.compile(r"[\[()]")
_INSIDE = re.compile(r"[\\\]]")
_TOKEN = re.compile(r"\s*(?:([();])|([A-Za-z0-9]+)|\[((?:[^\\\]]++|\\.)*+)\])", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:(\r\n|\n\r|\n|\r)|(.))", re.DOTALL)


class Tree(NamedTuple):
    """A game tree, and where it begins."""

    line: int
    nodes: list[Node] | RecordError
    """Its main line, or its error."""


def read_trees(lines: Iterable[str]) -> Iterator[Tree]:
    """Yield the game trees of a collection, one at a time in memory; ignore text outside them and its brackets."""
    begun: list[str] = []
    size = depth = first = 0
    inside = anything = alone = any_tree = False
    for number, line in enumerate(lines, start=1):
        anything = anything or not line.isspace()
        start = at = 0
        if alone and not line.isspace():
            alone = False
            if not line.lstrip().startswith(";"):
                begun, size, depth = [], 0, 0  # It was a bracket of the text.
        while match := (_INSIDE if inside else _OUTSIDE if depth else _BEGIN).search(line, at):
            at = match.end()
            mark = match.group()
            if mark == "\\":
                at += 1  # the escaped character
            elif mark == "]":
                inside = False
            elif mark == "[":
                inside = depth > 0
            elif mark == "(":
                if not depth:
                    first = number
                    start = match.start()
                    alone = not line[at:].strip()
                depth += 1
            elif depth:
                depth -= 1
                if not depth:
                    any_tree = True
                    yield Tree(first, _parsed("".join([*begun, line[start:at]])))
                    begun = []
                    size = 0
                    start = at
        if depth:
            begun.append(line[start:])
            size += len(line) - start
            if size > LONGEST_TREE:
                yield Tree(first, RecordError(f"a tree of more than {LONGEST_TREE:,} characters", "a game"))
                return
    if depth:
        yield Tree(first, RecordError("a tree that does not end", "a `)` for each `(`, and a `]` for each `[`"))
    elif anything and not any_tree:
        yield Tree(1, RecordError("no game tree", "one that begins with `(;`"))


def _parsed(text: str) -> list[Node] | RecordError:
    nodes: list[Node] = []
    values: list[str] | None = None
    at = 0
    left = False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at:].isspace():
                break
            return RecordError(repr(text[at : at + 20].strip()), "a property as in `B[hh]`")
        at = match.end()
        mark, name, value = match.groups()
        if mark == ")":
            # The main line has ended: other variations follow.
            left = True
        if left:
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
                name = "".join(each for each in name if not each.islower()) or name.upper()
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
    """Return a property with these values."""
    return name + "".join(f"[{_escaped(without_controls(value))}]" for value in values)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
