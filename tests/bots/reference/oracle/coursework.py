"""003, the C++ coursework: `low_level` (level 1), and `dif_level` with `check` (level 2).

The print has lost every index in square brackets and the word `if`. What is left of `check` is its eight groups
and the 24 values of k in their order. A group asks `if (x[a] == n)` once and inside it, line by line,
`if ((x[b] == n) && (x[c] == 0)) k = c`. Two cells of a line determine the third, and the 24 pairs of cells that
lie on a common line have to be used once each: the groups then ask the same questions in the same order however
they are given to cells (`test_oracle.py` goes through all ways), and with the cells 0 to 7 a and k give b.
"""

from .boards import LINES, Evaluation, check_question, equal_chances, free_cells

# The values of k as printed, group by group. Group a asks about x[a]; the last one starts from cell 7.
PRINTED_K = ((2, 1, 6, 3, 8, 4), (0, 7, 4), (4, 6, 8, 5), (0, 5, 4), (0, 3, 1, 2), (2,), (8, 7), (6,))


def third(a: int, c: int) -> int:
    """The b of the line through a and c."""
    for line in LINES:
        if a in line and c in line:
            return next(b for b in line if b not in (a, c))
    raise ValueError(f"no line through {a} and {c}")


def check(x: list[int], n: int) -> int:
    """k, or -1. There is no `else` and no `return` between the questions: the last match overwrites the others."""
    k = -1
    for a in range(8):
        if x[a] == n:
            for c in PRINTED_K[a]:
                if x[third(a, c)] == n and x[c] == 0:
                    k = c
    return k


def low_level(board: str) -> Evaluation:
    """`do { r = rand->Next(0,8); } while (x[r] != 0);`

    The upper bound of `Next` is exclusive, so cell 8 never comes up. With cell 8 alone left the loop would run
    for ever; a bot has to move, and takes it.
    """
    return equal_chances(tuple(r for r in free_cells(board) if r < 8) or (8,))


def dif_level(board: str, x: list[int]) -> Evaluation:
    if x[4] == 0:
        return equal_chances((4,))
    k = check(x, 2)
    if k != -1:
        return equal_chances((k,))
    k = check(x, 1)
    if k != -1:
        return equal_chances((k,))
    return low_level(board)


def consider(board: str, me: str, level: int = 1) -> Evaluation:
    check_question(board, me)
    # The computer's mark is 2 there, the human's 1.
    x = [0 if mark == "." else 2 if mark == me else 1 for mark in board]
    if level == 1:
        return low_level(board)
    if level == 2:
        return dif_level(board, x)
    raise ValueError(f"no such level: {level}")
