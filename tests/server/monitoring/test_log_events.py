"""The names of log events are stable, and the operations page lists them all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.root import ROOT

LEVELS = ("debug", "info", "warning", "error", "exception")


def logged_events() -> Iterator[str]:
    """Yield the name in each call of a structlog logger in the server, and in each `logging_errors(logger, name)`."""
    for file in (ROOT / "server").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "structlog.get_logger" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and re.fullmatch(rf"logger\.({'|'.join(LEVELS)})", ast.unparse(node.func)):
                yield from names(node.args[0], text)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "logging_errors":
                yield from names(node.args[1], text)


def names(event: ast.expr, text: str) -> Iterator[str]:
    """Yield the literals of an argument: a string, or a name that is one of two strings."""
    if isinstance(event, ast.Name):
        (assigned,) = re.findall(rf"^ +{event.id} = (.+)$", text, re.MULTILINE)
        event = ast.parse(assigned, mode="eval").body
    if isinstance(event, ast.IfExp):
        yield from names(event.body, text)
        yield from names(event.orelse, text)
    else:
        literal = ast.literal_eval(event)
        assert isinstance(literal, str)
        yield literal


def test_operations_page_lists_exactly_the_events_of_the_code() -> None:
    page = (ROOT / "docs" / "how-to" / "operations.md").read_text(encoding="utf-8")
    table = page.partition("| event | fields | when |")[2].partition("\n\n")[0]
    listed = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(set(logged_events()))


def test_names_of_log_events_are_snake_case() -> None:
    assert [name for name in logged_events() if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name)] == []
