"""Asks a bot about single positions: what `noughts bot ask` prints."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from noughts_bots.bot import Bot, Move
from noughts_bots.reference.candidate_bot import CandidateBot, Considered
from noughts_referee.rules import Position, PositionError, Variant


@dataclass(frozen=True, slots=True)
class Answer:
    """A bot's answer to a position."""

    move: int
    """The cell it plays."""
    candidates: tuple[int, ...]
    """The cells it chose among."""
    scores: dict[int, int]
    """The free cells' scores from the mover's point of view; empty if the bot tells none."""


def ask(bot: Bot, variant: Variant, text: str, *, seed: int = 0) -> dict[str, Any]:
    """The bot's answer to the position written as `text`, ready to be printed as JSON.

    The position may be any, also one that legal play cannot reach; the side to move is the bot's own.

    Args:
        seed: the bot's chance.

    Returns:
        `{"position": canonical text, "move": cell, "candidates": [cells], "scores": {"cell": value}}`.

    Raises:
        PositionError: the text cannot be read, or no cell is free.
        VariantRefused: the bot does not play the variant.
    """
    position = Position.parse(variant, text, seed=seed)
    return document(position, answer(bot, position))


def document(position: Position, answered: Answer) -> dict[str, Any]:
    """The answer, ready to be printed as JSON."""
    return {
        "position": str(position),
        "move": answered.move,
        "candidates": list(answered.candidates),
        "scores": {str(cell): score for cell, score in answered.scores.items()},
    }


def answer(bot: Bot, position: Position) -> Answer:
    """The bot's answer; one that does not tell what it considers has its move as only candidate.

    Raises:
        PositionError: no cell is free.
        VariantRefused: the bot does not play the variant.
    """
    if not position.free:
        raise PositionError(str(position), "a free cell to play; the board is full")
    move = bot.choose(position)
    if isinstance(move, Awaitable):
        move = asyncio.run(_result(move))
    if isinstance(move, Move):
        move = move.cell
    considered = bot.consider(position) if isinstance(bot, CandidateBot) else Considered((move,))
    return Answer(move, considered.candidates, considered.scores)


async def _result(move: Awaitable[int | Move]) -> int | Move:
    return await move
