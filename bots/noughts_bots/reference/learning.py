"""Updates of a learner's table from the result of a game.

A rating has four digits. The first digit shows what is proven about a move: 2 for a win, 0 for a loss, 1 for nothing
yet. The other three digits are its average result per game in thousandths of a point; 500 before the first game.

**Proofs** go from the end of a game to its beginning. A move that completes a line is a proven win. A move that fills
the board proves nothing. The value of any other move is the opposite of the value of the best reply. An untried reply
proves nothing, so proofs are true against any opponent, and a forced loss is not repeated. This is the backup of
MCTS-Solver (Winands, Bjornsson and Saito, "Monte-Carlo Tree Search Solver", 2008), which is Q-learning with a learning
rate of 1, for two players who alternate (Watkins 1989, Littman 1994).

**Averages** are those of every-visit Monte Carlo control (Sutton and Barto, "Reinforcement Learning", 2nd edition,
chapter 5): each counted move gets the game's points. After 1,024 visits of a move, both visits and points are halved,
so that results from weaker play are forgotten in time.
"""

from collections.abc import Sequence

from noughts_bots.reference.table_file import Key, Row, TableFile, position_of

PROVEN = 1000
"""The unit of a rating's first digit."""
_UNPROVEN = 1
"""The first digit of a rating without a proof."""
_FIRST_AVERAGE = 500
_HIGHEST_AVERAGE = 999
UNTRIED = _UNPROVEN * PROVEN + _FIRST_AVERAGE
"""The rating of a move before its first game."""
_MOST_VISITS = 1 << 10
"""At this number of visits of a move, its visits and points are halved."""


def learn(table: TableFile, moves: Sequence[int], counted: range) -> list[Key]:
    """Correct a learner's table after a game that ended on the board.

    Args:
        moves: the moves of the whole game.
        counted: the plies, from 0, whose averages the game counts for. Proofs use all plies.

    Returns:
        The positions with changed rows, from the last to the first.
    """
    keys = _positions_of(moves)
    own, opponent = keys[-1]
    last_move_wins = table.variant.completes(own | 1 << moves[-1], moves[-1], opponent)
    # Half points of the side to move at each ply: what is proven about its move, and the result of the game.
    proven = 2 if last_move_wins else 1
    points = proven
    for ply in range(len(moves) - 1, -1, -1):
        row = row_of(table, keys[ply])
        cell = moves[ply]
        if ply in counted:
            _count(row, cell, points)
        row.ratings[cell] = proven * PROVEN + _average(row, cell)
        best_proven = max(row.ratings) // PROVEN
        # The previous move is the other side's, so its values are the opposite.
        proven = 2 - best_proven
        points = 2 - points
    if table.games is not None:
        table.games += 1
    return keys[::-1]


def _positions_of(moves: Sequence[int]) -> list[Key]:
    keys: list[Key] = []
    own = opponent = 0
    for cell in moves:
        keys.append((own, opponent))
        own, opponent = opponent, own | 1 << cell
    return keys


def row_of(table: TableFile, key: Key) -> Row:
    """Return the position's row. A new position gets a row with equal ratings."""
    row = table.rows.get(key)
    if row is None:
        free = position_of(table.variant, key).free
        cells = range(table.variant.cells)
        ratings = [UNTRIED if cell in free else 0 for cell in cells]
        row = table.rows[key] = Row(ratings, [0] * len(cells), [0] * len(cells))
    return row


def _count(row: Row, cell: int, points: int) -> None:
    row.visits[cell] += 1
    row.points[cell] += points
    if row.visits[cell] == _MOST_VISITS:
        row.visits[cell] //= 2
        row.points[cell] //= 2


def _average(row: Row, cell: int) -> int:
    """Return the average in thousandths of a point. It is at most 999, because 1,000 would change the first digit."""
    visits = row.visits[cell]
    # A half point is 500 thousandths.
    return min(row.points[cell] * 500 // visits, _HIGHEST_AVERAGE) if visits else _FIRST_AVERAGE
