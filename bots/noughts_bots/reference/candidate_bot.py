"""The common form of the reference bots: say what you consider, then draw lots."""

from dataclasses import dataclass, field

from noughts_bots.bot import Bot, Move
from noughts_referee.rules import Position


@dataclass(frozen=True, slots=True)
class Considered:
    """What a bot makes of a position."""

    candidates: tuple[int, ...]
    """The cells the move is drawn from, ascending; one cell for a bot that takes the first best."""
    weights: tuple[int, ...] = ()
    """Each candidate's chance, as integers of any scale; empty for equal chances."""
    scores: dict[int, int] = field(default_factory=dict)
    """Each free cell's score for the mover, on the scale of the bot's own source; empty if it has none."""


class CandidateBot(Bot):
    """A bot whose move is drawn from the candidates it considers.

    In games with a clock it gives the move's score along, if it has any: among the thousands of untimed games that are
    played at once the scores would cost more than the moves.
    """

    def consider(self, position: Position) -> Considered:
        """What the bot makes of the position: of stones and side to move, and of its clock; never of chance."""
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
