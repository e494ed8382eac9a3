"""003, Windows Forms, step 9: a random number generator in a loop, until it hits an empty cell."""

from .boards import Evaluation, check_question, fair_lot, free_cells


def consider(board: str, me: str) -> Evaluation:
    check_question(board, me)
    return fair_lot(free_cells(board))
