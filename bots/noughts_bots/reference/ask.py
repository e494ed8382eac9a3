"""Single questions to a bot, for `noughts bot ask`."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.rules import Position, PositionError


@dataclass(frozen=True, slots=True)
class Answer:
    """A bot's move, with the candidates and scores that the bot reports."""

    move: int
    candidates: tuple[int, ...]
    scores: Mapping[int, float]
    """Scores of free cells from the mover's point of view: of all cells, of the move only, or of none."""


def document(position: Position, reply: Answer) -> dict[str, Any]:
    """Return the answer as a JSON document."""
    return {
        "position": str(position),
        "move": reply.move,
        "candidates": list(reply.candidates),
        "scores": {str(cell): score for cell, score in reply.scores.items()},
    }


def answer(bot: Bot, position: Position) -> Answer:
    """Return the bot's answer. If the bot does not report candidates, its move is the only candidate.

    The position need not be reachable by legal play.

    Raises:
        PositionError: no cell is free.
        VariantRefused: the bot does not play the variant.
    """
    if not position.free:
        raise PositionError(str(position), "a free cell to play; the board is full")
    move = bot.choose(position)
    if isinstance(move, Awaitable):
        move = asyncio.run(_result(move))
    cell, score = move[:2] if isinstance(move, Move) else (move, None)
    if isinstance(bot, CandidateBot):
        evaluation = bot.consider(position)
        return Answer(cell, evaluation.candidates, evaluation.scores)
    return Answer(cell, (cell,), {} if score is None or not isfinite(score) else {cell: score})


async def _result(move: Awaitable[int | Move]) -> int | Move:
    """Return the awaited move: `asyncio.run` takes only coroutines, not every awaitable."""
    return await move
