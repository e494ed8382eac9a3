"""000, last part: a table that translates `Kl` into `Ray`, and `SelectCell`, which draws the move from `Ray`.

The article does not define the form of the file. This module reads the form of docs/reference/tables.md, word by word.
It does not check the file for errors.
"""

from . import pascal
from .boards import Evaluation, check_question, free_cells, other

RayTable = dict[tuple[str, str], list[int]]


def read_file(text: str) -> tuple[RayTable, int]:
    """Return `Ray` (with cells counted from 1) by board and side to move, and the level."""
    table: RayTable = {}
    lvl = 1
    for line in text.split("\n")[1:]:
        words = line.split()
        if not words or words[0][0] == "#" or words[0] in ("variant", "games", "checksum"):
            continue
        if words[0] == "level":
            lvl = int(words[1])
            continue
        board = words[0].replace("/", "")
        table[board, words[1]] = [0] + [0 if word == "-" else int(word) for word in words[2:11]]
    return table, lvl


def swapped(board: str) -> str:
    return board.translate(str.maketrans("XO", "OX"))


def consider(board: str, me: str, table: RayTable, lvl: int) -> Evaluation:
    """Rate a position by the table.

    If the table lacks the position, or has only zeros for it, each free cell has the rating 1.
    """
    check_question(board, me)
    kl = [0] + [0 if mark == "." else 1 for mark in board]
    # The article's computer always plays O. If it plays X here, swap the marks.
    ray = table.get((board, me)) or table.get((swapped(board), other(me)))
    scores = {i - 1: ray[i] for i in range(1, 10) if kl[i] == 0} if ray else {}
    if not ray or not any(ray):
        ray = [0] + [1 - mark for mark in kl[1:]]
    candidates, weights = pascal.select_cell(ray, lvl)
    assert set(candidates) <= set(free_cells(board))
    return Evaluation(candidates, weights, scores)
