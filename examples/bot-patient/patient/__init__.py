"""A bot that other people install next to Noughts: `noughts match py:patient random`."""

from noughts_bots import Bot, Position


class Patient(Bot):
    """Blocks before it wins, and otherwise plays at random. It plays the first `plies` plies at random."""

    def __init__(self, plies: int = 0) -> None:
        self._plies = plies

    def choose(self, position: Position) -> int:
        """Return the first cell that would complete a line of the opponent, else of its own, else a random one."""
        variant = position.variant
        if position.ply >= self._plies:
            for stones in (position.opponent, position.own):
                for cell in position.free:
                    if variant.completes(stones | 1 << cell, cell):
                        return cell
        return position.rng().choice(position.free)
