"""003, Windows Forms, step 6: a loop over all cells from the first on, left at the first empty one."""

from .boards import Evaluation, check_question, equal_chances


def consider(board: str, me: str) -> Evaluation:
    check_question(board, me)
    for cell in range(9):
        if board[cell] == ".":
            break
    return equal_chances((cell,))
