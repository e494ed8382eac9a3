"""A program for `lines:` that takes the lowest free cell, and has a bad habit: `python liner.py HABIT GROUND`.

See habits.py for both arguments.
"""

import os
import sys

import habits  # type: ignore[import-not-found]  # it lies next to this program

HABIT, GROUND = sys.argv[1:]


def answer(moves: list[int]) -> str:
    cell = str(next(cell for cell in range(900) if cell not in moves))
    if len(moves) // 2 == 1:
        try:
            habits.misbehave(HABIT, GROUND)
        except habits.Allowed:
            return "resign that was allowed"
        wrong_answers = {"no answer": "my move is h8", "off the board": "1000000", "occupied": str(moves[0])}
        return wrong_answers.get(HABIT, cell)
    return cell


def main() -> None:
    habits.begin(HABIT)
    for line in iter(sys.stdin.readline, ""):
        moves = [int(word) for word in line.split()[2:]]
        habits.write(f"{answer(moves)}\n".encode())
        if HABIT == "leave after a move" and len(moves) // 2 == 1:
            os._exit(0)
    if HABIT == "ignores the end":
        habits.wait_for_ever()


if __name__ == "__main__":
    main()
