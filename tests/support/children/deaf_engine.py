"""A Gomocup engine that misreads lines for 2 ms after each move, as real engines do that leave their search.

    python deaf_engine.py HABIT...

It drops the first word of each line that arrives in this time, and answers ERROR with the rest. Habits change this:
`first`: only the first such line is misread. `slow`: the engine leaves its first search only when lines have arrived.
`busy=N`: no line is misread, but N times the engine answers a question with ERROR. `anyway`: no line is misread, and
ERROR comes before each move. It takes the lowest free cell.
"""

import os
import select
import sys
import time

HABITS = {word.partition("=")[0]: word.partition("=")[2] for word in sys.argv[1:]}
DEAF_SECONDS = 0.0 if {"busy", "anyway"} & HABITS.keys() else 0.002
BUSY = int(HABITS.get("busy", 0))


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


class Engine:
    def __init__(self) -> None:
        self.arrived = b""
        self.size = 0
        self.taken: set[int] = set()
        self.refusals = 0
        self.is_slow = "slow" in HABITS

    def read(self) -> None:
        if not (data := os.read(0, 1 << 16)):
            sys.exit(0)
        self.arrived += data

    def line(self) -> str:
        while b"\n" not in self.arrived:
            self.read()
        line, self.arrived = self.arrived.split(b"\n", 1)
        return line.decode().strip()

    def place(self, point: str) -> None:
        column, row = point.split(",")[:2]
        self.taken.add(int(row) * self.size + int(column))

    def move(self) -> None:
        if self.refusals < BUSY:
            self.refusals += 1
            say("ERROR busy")
            return
        self.refusals = 0
        cell = next(cell for cell in range(self.size**2) if cell not in self.taken)
        self.taken.add(cell)
        row, column = divmod(cell, self.size)
        if "anyway" in HABITS:
            say("ERROR not now")
            time.sleep(float(HABITS["anyway"] or 0))
        say(f"{column},{row}")
        self.leave()

    def leave(self) -> None:
        """Misread the lines that arrive while the engine leaves its search."""
        if self.is_slow:
            self.read()
            self.is_slow = False
        deadline = time.perf_counter() + DEAF_SECONDS
        while (seconds := deadline - time.perf_counter()) > 0:
            if not select.select([0], [], [], seconds)[0]:
                break
            self.read()
        complete_lines = self.arrived.count(b"\n")
        for _ in range(min(complete_lines, 1) if "first" in HABITS else complete_lines):
            say(f"ERROR Unknown command: {self.line().partition(' ')[2]}".rstrip())

    def obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "START" | "RESTART":
                self.size, self.taken, self.refusals = int(rest or self.size), set(), 0
                say("OK")
            case "ABOUT":
                say('name="deaf", version="1"')
            case "BEGIN":
                self.move()
            case "TURN":
                if not self.refusals:
                    self.place(rest)
                self.move()
            case "BOARD":
                self.taken = set()
                while (row := self.line()) != "DONE":
                    self.place(row)
                self.move()
            case "INFO":
                pass
            case "END":
                sys.exit(0)
            case _:
                say(f"ERROR Unknown command: {word}")


if __name__ == "__main__":
    engine = Engine()
    while True:
        engine.obey(engine.line())
