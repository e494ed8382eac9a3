"""How a table learns from the result of a game.

A rating has four digits. The thousands say what is proven of a move: 2 a won game, 0 a lost one, 1 nothing so far. The
other three say what it brought on average, in thousandths of a point a game; 500 before it was ever counted.

**Proofs** go from the end of a game to its beginning. A move that completes a line is proven to win, one that fills the
board proves nothing; any other is worth the reverse of the best reply that the table knows. A reply never tried
proves nothing, so that what is proven stays true whoever plays: a move that lost once by force is not made again.
This is the backup of MCTS-Solver (Winands, Bjornsson and Saito, "Monte-Carlo Tree Search Solver", 2008), which is
Q-learning with a learning rate of 1, for two players who alternate (Watkins 1989, Littman 1994).

**Averages** are those of every-visit Monte Carlo control (Sutton and Barto, "Reinforcement Learning", 2nd edition,
chapter 5): each move that counts gets the game's points. Where a move has been counted 1,024 times, both visits and
points are halved: what was learnt while it played worse is forgotten in time.
"""

from collections.abc import Sequence

from noughts_bots.reference.table_file import Key, Row, TableFile
from noughts_referee.rules import Variant

PROVEN = 1000
"""What the first digit of a rating stands for."""
_UNKNOWN = 1
_HALF, _HIGHEST_AVERAGE = 500, 999
UNTRIED = _UNKNOWN * PROVEN + _HALF
"""The rating of every cell in the beginning."""
_MOST_VISITS = 1 << 10


def learn(table: TableFile, moves: Sequence[int], counted: range) -> list[Key]:
    """Corrects the table after a game that ended on the board.

    Args:
        moves: of the whole game.
        counted: the plies, from 0, whose averages the game counts for. Proofs are made of all.

    Returns:
        The positions whose rows have changed, from the last to the first.
    """
    keys = _positions_of(moves)
    own, opponent = keys[-1]
    # In half points, for the side that moved last.
    result = 2 if table.variant.completes(own | 1 << moves[-1], moves[-1], opponent) else 1
    worth, points = result, result
    for ply in range(len(moves) - 1, -1, -1):
        row, cell = row_of(table, keys[ply]), moves[ply]
        if ply in counted:
            _count(row, cell, points)
        row.ratings[cell] = worth * PROVEN + _average(row, cell)
        worth = 2 - max(row.ratings) // PROVEN
        points = 2 - points
    if table.games is not None:
        table.games += 1
    return keys[::-1]


def _positions_of(moves: Sequence[int]) -> list[Key]:
    """The positions in which the moves were made."""
    keys: list[Key] = []
    own = opponent = 0
    for cell in moves:
        keys.append((own, opponent))
        own, opponent = opponent, own | 1 << cell
    return keys


def row_of(table: TableFile, key: Key) -> Row:
    """The position's row; a position met for the first time gets one in which all cells rate alike."""
    row = table.rows.get(key)
    if row is None:
        row = table.rows[key] = _new_row(table.variant, key)
    return row


def _new_row(variant: Variant, key: Key) -> Row:
    own, opponent = key
    ratings = [0] * variant.cells
    for cell in variant.legal_cells(own, opponent, (own | opponent).bit_count() % 2):
        ratings[cell] = UNTRIED
    return Row(ratings, [0] * variant.cells, [0] * variant.cells)


def _count(row: Row, cell: int, points: int) -> None:
    row.visits[cell] += 1
    row.points[cell] += points
    if row.visits[cell] == _MOST_VISITS:
        row.visits[cell] //= 2
        row.points[cell] //= 2


def _average(row: Row, cell: int) -> int:
    """In thousandths of a point, at most 999: more would be taken for a proof."""
    visits = row.visits[cell]
    return min(row.points[cell] * 500 // visits, _HIGHEST_AVERAGE) if visits else _HALF
