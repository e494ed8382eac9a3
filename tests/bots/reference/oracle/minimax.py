"""The two minimax players: 002 and 003 (second page), which ignore speed, and 001, which counts the depth.

002 describes the root as a loop of its own: a cross into each empty cell in turn, the score of what follows, the
cross taken back, and the first cell that is better than all before. 003 does the same inside its function, after
a test whether its board is terminal already. On a board with a complete line that test would give a score and no
move; a bot has to move, so this module uses the loop of 002, and 003's tests begin with the first call
below it. On every board of a game that is not over, both are equal.
"""

from .boards import Evaluation, check_question, equal_chances, free_cells, has_line, other, put

# Both functions depend on their arguments alone (the boards they write to are put back as they were), so that a
# remembered value is the value. In 001 the depth is one of the arguments.
_SCORES_003: dict[tuple[str, str, str, int], int] = {}
_SCORES_001: dict[tuple[str, int, bool, str, int], int] = {}

# Neither article stops before the end of the game. A horizon is ours: so many moves are tried, the first one
# included, and a game that is not over after them counts like a draw. With nine nothing is cut off.
NO_HORIZON = 9


def minimax_003(new_board: str, player: str, ai_player: str, moves_left: int) -> int:
    key = (new_board, player, ai_player, moves_left)
    if key not in _SCORES_003:
        _SCORES_003[key] = _minimax_003(new_board, player, ai_player, moves_left)
    return _SCORES_003[key]


def _minimax_003(new_board: str, player: str, ai_player: str, moves_left: int) -> int:
    hu_player = other(ai_player)
    avail_spots = free_cells(new_board)
    # In this order: with lines of both marks on the board the human has won.
    if has_line(new_board, hu_player):
        return -10
    if has_line(new_board, ai_player):
        return 10
    if len(avail_spots) == 0:
        return 0
    if moves_left == 0:
        return 0
    moves = []
    for spot in avail_spots:
        if player == ai_player:
            moves.append(minimax_003(put(new_board, spot, player), hu_player, ai_player, moves_left - 1))
        else:
            moves.append(minimax_003(put(new_board, spot, player), ai_player, ai_player, moves_left - 1))
    if player == ai_player:
        best_score = -10000
        for score in moves:
            if score > best_score:
                best_score = score
    else:
        best_score = 10000
        for score in moves:
            if score < best_score:
                best_score = score
    return best_score


def board_evaluate(board: str, maximizer: str) -> int:
    """+10 or -10 for the first line that is found: rows, then columns, then the diagonals."""
    minimizer = other(maximizer)
    for row in range(3):
        if board[3 * row] == board[3 * row + 1] and board[3 * row + 1] == board[3 * row + 2]:
            if board[3 * row] == maximizer:
                return +10
            if board[3 * row] == minimizer:
                return -10
    for col in range(3):
        if board[col] == board[3 + col] and board[3 + col] == board[6 + col]:
            if board[col] == maximizer:
                return +10
            if board[col] == minimizer:
                return -10
    if board[0] == board[4] and board[4] == board[8]:
        if board[0] == maximizer:
            return +10
        if board[0] == minimizer:
            return -10
    if board[2] == board[4] and board[4] == board[6]:
        if board[2] == maximizer:
            return +10
        if board[2] == minimizer:
            return -10
    return 0


def minimax_001(board: str, depth: int, is_max: bool, maximizer: str, horizon: int) -> int:
    key = (board, depth, is_max, maximizer, horizon)
    if key not in _SCORES_001:
        _SCORES_001[key] = _minimax_001(board, depth, is_max, maximizer, horizon)
    return _SCORES_001[key]


def _minimax_001(board: str, depth: int, is_max: bool, maximizer: str, horizon: int) -> int:
    score = board_evaluate(board, maximizer)
    if score == 10:
        return score - depth
    if score == -10:
        return score + depth
    if "." not in board:
        return 0
    # The move of the root has the depth 0, too.
    if depth + 1 == horizon:
        return 0
    if is_max:
        best = -1000
        for cell in free_cells(board):
            value = minimax_001(put(board, cell, maximizer), depth + 1, not is_max, maximizer, horizon)
            best = max(best, value)
        return best
    best = 1000
    for cell in free_cells(board):
        value = minimax_001(put(board, cell, other(maximizer)), depth + 1, not is_max, maximizer, horizon)
        best = min(best, value)
    return best


def consider(board: str, me: str, faster: bool = False, depth: int = NO_HORIZON) -> Evaluation:
    check_question(board, me)
    best_val = -10000
    best_move = -1
    scores = {}
    for cell in free_cells(board):
        if faster:
            move_val = minimax_001(put(board, cell, me), 0, False, me, depth)
        else:
            move_val = minimax_003(put(board, cell, me), other(me), me, depth - 1)
        scores[cell] = move_val
        if move_val > best_val:
            best_move = cell
            best_val = move_val
    return equal_chances((best_move,), scores)
