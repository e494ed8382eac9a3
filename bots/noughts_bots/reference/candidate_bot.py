"""The common form of the reference bots: return candidates, then choose one at random."""

from dataclasses import dataclass, field

from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.rules import Position


@dataclass(frozen=True, slots=True)
class Considered:
    """A bot's evaluation of a position."""

    candidates: tuple[int, ...]
    """The cells among which the move is chosen at random, ascending; one cell for a bot that takes the first best."""
    weights: tuple[int, ...] = ()
    """The weight of each candidate as integers on any scale; empty for equal weights."""
    scores: dict[int, int] = field(default_factory=dict)
    """Each free cell's score for the mover, on the scale of the bot's source; empty if it has none."""


def best_of(scores: dict[int, int]) -> Considered:
    """Return the cells with the highest score as the candidates."""
    highest = max(scores.values())
    return Considered(tuple(cell for cell, score in scores.items() if score == highest), scores=scores)


class CandidateBot(Bot):
    """A bot that chooses its move at random among its candidates.

    In games with a clock it also returns the move's score, if any. In the thousands of concurrent untimed games the
    scores would cost more than the moves.
    """

    def consider(self, position: Position) -> Considered:
        """Return the evaluation, which depends on stones, side to move and clock, but never on randomness."""
        raise NotImplementedError

    def choose(self, position: Position) -> int | Move:
        considered = self.consider(position)
        candidates = considered.candidates
        if len(candidates) == 1:
            cell = candidates[0]
        elif considered.weights:
            cell = position.rng().weighted(candidates, considered.weights)
        else:
            cell = position.rng().choice(candidates)
        if position.own_clock_us and considered.scores:
            return Move(cell, considered.scores[cell])
        return cell
