"""Two bots that play the same moves: one gets arrays, the other positions. Children load them as `py:FILE:NAME`."""

from collections.abc import Sequence
from typing import Any

from noughts_bots.sdk.arrays import ArrayBot, Batch
from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.rules import Choice, OpeningChoice, Position, Put, Take


def unusual_choice(opening: OpeningChoice) -> Choice:
    """A legal choice that differs from the default of `Bot.open`."""
    if opening.may_put:
        return Put(tuple(sorted(set(range(opening.variant.cells)) - set(opening.stones)))[10 : 10 + opening.may_put])
    return Take(opening.rng().below(2))


class Arrays(ArrayBot):
    def choose_arrays(self, batch: Batch) -> Any:
        scores = (batch.boards == 1).sum(axis=1) - (batch.last % 3)
        return batch.pick(batch.legal), scores

    def open(self, opening: OpeningChoice) -> Choice:
        return unusual_choice(opening)


class Positions(Bot):
    def choose_batch(self, positions: Sequence[Position]) -> list[Move]:
        return [
            Move(position.rng().choice(position.free), position.own.bit_count() - last_cell(position) % 3)
            for position in positions
        ]

    def open(self, opening: OpeningChoice) -> Choice:
        return unusual_choice(opening)


def last_cell(position: Position) -> int:
    return position.moves[-1] if position.moves else -1
