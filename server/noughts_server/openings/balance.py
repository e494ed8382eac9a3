"""Decide by a quick search whether an opening is balanced.

The search is that of the reference bot `threats`: continuous fours, fours and threes, then all moves with increasing
depth. It visits a fixed number of positions and uses no clock, so the result is the same everywhere. Variants that it
does not play (those with gravity, and plugins) are only searched for forced wins.
"""

from functools import lru_cache

from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_referee.rules import Position, Variant, covers

WON = 900_000
"""On the scale of `threats`: a win is worth more than this, every other position less."""
NODES = 2_000
"""The number of positions to visit for an opening."""
MOST_LEAD = 30
"""On the scale of `threats`, where an open line that lacks two stones counts 60 for the side to move. If `threats`
plays itself, openings within this lead score evenly, and the side 60 to 100 ahead wins three of four games.
"""

_WON = 1
_OPEN = 0
_LOST = -1


def imbalance(variant: Variant, cells: tuple[int, ...], nodes: int = NODES) -> int:
    """Return the lead of either side after a legal opening, on the scale of `threats`; `WON` or more for a win."""
    position = Position.after(variant, cells)
    if not covers(ThreatsBot.variants, variant.name):
        return 0 if _forced(position, nodes) == _OPEN else WON
    return abs(lead(position, nodes))


def lead(position: Position, nodes: int = NODES) -> int:
    """Return the value of the position for the side to move on the scale of `threats`; `WON` or more for a win."""
    considered = _searcher(nodes).consider(position)
    return int(considered.scores.get(considered.candidates[0], 0))


@lru_cache(maxsize=2)
def _searcher(nodes: int) -> ThreatsBot:
    return ThreatsBot(nodes=nodes)


class _SpentError(Exception):
    """The limit of positions is reached."""


def _forced(position: Position, nodes: int) -> int:
    """Return the result that a search of `nodes` positions proves for the side to move; `_OPEN` without a proof."""
    variant = position.variant
    nodes_left = nodes

    def value(own: int, opponent: int, side: int, depth: int) -> int:
        nonlocal nodes_left
        nodes_left -= 1
        if nodes_left < 0:
            raise _SpentError
        cells = variant.legal_cells(own, opponent, side)
        best = _LOST
        for cell in cells:
            outcome = variant.outcome(own | 1 << cell, opponent, cell, side)
            if outcome is not None and outcome.winner == side:
                return _WON
            if outcome is not None:
                best = max(best, _OPEN)
        if depth <= 1:
            return _OPEN
        for cell in cells:
            if variant.outcome(own | 1 << cell, opponent, cell, side) is None:
                best = max(best, -value(opponent, own | 1 << cell, 1 - side, depth - 1))
                if best == _WON:
                    break
        return best

    verdict = _OPEN
    try:
        for depth in range(1, variant.cells - position.ply + 1):
            verdict = value(position.own, position.opponent, position.side, depth)
            if verdict != _OPEN:
                return verdict
    except _SpentError:
        pass
    return verdict
