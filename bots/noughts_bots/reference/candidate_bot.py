"""The common form of the reference bots: they evaluate a position, and choose one of the candidates at random."""

from dataclasses import dataclass, field

from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.rules import Position


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A bot's evaluation of a position."""

    candidates: tuple[int, ...]
    """The cells among which the move is chosen at random, ascending; one cell for a bot that takes the first best."""
    weights: tuple[int, ...] = ()
    """The weight of each candidate as an integer on any scale; empty for equal weights."""
    scores: dict[int, int] = field(default_factory=dict)
    """The score of each free cell for the side to move, on the scale of the bot's source; empty without scores."""


def best_of(scores: dict[int, int]) -> Evaluation:
    """Return the evaluation with the cells of the highest score as candidates."""
    highest = max(scores.values())
    return Evaluation(tuple(cell for cell, score in scores.items() if score == highest), scores=scores)


class CandidateBot(Bot):
    """A bot that chooses its move at random among its candidates.

    In games with a clock it also returns the move's score, if any. In the thousands of concurrent untimed games the
    scores would cost more than the moves.
    """

    def consider(self, position: Position) -> Evaluation:
        """Return the evaluation. It depends on the stones, the side to move and the clock, but not on randomness."""
        raise NotImplementedError

    def choose(self, position: Position) -> int | Move:
        evaluation = self.consider(position)
        candidates = evaluation.candidates
        if len(candidates) == 1:
            cell = candidates[0]
        elif evaluation.weights:
            cell = position.rng().weighted(candidates, evaluation.weights)
        else:
            cell = position.rng().choice(candidates)
        if position.own_clock_us and evaluation.scores:
            return Move(cell, evaluation.scores[cell])
        return cell
