"""Errors with their statuses, and terminations, from the classes that name them."""

from __future__ import annotations

import inspect

from google.rpc.code_pb2 import Code

from noughts_referee.rules import Termination
from noughts_referee.rules.outcome import FAULTS, FORFEITS, ON_THE_BOARD
from noughts_server.core import errors
from noughts_server.core.errors import NoughtsError, OperatorError
from noughts_server.core.statuses import code_of
from tools.generated_pages.markdown import code, prose, table
from tools.generated_pages.protocol import comments_of_enum

KINDS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, NoughtsError) and value is not NoughtsError
]
"""All errors, in the order of their definitions."""


def of_calls(argument: str) -> str:
    """Return the errors that a caller over the network can get."""
    return table(("reason", "status", "meaning"), (_row(kind) for kind in KINDS if not _is_for_operators(kind)))


def of_operators(argument: str) -> str:
    """Return the errors with which a server ends, or does not start."""
    rows = ((code(kind.reason), prose(_first_paragraph(kind))) for kind in KINDS if _is_for_operators(kind))
    return table(("reason", "meaning"), rows)


def _is_for_operators(kind: type[NoughtsError]) -> bool:
    return issubclass(kind, OperatorError)


def _row(kind: type[NoughtsError]) -> tuple[str, str, str]:
    return code(kind.reason), code(Code.Name(code_of(kind))), prose(_first_paragraph(kind))


def _first_paragraph(kind: type) -> str:
    return inspect.getdoc(kind).partition("\n\n")[0]  # type: ignore[union-attr]  # each has one


def terminations(argument: str) -> str:
    """Return all ways in which a game can end."""
    comments = comments_of_enum("Termination")
    return table(
        ("termination", "in the protocol", "decided by", "meaning"),
        (
            (
                code(str(termination)),
                code(f"TERMINATION_{termination.name}"),
                _decided_by(termination),
                comments[f"TERMINATION_{termination.name}"],
            )
            for termination in Termination
        ),
    )


def _decided_by(termination: Termination) -> str:
    if termination in ON_THE_BOARD:
        return "the stones"
    if termination in FAULTS:
        return "a fault of the loser"
    if termination in FORFEITS:
        return "the loser"
    return "a failure of the server" if termination is Termination.VOID else "the organiser, or a rule"
