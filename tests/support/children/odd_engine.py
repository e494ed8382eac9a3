"""A Gomocup engine that takes the lowest free cell, and behaves as its arguments say: `python odd_engine.py HABIT...`.

Some habits have a value, as in `at=2` (misbehave only at the second move) and `log=FILE` (write all commands there).
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HABITS = {word.partition("=")[0]: word.partition("=")[2] for word in sys.argv[1:]}
SPELLINGS = {
    "signs": "+{},+{}",
    "blanks": "  {} ,\t{} ",
    "zeros": "0{},0{}",
    "score": "{},{} eval=3",
    "comma": "{},{},1",
    "nul": "{},{}\0",
    "nul-text": "{},{}\0left over",
    "nul-before": "\0{},{}",
}
ENDING = {"cr": "\r", "crlf": "\r\n"}.get(HABITS.get("ending", ""), "\n")


def say(text: str) -> None:
    sys.stdout.buffer.write((text + ENDING).encode())
    sys.stdout.buffer.flush()


def log(text: str) -> None:
    if "log" in HABITS:
        with Path(HABITS["log"]).open("a") as file:
            file.write(text + "\n")


class Engine:
    def __init__(self) -> None:
        self.columns = self.rows = 0
        self.taken: set[tuple[int, int]] = set()
        self.moves = 0
        self.starts = 0
        self.was_deaf = False

    def start(self, columns: int, rows: int) -> None:
        self.starts += 1
        if "one-start" in HABITS and self.starts == 2:
            sys.exit(5)
        self.columns, self.rows = columns, rows
        self.taken = set()
        say("OK - everything is good" if "wordy" in HABITS else "OK")

    def place(self, text: str) -> None:
        column, row = text.split(",")[:2]
        self.taken.add((int(column), int(row)))

    def move(self) -> None:
        self.moves += 1
        misbehaves_now = "at" not in HABITS or int(HABITS["at"]) == self.moves
        if misbehaves_now:
            self.misbehave()
        if "grumble" in HABITS:
            say("ERROR Unknown command: TIME_LEFT")
        if "raw" in HABITS:
            sys.stdout.buffer.write(b"MESSAGE depth \r eval 12 \r\n")
        if "scores" in HABITS:
            say(f"MESSAGE depth {self.moves} eval {'+M9' if self.moves % 2 else '-12'}")
            say("MESSAGE bestline h8 i9")
            say("MESSAGE 1234 nodes")
        if "chatter" in HABITS:
            sys.stdout.buffer.write(b"MESSAGE depth 9 | ev 34 | pv h8 i9 j10\n" * int(HABITS["chatter"]))
        if "asked" in HABITS:
            Path(HABITS["asked"]).touch()
        if "think" in HABITS:
            began = time.monotonic()
            time.sleep(float(HABITS["think"]))
            say(f"DEBUG {time.monotonic() - began}")
        # In the position of the test, (6,7) completes a row, which wins only if the rule of the variant is ignored.
        if "ignore-rule" in HABITS and (5, 7) in self.taken and (6, 7) not in self.taken:
            self.taken.add((6, 7))
            say("6,7")
            return
        for row in range(self.rows):
            for column in range(self.columns):
                if (column, row) not in self.taken:
                    self.taken.add((column, row))
                    if "suggest" in HABITS:
                        say(f"SUGGEST {column},{row}")
                        log(sys.stdin.buffer.readline().decode().strip())
                    say(SPELLINGS.get(HABITS.get("spells", ""), "{},{}").format(column, row))
                    if misbehaves_now and "leave" in HABITS:
                        sys.exit(0)
                    return

    def choose(self) -> None:
        """Answer SWAP2BOARD. With `wants-colours` or `wants-points`, the engine cannot read rows of the other form."""
        rows = list(iter(lambda: sys.stdin.buffer.readline().decode().strip(), "DONE"))
        commas = 2 if "wants-colours" in HABITS else 1
        habit = HABITS.get("wants-colours", HABITS.get("wants-points"))
        if habit is None:
            say(HABITS["swap2"].replace("_", " "))
            return
        misread = [row for row in rows if row.count(",") != commas]
        if misread and habit != "silent":
            say("ERROR Color is not a valid value" if habit == "colour" else "ERROR what is that")
        if misread and habit == "waits":
            return
        say("0,0 1,0 2,0" if misread or not rows else "SWAP")

    def misbehave(self) -> None:
        if "messages" in HABITS:
            for number in range(int(HABITS["messages"])):
                say(f"MESSAGE thought {number}" if number % 2 else f"DEBUG thought {number}")
        if "long" in HABITS:
            say("MESSAGE " + "x" * int(HABITS["long"]))
        if "stderr" in HABITS:
            sys.stderr.write("a warning of the engine's\n")
            sys.stderr.flush()
        if "instead" in HABITS:
            say(HABITS["instead"].replace("_", " "))
            signal.pause()
        if "silent" in HABITS:
            signal.pause()
        if "endless" in HABITS:
            while True:
                say("MESSAGE again " * 100)
        if "crash" in HABITS:
            os.abort()

    def obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word in ("START", "RECTSTART"):
            if f"refuse-{word.lower()}" in HABITS or (word == "START" and HABITS.get("refuse-size") == rest):
                say("ERROR message - unsupported size or other error")
                return
            if "start-once" in HABITS:
                if Path(HABITS["start-once"]).exists():
                    say("ERROR not now")
                    return
                Path(HABITS["start-once"]).touch()
            if HABITS.get("never") == rest:
                signal.pause()
            time.sleep(float(HABITS.get("slow-start", 0)))
            columns, _, rows = rest.partition(",")
            self.start(int(columns), int(rows or columns))
            if "loading" in HABITS:
                say("MESSAGE config name=default loading")
                time.sleep(float(HABITS["loading"]))
        elif word == "RESTART":
            if "no-restart" in HABITS:
                say("UNKNOWN command")
            elif "deaf-once" in HABITS and not self.was_deaf:
                self.was_deaf = True
                say("ERROR Unknown command: RESTART")
            elif "silent-restart" not in HABITS:
                time.sleep(float(HABITS.get("slow-restart", 0)))
                self.taken = set()
                say("OK")
        elif word == "BEGIN":
            self.move()
        elif word == "TURN":
            self.place(rest)
            self.move()
        elif word == "BOARD":
            self.taken = set()
            while (row := sys.stdin.buffer.readline().decode().strip()) != "DONE":
                log(row)
                self.place(row)
            log("DONE")
            self.move()
        elif word == "SWAP2BOARD":
            self.choose()
        elif word == "ABOUT":
            if "nameless" not in HABITS:
                say('name="odd", version="1"')
        elif word == "INFO":
            time.sleep(float(HABITS.get("slow-info", 0)))
            if rest.startswith("rule ") and rest != "rule 0" and "rule" in HABITS:
                say(HABITS["rule"].replace("_", " "))
            if HABITS.get("complain", "nothing") in rest:
                say("ERROR unsupported info" if "limit" in rest else "UNKNOWN info")
        elif word == "END":
            if "stay" in HABITS:
                while True:
                    signal.pause()
            sys.exit(0)


def main() -> None:
    if "pid" in HABITS:
        with Path(HABITS["pid"]).open("a") as file:
            file.write(f"{os.getpid()}\n")
    if "brood" in HABITS:
        brood = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        with Path(HABITS["pid"]).open("a") as file:
            file.write(f"{brood.pid}\n")
    engine = Engine()
    for line in (written.decode() for written in iter(sys.stdin.buffer.readline, b"")):
        if not line.strip():
            continue
        log(line.rstrip("\r\n"))
        if (HABITS.get("reads", "") == "lf" and "\r" in line) or (HABITS.get("reads") == "crlf" and "\r" not in line):
            say("UNKNOWN command")
        else:
            engine.obey(line.strip())


if __name__ == "__main__":
    main()
