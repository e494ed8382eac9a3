"""A Gomocup engine that takes the lowest free cell, and has a bad habit: `python engine.py HABIT GROUND`.

See habits.py for both arguments.
"""

import os
import sys

import habits  # type: ignore[import-not-found]  # it lies next to this program

HABIT, GROUND = sys.argv[1:]


def say(text: str) -> None:
    habits.write(f"{text}\n".encode())


class Board:
    def __init__(self, size: str) -> None:
        columns, _, rows = size.partition(",")
        self.free = [f"{column},{row}" for row in range(int(rows or columns)) for column in range(int(columns))]
        self.taken: list[str] = []
        self.moves = 0

    def place(self, point: str) -> None:
        self.free.remove(point)
        self.taken.append(point)

    def set_up(self) -> None:
        """Read the rows of BOARD up to DONE, and place their stones; those of owner 1 are the engine's."""
        while (row := sys.stdin.readline().strip()) != "DONE":
            point, _, owner = row.rpartition(",")
            self.place(point)
            self.moves += owner == "1"

    def move(self) -> None:
        self.moves += 1
        point = self.free[0]
        if self.moves == 2:
            try:
                habits.misbehave(HABIT, GROUND)
            except habits.Allowed:
                point = "ERROR that was allowed"
            wrong = {"no answer": "my move is h8", "off the board": "30,30", "occupied": self.taken[0]}
            point = wrong.get(HABIT, point)
        if point in self.free:
            self.place(point)
        say(point)
        if self.moves == 2 and HABIT == "leave after a move":
            os._exit(0)


def main() -> None:
    habits.begin(HABIT)
    size = "20"
    board = Board(size)
    for line in iter(sys.stdin.readline, ""):
        word, _, rest = line.strip().partition(" ")
        match word:
            case "START" | "RECTSTART" | "RESTART":
                size = rest or size
                board = Board(size)
                say("OK")
            case "TURN":
                board.place(rest)
                board.move()
            case "BOARD":
                board = Board(size)
                board.set_up()
                board.move()
            case "BEGIN":
                board.move()
            case "ABOUT":
                say('name="engine"')
            case "END":
                break
    if HABIT == "ignores the end":
        habits.wait_for_ever()


if __name__ == "__main__":
    main()
