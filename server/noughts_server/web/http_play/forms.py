"""Reads the bodies of requests to play over HTTP, whose fields `play_contract` lists."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from noughts_server.competition.seeks import Seek, SeekError, parse_seek
from noughts_server.web.documents import Document
from noughts_server.web.json_bodies import read_json, shown_json
from noughts_server.web.play_contract import MOVE, MOVES, NEW_SESSION, Field
from noughts_server.web.upstream import Failure

_MOST_BODY_BYTES = 256 << 10
_LONGEST_NAME_SHOWN = 60
"""Characters of an unknown name that an error shows."""

_SHOWN = 60
"""Characters of a wrong wish that an error shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A bot that opens a session."""

    bot: str
    version: str
    variants: tuple[str, ...]
    capacity: int
    accepts_challenges: bool
    seek: Seek | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMove:
    """An answer of a bot to a turn."""

    turn: int
    cell: int | None
    """None: the bot resigns."""
    reason: str = ""
    """Why it resigns."""
    score: float | None = None
    comment: str = ""
    depth: int = 0
    nodes: int = 0
    pv: tuple[int, ...] = ()

    def same_choice(self, other: "SentMove") -> bool:
        """Return whether both play the same cell, or both resign."""
        return self.cell == other.cell


async def read_new_session(request: Request) -> NewSession:
    """Return the session that the body asks for. Raises Failure."""
    values = _read(await _read_body(request), NEW_SESSION, "")
    return NewSession(
        bot=values["bot"],
        version=values["version"],
        variants=tuple(values["variants"]),
        capacity=values["capacity"],
        accepts_challenges=values["accepts_challenges"],
        seek=_seek(values["seek"]),
    )


def _seek(text: str) -> Seek | None:
    try:
        return parse_seek(text) if text else None
    except SeekError as error:
        expected = error.expected.replace("`", "")
        raise Failure(400, f"seek: got {error.got[:_SHOWN]!r}, expected {expected}", field="seek") from error


async def read_moves(request: Request) -> list[SentMove]:
    """Return the moves in the body. Raises Failure."""
    rows = _read(await _read_body(request), MOVES, "")["moves"]
    moves = [_move(row, f"moves[{index}].") for index, row in enumerate(rows)]
    turns = [move.turn for move in moves]
    if len(set(turns)) < len(turns):
        raise Failure(400, "moves: got two moves for one turn, expected one.", "Send one move for each turn.")
    return moves


def _move(row: Any, prefix: str) -> SentMove:
    values = _read(row, MOVE, prefix)
    if (values["move"] is None) == (values["resign"] is None):
        got = "nothing" if values["move"] is None else "a move and a resignation"
        raise Failure(400, f"{prefix}move: got {got}, expected a move, or resign", field=f"{prefix}move")
    return SentMove(
        turn=values["turn"],
        cell=values["move"],
        reason=values["resign"] or "",
        score=values["score"],
        comment=values["comment"] or "",
        depth=values["depth"] or 0,
        nodes=values["nodes"] or 0,
        pv=tuple(values["pv"] or ()),
    )


async def _read_body(request: Request) -> Any:
    return await read_json(
        request,
        most_bytes=_MOST_BODY_BYTES,
        hint='Send an object, for example {"bot": "mybot"}.',
        too_large_hint="Send fewer moves at once.",
    )


def _read(document: Any, fields: tuple[Field, ...], prefix: str) -> Mapping[str, Any]:
    """Return the values of an object by name. Raises Failure for an unknown, missing or wrong field."""
    if not isinstance(document, dict):
        subject = prefix.rstrip(".") or "body"
        raise Failure(400, f"{subject}: got {shown_json(document)}, expected an object")
    known = {field.name for field in fields}
    for name in document:
        if name not in known:
            shown = name if _is_text(name) else shown_json(name)  # an answer cannot contain lone surrogates
            raise Failure(400, f"{prefix}{shown[:_LONGEST_NAME_SHOWN]}: unknown", f"Known: {', '.join(sorted(known))}.")
    values: dict[str, Any] = {}
    for field in fields:
        value = document.get(field.name)
        if value is None and not field.required and field.name not in document:
            values[field.name] = field.default
        elif _fits(value, field.schema):
            values[field.name] = value
        else:
            got = shown_json(value) if field.name in document else "nothing"
            raise Failure(400, f"{prefix}{field.name}: got {got}, expected {field.expected}", field=prefix + field.name)
    return values


def _fits(value: Any, schema: Document) -> bool:
    """Return whether the value has the type and the limits of this schema. Objects are checked later."""
    kind = schema.get("type")
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return type(value) is int and bool(schema["minimum"] <= value <= schema["maximum"])
    if kind == "number":
        return type(value) in (int, float) and _is_finite(value)
    if kind == "string":
        if not isinstance(value, str) or len(value) > schema["maxLength"] or not _is_text(value):
            return False
        return bool(len(value) >= schema.get("minLength", 0))
    if kind == "array":
        if not isinstance(value, list) or len(value) > schema["maxItems"]:
            return False
        return all(_fits(item, schema["items"]) for item in value)
    return True


def _is_finite(number: int | float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _is_text(text: str) -> bool:
    """Return whether the text is without lone surrogates, which JSON can have and messages of the protocol cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
