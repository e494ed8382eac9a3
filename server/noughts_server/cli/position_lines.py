"""Positions that a user gives line by line: on standard input, and as JSON documents."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from noughts_server.cli.errors import UsageProblem


def stdin_lines(example: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of standard input that are not empty, with their numbers from 1.

    Raises UsageProblem with an example if there are none, unless a user types them on a terminal.
    """
    is_empty = True
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if text := line.decode("utf-8", "replace").strip():
            is_empty = False
            yield number, text
    if is_empty and not sys.stdin.isatty():
        raise UsageProblem("standard input: got no position, expected one per line", f"For example: {example}")


def read_object(line: str) -> dict[str, Any]:
    """Return the JSON object of a line. Raises ValueError with the reason."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise ValueError(f"got broken JSON ({error}), expected a JSON object") from None
    except RecursionError:
        raise ValueError("got too many nested lists or objects, expected a JSON object") from None
    if not isinstance(document, dict):
        raise ValueError("got no JSON object")
    return document
