"""000, last part: a table that translates `Kl` into `Ray`, and `SelectCell`, which draws the move from `Ray`.

The article leaves open what the file looks like; here it is read as docs/reference/tables.md describes it, by words and
nothing else: what is wrong with a file is not this player's business.
"""

from . import pascal
from .boards import Evaluation, check_question, free_cells, other

RayTable = dict[tuple[str, str], list[int]]


def read_file(text: str) -> tuple[RayTable, int]:
    """Ray (from 1) by board and mover, and the level."""
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
    """A position that is not in the table has the rating 1 on each free cell; so has one that is 0 throughout."""
    check_question(board, me)
    kl = [0] + [0 if mark == "." else 1 for mark in board]
    # The article's computer always has the noughts: whose the marks are decides, not what they look like.
    ray = table.get((board, me)) or table.get((swapped(board), other(me)))
    scores = {i - 1: ray[i] for i in range(1, 10) if kl[i] == 0} if ray else {}
    if not ray or not any(ray):
        ray = [0] + [1 - mark for mark in kl[1:]]
    candidates, weights = pascal.select_cell(ray, lvl)
    assert set(candidates) <= set(free_cells(board))
    return Evaluation(candidates, weights, scores)
