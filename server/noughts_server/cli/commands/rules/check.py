"""The command `noughts rules check`."""

import json
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Annotated

from typer import Argument

from noughts_referee.rules import MovesError, VariantError, last_move, parse_variant
from noughts_server.cli.command import command
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.options.output import FormatOption
from noughts_server.cli.printing import Format
from noughts_server.core.text_files import TextLines, WrongBytes

_EXAMPLE = '{"variant": "renju", "moves": [112, 113]}'


_MOST_CHARACTERS = 80
_FIX = "Correct the line, or leave it out; the lines before it were judged."


@command(
    example="""
$ echo '{"variant":"renju", "moves":[112,113,98]}' | noughts rules check -
{"outcome":"open","kind":null,"ply":3}
"""
)
def check(
    file: Annotated[str, Argument(metavar="FILE", help="File of JSON lines; `-` is standard input")],
    format: FormatOption = Format.JSON,
) -> None:
    """Judge the last move on each line of a file: won, full, open, or illegal with the reason.

    A line holds JSON, {"variant", "moves"}, as written by -o; the command ignores other keys and empty lines. It
    places the moves before the last one without checking whether any of them won or was forbidden.
    """
    with _open_lines(file) as lines, problems_with(file, WrongBytes):
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            sys.stdout.write(_judgement(line, file, number, format))
            if file == "-":
                # A program that writes a line can wait for the answer.
                sys.stdout.flush()
    sys.stdout.flush()


def _open_lines(file: str) -> AbstractContextManager[Iterable[str]]:
    """Return a context with the file's lines. Raises UsageProblem."""
    if file == "-":
        return nullcontext(line.decode("utf-8", "replace") for line in sys.stdin.buffer)
    try:
        return TextLines(Path(file))
    except OSError as error:
        raise UsageProblem(
            f"{file}: {error.strerror}, expected a file of JSON lines", "Name one, or - for standard input."
        ) from None


def _judgement(line: str, file: str, number: int, output_format: Format) -> str:
    """Return the answer to one line. Raises UsageProblem with its number if it is not valid."""
    try:
        document = json.loads(line)
        name, moves = document["variant"], document["moves"]
        if type(moves) is not list or not set(map(type, moves)) <= {int}:
            raise TypeError
        termination, kind = last_move(_variant(name), moves)
    except VariantError as error:
        raise _unreadable(file, number, f"variant {error.got!r}", error.expected) from None
    except MovesError as error:
        raise _unreadable(file, number, error.got, error.expected) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        got = repr(line.rstrip("\r\n")[:_MOST_CHARACTERS])
        raise _unreadable(file, number, got, f"a variant and its moves, e.g. {_EXAMPLE}") from None
    return _answer(str(termination or "open"), kind, len(moves), output_format)


_variant = cache(parse_variant)


@cache
def _answer(outcome: str, kind: str | None, ply: int, output_format: Format) -> str:
    if output_format is Format.TEXT:
        return f"ply {ply}: {outcome}" + (f" ({kind})\n" if kind else "\n")
    return json.dumps({"outcome": outcome, "kind": kind, "ply": ply}, separators=(",", ":")) + "\n"


def _unreadable(file: str, number: int, got: str, expected: str) -> UsageProblem:
    place = "standard input" if file == "-" else file
    return UsageProblem(f"{place}, line {number}: got {got}, expected {expected}", _FIX)
