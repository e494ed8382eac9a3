"""000, first part: `Fin`, the first `Rayting`, and `SelectCell`.

Arrays start at 1 as in the article, so element 0 of a list is not used; the cells of the answer start at 0. Ray
holds integers of any size: the printed `byte` could not hold the article's own 1000000.
"""

from .boards import Evaluation, check_question

LIN = (
    (),
    (0, 1, 2, 3), (0, 4, 5, 6), (0, 7, 8, 9),
    (0, 1, 4, 7), (0, 2, 5, 8), (0, 3, 6, 9),
    (0, 1, 5, 9), (0, 3, 5, 7),
)  # fmt: skip

Kle = tuple[tuple[int, ...], ...]
KLE: Kle = (
    (),
    (0, 1, 4, 7, 0), (0, 1, 5, 0, 0), (0, 1, 6, 0, 8),
    (0, 2, 4, 0, 0), (0, 2, 5, 7, 8), (0, 2, 6, 0, 0),
    (0, 3, 4, 0, 8), (0, 3, 5, 0, 0), (0, 3, 6, 7, 0),
)  # fmt: skip


def to_position(board: str, me: str) -> list[int]:
    """0 for an empty cell, 1 for the human's cross, 4 for the computer's nought."""
    return [0] + [0 if mark == "." else 4 if mark == me else 1 for mark in board]


def fin(pos: list[int]) -> tuple[int, list[int]]:
    """The result (0 not over, 1 cross, 4 nought, 3 draw) and the sums of the lines, which the article keeps in li.

    With a line of either mark on the board the result is `1 or 4` = 5. A draw is called as soon as every line
    holds both marks, free cells or not.
    """
    li = [0] * 9
    ni = 5
    res = 0
    for i in range(1, 9):
        sa = 5
        so = 0
        li[i] = 0
        for j in range(1, 4):
            sj = pos[LIN[i][j]]
            sa = sa & sj
            so = so | sj
            li[i] = li[i] + sj
        res = res | sa
        ni = ni & so
    if ni == 5:
        res = 3
    return res, li


def rayting(kl: list[int], li: list[int], kle: Kle = KLE) -> list[int]:
    """The ratings. `for jj:=0 to s-1` is `range(s)`: no pass when s is 0."""
    s00 = [0] * 4
    s11 = [0] * 4
    s44 = [0] * 4
    ray = [0] * 10
    for ii in range(1, 10):
        if kl[ii] == 0:
            ray[ii] = ray[ii] + 1
            s0 = 0
            s1 = 0
            s4 = 0
            for j in range(1, 5):
                ssj = kle[ii][j]
                if ssj != 0:
                    if li[ssj] == 0:
                        s00[s0] = ssj
                        s0 += 1
                        for _ in range(s4):
                            for jjj in range(1, 4):
                                sj = LIN[ssj][jjj]
                                if sj != ii:
                                    ray[sj] = ray[sj] + 100
                        for jj in range(s1):
                            for jjj in range(1, 4):
                                sj = LIN[ssj][jjj]
                                ray[sj] = ray[sj] + 10
                            for jjj in range(1, 4):
                                sj = LIN[s11[jj]][jjj]
                                if sj != ii and kl[sj] == 0:
                                    ray[sj] = ray[sj] + 10
                    elif li[ssj] == 1:
                        s11[s1] = ssj
                        s1 += 1
                        if s1 > 1:
                            ray[ii] = ray[ii] + 1000
                            for jj in range(s1):
                                for jjj in range(1, 4):
                                    sj = LIN[s11[jj]][jjj]
                                    if sj != ii and kl[sj] == 0:
                                        ray[sj] = ray[sj] + 1000
                        for jj in range(s0):
                            for jjj in range(1, 4):
                                sj = LIN[ssj][jjj]
                                if kl[sj] == 0:
                                    ray[sj] = ray[sj] + 10
                            for jjj in range(1, 4):
                                sj = LIN[s00[jj]][jjj]
                                if sj != ii and kl[sj] == 0:
                                    ray[sj] = ray[sj] + 10
                    elif li[ssj] == 2:
                        ray[ii] = ray[ii] + 100000
                    elif li[ssj] == 4:
                        s44[s4] = ssj
                        s4 += 1
                        if s4 > 1:
                            ray[ii] = ray[ii] + 10000
                        for jj in range(s0):
                            for jjj in range(1, 4):
                                sj = LIN[s00[jj]][jjj]
                                if sj != ii:
                                    ray[sj] = ray[sj] + 100
                    elif li[ssj] == 5:
                        pass
                    elif li[ssj] == 8:
                        ray[ii] = ray[ii] + 1000000
    return ray


def select_cell(ray: list[int], lvl: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cells (from 0) that `SelectCell` can choose, and out of how many of its draws it chooses each.

    Level 0 draws mr from 1..r, r being the sum of all ratings, and subtracts rating after rating until nothing is
    left: cell i is chosen by Ray[i] of the r draws. A taken cell has the rating 0 and is never chosen.
    """
    if lvl == 0:
        cells = [i for i in range(1, 10) if ray[i] > 0]
        return tuple(i - 1 for i in cells), tuple(ray[i] for i in cells)
    r = 0
    for i in range(1, 10):
        if ray[i] > r:
            r = ray[i]
    cells = [i for i in range(1, 10) if ray[i] == r]
    return tuple(i - 1 for i in cells), (1,) * len(cells)


def consider(board: str, me: str, level: int = 1, kle: Kle = KLE) -> Evaluation:
    """`kle` is an argument for those tests only that ask what the order of its lines is good for."""
    check_question(board, me)
    if level not in (0, 1):
        raise ValueError(f"no such level: {level}")
    kl = to_position(board, me)
    _, li = fin(kl)
    ray = rayting(kl, li, kle)
    candidates, weights = select_cell(ray, level)
    return Evaluation(candidates, weights, {i - 1: ray[i] for i in range(1, 10) if kl[i] == 0})
