"""003, Windows Forms, step 9: a random number generator in a loop, until it hits an empty cell."""

from .boards import Evaluation, check_question, equal_chances, free_cells


def consider(board: str, me: str) -> Evaluation:
    check_question(board, me)
    return equal_chances(free_cells(board))
