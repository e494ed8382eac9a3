"""003, the jQuery page: win, else block, else the lowest free cell.

The page first looks whether its human has won (`check_3_user`). That look is left out: a bot that is asked for a
move is in a game that is not over. On the page it would only stop the computer from answering.

The page's `check_2_user` guards two of its three questions with `exit_flag` but not the third, so after a win the
page can put a second mark into cell 1. By then the game is over, and the first mark is the move.
"""

from .boards import EMPTY, Evaluation, check_question, equal_chances, other

WIN_USER_ARRAY = ("123", "456", "789", "147", "258", "369", "159", "357")


def two_and_a_blank(text: dict[str, str], znak: str) -> str | None:
    """The cell that `check_2_comp` or `check_2_user` writes to, or None: both ask the same three questions."""
    for i in range(8):
        first = WIN_USER_ARRAY[i][0]
        second = WIN_USER_ARRAY[i][1]
        third = WIN_USER_ARRAY[i][2]
        if text[first] == znak and text[second] == znak and text[third] == "":
            return third
        if text[first] == znak and text[second] == "" and text[third] == znak:
            return second
        if text[first] == "" and text[second] == znak and text[third] == znak:
            return first
    return None


def opening() -> Evaluation:
    """`Math.round(Math.random() * (9 - 1) + 1)`, and the computer begins there if that is more than 3.

    Rounding gives the numbers 2 to 8 an interval of the length 1 each, 1 and 9 only half of that: in sixteenths
    1, 2, 2, 2, 2, 2, 2, 2, 1. Up to 3 the human begins, so a computer that begins does so on 4 to 9.
    """
    sixteenths = {1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 9: 1}
    rand_nums = [rand_num for rand_num in sixteenths if rand_num > 3]
    return Evaluation(
        tuple(rand_num - 1 for rand_num in rand_nums), tuple(sixteenths[rand_num] for rand_num in rand_nums), {}
    )


def consider(board: str, me: str) -> Evaluation:
    check_question(board, me)
    if board == EMPTY:
        return opening()
    text = {str(i): board[i - 1].replace(".", "") for i in range(1, 10)}
    znak_comp = me
    znak_user = other(me)
    cell = two_and_a_blank(text, znak_comp)
    if cell is None:
        cell = two_and_a_blank(text, znak_user)
    if cell is None:
        for i in range(1, 10):
            if text[str(i)] == "":
                cell = str(i)
                break
    assert cell is not None
    return equal_chances((int(cell) - 1,))
