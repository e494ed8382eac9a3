"""004: sums over fives, or over windows of k cells up to five. The article has no program, only its text.

Its computer plays the cross. An empty cell is 0, a nought 1 and a cross 6, so that the sum of five cells tells how
many of each there are. What it calls a window of two, three or four has no mark of the other side.
The board may have any size here; it is kept as rows of those numbers.
"""

from .boards import Evaluation, check_question, equal_chances

EMPTY, NOUGHT, CROSS = 0, 1, 6

# The article: our four above all, then the opponent's four, then our three. The figures and the rest are the bot's.
PRIORITY_BY_SUM = {
    4 * CROSS: 10**12,
    4 * NOUGHT: 10**10,
    3 * CROSS: 10**8,
    3 * NOUGHT: 10**6,
    2 * CROSS: 10**4,
    2 * NOUGHT: 10**2,
}

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def to_rows(board: str, me: str, columns: int) -> list[list[int]]:
    """The bot that is asked takes the part of the article's computer, the cross."""
    marks = [EMPTY if mark == "." else CROSS if mark == me else NOUGHT for mark in board]
    return [marks[start : start + columns] for start in range(0, len(marks), columns)]


def priorities(field: list[list[int]], k: int = 5) -> list[list[int]]:
    if k > 5:
        raise ValueError("a cross of 6 is too small to tell more than five noughts from a cross")
    rows, columns = len(field), len(field[0])
    priority = [[0] * columns for _ in range(rows)]
    # Every cell with some neighbour, also a diagonal one, starts from 1.
    for row in range(rows):
        for column in range(columns):
            for other_row in range(max(row - 1, 0), min(row + 2, rows)):
                for other_column in range(max(column - 1, 0), min(column + 2, columns)):
                    itself = (other_row, other_column) == (row, column)
                    if not itself and field[other_row][other_column] != EMPTY:
                        priority[row][column] = 1
    # Every five in turn, each one cell farther than the last; those of interest raise their empty cells.
    for down, right in DIRECTIONS:
        for row in range(rows):
            for column in range(columns):
                five = [(row + down * step, column + right * step) for step in range(k)]
                if not all(0 <= r < rows and 0 <= c < columns for r, c in five):
                    continue
                total = sum(field[r][c] for r, c in five)
                if total in PRIORITY_BY_SUM:
                    for r, c in five:
                        if field[r][c] == EMPTY:
                            priority[r][c] += PRIORITY_BY_SUM[total]
    return priority


def from_edge(place: int, size: int) -> int:
    """Return the number of cells between this row or column and the nearer edge."""
    return min(place, size - 1 - place)


def first_move(rows: int, columns: int) -> tuple[int, ...]:
    """Five cells or more from every edge; on a board too small for that, as far from it as can be."""
    rows_enough = min(5, max(from_edge(row, rows) for row in range(rows)))
    columns_enough = min(5, max(from_edge(column, columns) for column in range(columns)))
    return tuple(
        row * columns + column
        for row in range(rows)
        for column in range(columns)
        if from_edge(row, rows) >= rows_enough and from_edge(column, columns) >= columns_enough
    )


def consider(board: str, me: str, columns: int = 3, rows: int = 3, k: int = 3) -> Evaluation:
    check_question(board, me, columns, rows)
    field = to_rows(board, me, columns)
    priority = priorities(field, k)
    scores = {
        cell: priority[cell // columns][cell % columns]
        for cell in range(len(board))
        if field[cell // columns][cell % columns] == EMPTY
    }
    if set(board) == {"."}:
        return equal_chances(first_move(rows, columns), scores)
    highest = max(scores.values())
    return equal_chances(tuple(cell for cell in scores if scores[cell] == highest), scores)
