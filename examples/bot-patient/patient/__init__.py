"""A bot that other people install beside Noughts: `noughts match py:patient random`."""

from noughts_bots import Bot, Position


class Patient(Bot):
    """Blocks before it wins, and draws lots otherwise. With `plies` it only draws lots until so many stones lie."""

    def __init__(self, plies: int = 0) -> None:
        self._plies = plies

    def choose(self, position: Position) -> int:
        """The first cell that would complete a line of the opponent's, else of its own, else any free one."""
        variant = position.variant
        if position.ply >= self._plies:
            for stones in (position.opponent, position.own):
                for cell in position.free:
                    if variant.completes(stones | 1 << cell, cell):
                        return cell
        return position.rng().choice(position.free)
