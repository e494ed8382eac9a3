"""000, last part: a table that is corrected by the results of the games, as docs/reference/tables.md says how.

Written without the bot's arithmetic: boards are strings, what is known of a move is a pair of what is proven and the
list of the results that counted.
"""

from .boards import Evaluation, check_question, equal_chances, free_cells, has_line, other, put

WON, OPEN, LOST = "won", "open", "lost"


class Learner:
    """Learns from whole games of 3x3, given as moves."""

    def __init__(self) -> None:
        self.proven: dict[tuple[str, int], str] = {}
        self.results: dict[tuple[str, int], list[float]] = {}

    def learn(self, moves: list[int], counted: set[int]) -> None:
        """`counted` are the numbers of the moves, from 0, whose average the result counts for."""
        boards = ["." * 9]
        for number, cell in enumerate(moves):
            boards.append(put(boards[-1], cell, "XO"[number % 2]))
        winner = next((mark for mark in "XO" if has_line(boards[-1], mark)), None)
        for number in reversed(range(len(moves))):
            board, cell, me = boards[number], moves[number], "XO"[number % 2]
            if has_line(boards[number + 1], me):
                proof = WON
            elif number == len(moves) - 1:
                proof = OPEN
            else:
                replies = [
                    self.proven.get((boards[number + 1], reply), OPEN) for reply in free_cells(boards[number + 1])
                ]
                proof = LOST if WON in replies else WON if set(replies) == {LOST} else OPEN
            self.proven[board, cell] = proof
            if number in counted:
                points = 0.5 if winner is None else 1.0 if winner == me else 0.0
                self.results.setdefault((board, cell), []).append(points)

    def rating(self, board: str, cell: int) -> int:
        results = self.results.get((board, cell), [])
        assert len(results) < 1024, "forgetting is not modelled here"
        average = min(999, int(1000 * sum(results) / len(results) + 1e-9)) if results else 500
        return {LOST: 0, OPEN: 1000, WON: 2000}[self.proven.get((board, cell), OPEN)] + average

    def consider(self, board: str, me: str) -> Evaluation:
        check_question(board, me)
        assert board.count(me) - board.count(other(me)) == (-1 if me == "O" else 0), "not a position of a game"
        scores = {cell: self.rating(board, cell) for cell in free_cells(board)}
        best = max(scores.values())
        return equal_chances(tuple(cell for cell in scores if scores[cell] == best), scores)
