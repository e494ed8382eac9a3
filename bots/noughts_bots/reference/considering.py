"""The common form of the reference bots: say what you consider, then draw lots."""

from dataclasses import dataclass, field

from noughts_bots.bot import Bot
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


class ConsideringBot(Bot):
    """A bot whose move is drawn from the candidates it considers."""

    def consider(self, position: Position) -> Considered:
        """What the bot makes of the position; depends on stones and side to move alone, never on chance."""
        raise NotImplementedError

    def choose(self, position: Position) -> int:
        considered = self.consider(position)
        candidates = considered.candidates
        if len(candidates) == 1:
            return candidates[0]
        draws = position.draws()
        if considered.weights:
            return draws.weighted(candidates, considered.weights)
        return draws.choice(candidates)
