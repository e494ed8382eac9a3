"""An engine that takes the lowest free cell and reports scores: `python reporting_engine.py SCORE...`, one a move.

The last score counts for all further moves; `-` stands for a move without one.
"""

import sys

SCORES = sys.argv[1:]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Engine:
    def __init__(self, size: int) -> None:
        self.free = [f"{column},{row}" for row in range(size) for column in range(size)]
        self.moves = 0

    def move(self) -> None:
        score = SCORES[min(self.moves, len(SCORES) - 1)]
        self.moves += 1
        if score != "-":
            say(f"MESSAGE depth {self.moves} ev {score} n 1K tm 5 pv {self.free[0]} {self.free[1]}")
        say(self.free.pop(0))


def main() -> None:
    engine = Engine(15)
    for line in iter(sys.stdin.readline, ""):
        word, _, rest = line.strip().partition(" ")
        match word:
            case "START":
                engine = Engine(int(rest))
                say("OK")
            case "TURN":
                engine.free.remove(rest)
                engine.move()
            case "BOARD":
                while (row := sys.stdin.readline().strip()) != "DONE":
                    point, _, owner = row.rpartition(",")
                    engine.free.remove(point)
                    engine.moves += owner == "1"
                engine.move()
            case "BEGIN":
                engine.move()
            case "ABOUT":
                say('name="reporting"')
            case "END":
                break


if __name__ == "__main__":
    main()
